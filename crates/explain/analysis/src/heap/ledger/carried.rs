//! Blocks that go from one file of a recording to the next one.

use super::Ledger;
use crate::heap::live::{Block, Tick, cut_size};
use crate::units::Bytes;
use heapwise_trace::event::BlockAddress;
use heapwise_trace::file::carried::CarriedBlock;
use heapwise_trace::file::records::ThreadIndex;

/// Ages are distinguished up to here: a [`Tick`] lasts for 19 hours, and the file has to fit into that, too.
const OLDEST_NS: u64 = 12 * 3_600_000_000_000;

/// What the file began with, as blocks that stand for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedSums {
    pub blocks: u64,
    pub bytes: Bytes,
}

/// What the file began with from one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CarriedOfSite {
    /// As those that are counted.
    pub(crate) bytes: u64,
    /// Blocks as they were recorded, whatever they stand for.
    pub(crate) recorded: u64,
}

impl Ledger {
    /// A block of a thread is live from an earlier file.
    pub(crate) fn carry(&mut self, thread: u32, carried: &CarriedBlock) {
        let process = self.threads[thread as usize].process;
        let site = self.site_of(process, carried.stack, carried.allocator);
        let slot = self.recent[thread as usize].slot();
        let born = Tick::at(self.now_ns).before(carried.age_ns.min(OLDEST_NS));
        let block = Block { size: carried.size, born, site, thread, reallocations: 0, slot };
        if !self.processes[process as usize].blocks.insert(carried.address.0, block) {
            return;
        }
        self.mark_touched(process, carried.allocator, carried.address.0, carried.size);
        let size = cut_size(carried.size);
        let weight = self.sampling.weight(size);
        let bytes = size.wrapping_mul(weight);
        self.carried.blocks += weight;
        self.carried.bytes += Bytes(bytes);
        let of_site = self.carried_by_site.entry(site).or_default();
        of_site.bytes = of_site.bytes.wrapping_add(bytes);
        of_site.recorded += 1;
        let stats = &mut self.sites[site as usize];
        stats.carry(bytes, weight, self.peaks);
        if self.sampling.is_on() {
            stats.sample.get_or_insert_default().carry(size, weight, self.peaks);
            self.sample.carry(size, weight, self.peaks);
        }
        self.rise(process, thread, bytes, weight);
    }

    /// Whether a live block is from an earlier file: it is older than this one.
    pub(super) fn is_carried(&self, block: &Block) -> bool {
        // Times are cut to ticks.
        const SLACK_NS: u64 = 1 << 15;
        self.carried.blocks > 0 && Tick::at(self.now_ns).since_ns(block.born) > self.now_ns + SLACK_NS
    }

    /// Takes out the blocks of a process that are live now, at a time. `index` says by which number the file knows a thread.
    pub(crate) fn take_live(
        &mut self,
        process: u32,
        now_ns: u64,
        index: impl Fn(u32) -> ThreadIndex,
    ) -> Vec<CarriedBlock> {
        let now = Tick::at(now_ns);
        let blocks = self.processes[process as usize].blocks.drain();
        let carried = blocks.map(|(address, block)| CarriedBlock {
            thread: index(block.thread),
            stack: self.site_stacks[block.site as usize].1,
            allocator: self.allocator_of(block.site),
            address: BlockAddress(address),
            size: block.size,
            age_ns: now.since_ns(block.born),
        });
        let mut carried: Vec<CarriedBlock> = carried.collect();
        carried.sort_unstable_by_key(|block| block.address.0);
        carried
    }
}
