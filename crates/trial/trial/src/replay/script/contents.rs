//! What a script consists of.

use super::overlap::Overlap;
use super::streams::{Position, stack_at};
use crate::replay::shared::Layout;
use heapwise_analysis::{Bytes, Nanos};
use heapwise_trace::event::StackId;
use std::fs::File;

/// Address space of a thread's stack, with what its allocator may keep for the thread.
const STACK_BYTES: u64 = 16 << 20;

/// What a script contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks that are allocated.
    pub allocations: u64,
    /// Blocks that are freed.
    pub deallocations: u64,
    /// Blocks that are resized.
    pub reallocations: u64,
    /// Threads that do something.
    pub threads: u64,
    /// Blocks that are live at the end.
    pub live_blocks: u64,
    /// Their requested bytes.
    pub live_bytes: Bytes,
    /// Most requested bytes of live blocks at a time.
    pub peak_live_bytes: Bytes,
    /// Large blocks of which it is not known what part was touched. They are touched as a whole, but never by more than the
    /// program had resident at most, and not at all if that is not known either.
    pub large_blocks_with_unknown_touch: u64,
    /// Large blocks of which it is known.
    pub large_blocks_with_known_touch: u64,
    /// Frees and reallocations of blocks that the recording does not know, such as those of a parent process. Left out.
    pub skipped: u64,
    /// Allocations that the recorded allocator refused. Left out.
    pub refused: u64,
    /// What may be live at a time in other runs, if that is much more.
    pub overlap: Option<Overlap>,
}

impl Counts {
    /// Calls of the allocator that a replay makes.
    pub fn calls(&self) -> u64 {
        self.allocations + self.deallocations + self.reallocations
    }
}

/// A thread of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadScript {
    /// Where its stream begins in the file of records.
    pub(crate) first: u64,
    /// The first record that it does after the peak, if it does any.
    pub(crate) stop: Option<Position>,
    /// Whether another thread starts it; the others begin with the process.
    pub(crate) is_spawned: bool,
    /// Whether another thread waits for its end.
    pub(crate) is_joined: bool,
}

/// What the threads of a process did with their heap.
#[derive(Debug)]
pub struct Script {
    pub(crate) records: File,
    pub(super) stacks: File,
    pub(crate) threads: Vec<ThreadScript>,
    /// The thread that each creation made, unless that never did anything.
    pub(crate) created: Vec<Option<u32>>,
    pub(crate) slots: u32,
    /// The number of the epoch after the one in which most was live, 0 if that was at the end. No thread enters it before all stand at the peak.
    pub(crate) peak: u32,
    /// From the first event to the end of the process.
    pub(crate) duration: Nanos,
    /// Bytes of its blocks that a replay touches at a time, estimated beforehand.
    pub(super) touched: u64,
    pub(super) counts: Counts,
}

impl Script {
    /// What it contains.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Memory that a replay needs: what it touches of its blocks, and what it keeps for itself.
    pub fn memory(&self) -> Bytes {
        let threads = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        let creations = u32::try_from(self.created.len()).unwrap_or(u32::MAX);
        let own = Layout::new(threads, creations, self.slots).pages as u64;
        Bytes(self.touched.saturating_add(own))
    }

    /// Address space that it allocates and does not touch: the rest of its blocks, and the stacks of its threads.
    pub(crate) fn untouched(&self) -> u64 {
        let stacks = self.threads.len() as u64 * STACK_BYTES;
        self.counts.peak_live_bytes.0.saturating_sub(self.touched).saturating_add(stacks)
    }

    /// From the first event to the end of the process.
    pub fn duration(&self) -> Nanos {
        self.duration
    }

    /// The recorded stack of the call at a place of the script.
    pub(crate) fn stack(&self, position: u64) -> Option<StackId> {
        stack_at(&self.stacks, Position(position)).ok().map(StackId)
    }
}
