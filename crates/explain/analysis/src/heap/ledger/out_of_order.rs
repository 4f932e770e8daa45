//! What is known only when the epoch is over, or too late: see [`crate::heap::reconcile`].

use super::{Ledger, Taken};
use crate::heap::live::Block;
use crate::heap::reconcile::Left;

impl Ledger {
    /// No more events of this epoch are expected: closes the open accounts.
    pub(crate) fn close_epoch(&mut self) {
        if !self.reconciler.open {
            self.reconciler.forget_log();
            return;
        }
        let Left { unknown, displaced } = self.reconciler.close(self.epoch);
        for advance in unknown {
            self.threads[advance.thread as usize].counts.unknown_frees += 1;
        }
        for ((process, _), block) in displaced {
            self.threads[block.thread as usize].counts.implicit_frees += 1;
            self.lose(process, &block);
        }
    }

    /// A late event takes a block that was given up when its address was handed out again.
    #[cold]
    pub(super) fn settle(&mut self, place: (u32, u64)) -> Option<Taken> {
        let block = self.reconciler.settle(place, self.epoch)?;
        let counts = &mut self.threads[block.thread as usize].counts;
        counts.implicit_frees = counts.implicit_frees.saturating_sub(1);
        self.sites[block.site as usize].deallocations += self.sampling.weight(block.size);
        Some(Taken::Gone(block))
    }

    /// Puts a block where there is one already.
    #[cold]
    pub(super) fn replace(&mut self, process: u32, address: u64, block: Block) {
        let blocks = &mut self.processes[process as usize].blocks;
        if let Some(displaced) = blocks.remove(address) {
            blocks.insert(address, block);
            if !self.reconciler.displace((process, address), displaced) {
                self.threads[displaced.thread as usize].counts.implicit_frees += 1;
                self.lose(process, &displaced);
            }
        }
    }

    /// Lets an allocation cancel against a free that was made in advance.
    #[cold]
    pub(super) fn cancel(&mut self, process: u32, address: u64, thread: u32) {
        if let Some(advance) = self.reconciler.cancel((process, address), thread)
            && let Some(block) = self.processes[process as usize].blocks.remove(address)
        {
            // The block that the allocation pushed aside, if any, is there again.
            if let Some(displaced) = self.reconciler.take_displaced((process, address)) {
                self.processes[process as usize].blocks.insert(address, displaced);
            }
            let in_transit = &mut self.threads[advance.thread as usize].in_transit;
            if let (true, Some((from, taken @ Taken::Unknown))) = (advance.resize, in_transit)
                && *from == address
            {
                // The resize is still going on: this is the block that it is moving.
                *taken = Taken::Live(block);
            } else if advance.resize {
                self.lose(process, &block);
            } else {
                self.end(process, &block, advance.thread, address);
            }
        }
    }
}
