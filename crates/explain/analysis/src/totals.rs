//! Sums over a thread, a process or the whole run.

use crate::units::Bytes;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Blocks that were handed out, by any function but a reallocation.
    pub allocations: u64,
    /// Reallocations of a block, in place or by moving it, growing or shrinking.
    pub reallocations: u64,
    /// Blocks that were freed, not counting those that a reallocation freed.
    pub deallocations: u64,
    /// Requested bytes of all allocations and reallocations.
    pub allocated_bytes: Bytes,
    /// The most requested bytes that were live at one moment; of a thread: of the blocks that it allocated.
    pub peak_live_bytes: Bytes,
    /// Blocks that were live at the moment of [`Totals::peak_live_bytes`] (not the most there ever were).
    pub peak_live_blocks: u64,
    /// Requested bytes that were not freed when the process ended, or the recording. Of several processes: the most of them that
    /// were there together, so never more than the peak.
    pub live_at_exit_bytes: Bytes,
    /// Blocks that were not freed then.
    pub live_at_exit_blocks: u64,
    /// Requested bytes of all blocks that were never freed. Of several processes: the sum, however far apart they ran.
    pub never_freed_bytes: Bytes,
    /// How many blocks these are.
    pub never_freed_blocks: u64,
    /// Blocks that their thread freed before it allocated again.
    pub temporary_allocations: u64,
    /// Requests that the allocator refused.
    pub failed_allocations: u64,
    /// Events that were dropped, hence missing in all other numbers.
    pub lost_events: u64,
    /// Blocks freed or resized whose allocation was not seen: made before recording began, inherited over a
    /// fork, or lost.
    pub unknown_frees: u64,
    /// Blocks whose end was not seen, only that their address was handed out again.
    pub implicit_frees: u64,
}

impl Totals {
    /// Allocator calls that were seen.
    pub fn calls(&self) -> u64 {
        self.allocations + self.reallocations + self.deallocations
    }

    /// Adds what can be added: all but the peak, and what was there together at an exit if `other` is another process's.
    pub(crate) fn add_counts(&mut self, other: &Totals) {
        self.allocations += other.allocations;
        self.reallocations += other.reallocations;
        self.deallocations += other.deallocations;
        self.allocated_bytes += other.allocated_bytes;
        self.live_at_exit_bytes += other.live_at_exit_bytes;
        self.live_at_exit_blocks += other.live_at_exit_blocks;
        self.never_freed_bytes += other.never_freed_bytes;
        self.never_freed_blocks += other.never_freed_blocks;
        self.temporary_allocations += other.temporary_allocations;
        self.failed_allocations += other.failed_allocations;
        self.unknown_frees += other.unknown_frees;
        self.implicit_frees += other.implicit_frees;
    }
}
