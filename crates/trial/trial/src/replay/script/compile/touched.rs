//! How much of each large block was touched.

use super::Compiler;
use crate::replay::script::block::Block;
use crate::replay::script::record::{Record, WHOLE, share};
use heapwise_trace::file::pages::Snapshot;

/// What the recorder counts in.
pub(super) const PAGE_BYTES: u64 = 4096;

impl Compiler {
    /// How much of a large block was resident when it was freed, or `None` if it is not known.
    pub(super) fn tell_touched(&mut self, block: &Block, resident_bytes: Option<u64>) {
        let Some(asked) = block.asked else { return };
        match resident_bytes {
            Some(_) => self.counts.large_blocks_with_known_touch += 1,
            None => self.counts.large_blocks_with_unknown_touch += 1,
        }
        // If a block is larger than the program ever was, most of it was never touched. Without a measurement it is unknown
        // whether any of it was, and a recording may claim any size.
        let resident = resident_bytes.unwrap_or(self.most_resident);
        let share = share(resident, block.size);
        if share < WHOLE {
            let second = Record::touching(block.size, share);
            let stream = &mut self.stream[block.thread as usize];
            if let Err(error) = self.streams.set_second(stream, asked, second) {
                self.error.get_or_insert(error);
            }
        }
    }

    /// Blocks that were never freed: what the last snapshot of the pages has of them.
    pub(super) fn tell_touched_at_the_end(&mut self) {
        let pages = self.last_snapshot.take().map(|snapshot| ResidentPages::new(&snapshot));
        let large: Vec<(u64, Block)> =
            self.live.iter().filter(|(_, b)| b.asked.is_some()).map(|(&a, &b)| (a, b)).collect();
        for (address, block) in large {
            let resident = pages.as_ref().map(|pages| pages.within(address, block.size));
            self.tell_touched(&block, resident);
        }
    }
}

/// The resident pages of a snapshot, so that many blocks can be looked up among many pages.
#[derive(Debug, Default)]
struct ResidentPages {
    /// Start, end, and resident bytes before the start; ascending.
    runs: Vec<(u64, u64, u64)>,
}

impl ResidentPages {
    fn new(snapshot: &Snapshot) -> Self {
        let runs = snapshot.mappings.iter().flat_map(|m| &m.runs);
        let mut before = 0u64;
        let runs = runs.map(|run| {
            let bytes = run.pages.saturating_mul(snapshot.page_bytes);
            let entry = (run.start, run.start.saturating_add(bytes), before);
            before = before.saturating_add(bytes);
            entry
        });
        Self { runs: runs.collect() }
    }

    /// Resident bytes below an address.
    fn below(&self, address: u64) -> u64 {
        let at = self.runs.partition_point(|run| run.0 < address);
        let Some(&(start, end, before)) = at.checked_sub(1).and_then(|at| self.runs.get(at)) else {
            return 0;
        };
        before.saturating_add(end.min(address).saturating_sub(start))
    }

    /// Resident bytes in the range of a block.
    fn within(&self, address: u64, size: u64) -> u64 {
        self.below(address.saturating_add(size)).saturating_sub(self.below(address))
    }
}
