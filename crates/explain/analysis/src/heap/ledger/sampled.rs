//! Blocks of a sample: each stands for as many as its size says.

use super::Ledger;
use crate::heap::live::{Block, Tick};

impl Ledger {
    /// A block of a sample is handed out.
    #[inline(never)]
    pub(super) fn gain_sampled(&mut self, process: u32, site: u32, thread: u32, size: u64, weight: u64) {
        let bytes = size.wrapping_mul(weight);
        let stats = &mut self.sites[site as usize];
        stats.allocated_bytes = stats.allocated_bytes.wrapping_add(bytes);
        stats.gain_many(size, weight, self.peaks);
        stats.sample.get_or_insert_default().request(size, weight, self.peaks);
        self.sample.request(size, weight, self.peaks);
        self.sizes.add_many(size, weight);
        self.rise(process, thread, bytes, weight);
    }

    /// A block of a sample is live no more.
    #[inline(never)]
    pub(super) fn lose_sampled(&mut self, process: u32, block: &Block) {
        let weight = self.sampling.weight(block.size);
        let bytes = block.size.wrapping_mul(weight);
        let stats = &mut self.sites[block.site as usize];
        stats.lose_many(bytes, weight, self.peaks);
        if let Some(sample) = &mut stats.sample {
            sample.lose(block.size, weight, self.peaks);
        }
        self.sample.lose(block.size, weight, self.peaks);
        self.fall(process, block.thread, bytes, weight);
    }

    /// A block of a sample is freed.
    #[inline(never)]
    pub(super) fn end_sampled(&mut self, process: u32, block: &Block, thread: u32) {
        let weight = self.sampling.weight(block.size);
        let stats = &mut self.sites[block.site as usize];
        stats.deallocations += weight;
        stats.lifetimes.add_many(Tick::at(self.now_ns).since_ns(block.born), weight);
        if block.thread != thread {
            let pair = (block.thread, thread);
            stats.hand_over(pair, weight);
            self.handovers.add(pair, weight, block.size.wrapping_mul(weight));
            self.threads[block.thread as usize].freed_elsewhere += weight;
        }
        self.lose(process, block);
    }
}
