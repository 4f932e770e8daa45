//! Which allocator has what.

use super::{Ledger, ProcessLedger};
use crate::budget::Budget;
use crate::heap::touched_pages::TouchedHeap;
use heapwise_trace::event::AllocatorNumber;

impl Ledger {
    /// Which allocator the blocks of a site are from.
    pub(super) fn allocator_of(&self, site: u32) -> AllocatorNumber {
        self.site_allocators.get(site as usize).copied().unwrap_or_default()
    }

    /// Notes where a block lies.
    #[inline(always)]
    pub(super) fn mark_touched(&mut self, process: u32, allocator: AllocatorNumber, address: u64, size: u64) {
        let process = &mut self.processes[process as usize];
        process.touched_pages.mark(address, size);
        if allocator != AllocatorNumber::BY_NAME {
            process.touched_by(allocator, &self.budget).mark(address, size);
        }
    }
}

impl ProcessLedger {
    /// The pages of one allocator.
    fn touched_by(&mut self, allocator: AllocatorNumber, budget: &Budget) -> &mut TouchedHeap {
        let known = self.touched_by.iter().position(|(number, _)| *number == allocator);
        let place = known.unwrap_or_else(|| {
            self.touched_by.push((allocator, TouchedHeap::new(budget.clone())));
            self.touched_by.len() - 1
        });
        &mut self.touched_by[place].1
    }
}
