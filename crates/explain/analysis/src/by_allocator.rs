//! The accounts of each allocator, where blocks of several were recorded.
//!
//! Which allocator a block is from says its event, and with it the block's raw site: those of one stack that come from several allocators
//! are several. So nothing is kept for each block.

use crate::accounting::Breakdown;
use crate::units::Bytes;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::records::AllocatorInside;
use std::collections::BTreeMap;

/// What one allocator has of the totals, and of resident memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfAllocator {
    pub number: AllocatorNumber,
    /// What it is and where; `None` for the one that is found by name, for those that have no number of their own, and where a recording is
    /// cut off before it says so.
    pub inside: Option<AllocatorInside>,
    pub allocations: u64,
    pub allocated_bytes: Bytes,
    /// Live bytes at the moment when all allocators together had most.
    pub peak_live_bytes: Bytes,
    pub peak_live_blocks: u64,
    pub live_at_exit_bytes: Bytes,
    pub live_at_exit_blocks: u64,
    /// What it has of the breakdown at the peak of the resident set.
    pub at_peak: Parts,
    /// The same for the last breakdown of that process.
    pub at_end: Parts,
    /// Of what the sizes of blocks were measured: the library, or another build of an allocator that is inside of the program. `None` if
    /// they are not known, and internal fragmentation counts as external.
    pub block_sizes_of: Option<String>,
    /// The build that was measured, where the program's blocks contradict its sizes.
    pub contradicted: Option<String>,
}

/// One allocator's parts of a [`Breakdown`], which has the sums over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub live: Bytes,
    pub internal_fragmentation: Bytes,
    pub external_fragmentation: Bytes,
    pub free_pages: Bytes,
    pub metadata: Bytes,
}

impl Parts {
    /// All of them.
    pub fn sum(&self) -> Bytes {
        let parts = [
            self.live,
            self.internal_fragmentation,
            self.external_fragmentation,
            self.free_pages,
            self.metadata,
        ];
        parts.into_iter().fold(Bytes(0), |sum, part| Bytes(sum.0.saturating_add(part.0)))
    }
}

/// The parts of all allocators.
pub(crate) type PartsByNumber = BTreeMap<AllocatorNumber, Parts>;

/// A breakdown with each allocator's parts of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Divided {
    pub(crate) breakdown: Breakdown,
    pub(crate) parts: PartsByNumber,
}
