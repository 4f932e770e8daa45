//! How much memory a recording may take while it is analysed.
//!
//! What a file unpacks to is limited where it is read ([`heapwise_trace::file::limits`]), and costs time only. This is about
//! what stays: stacks, call sites, names, processes and threads until the end, live blocks as long as they live. Both grow with
//! the file, but not alike. A call site costs some bytes in the file at least, because it comes with its stack and an event. Of
//! live blocks a loop makes hundreds with each byte. So there are two allowances, each in proportion to the file, and what the
//! machine has to spare bounds their sum.

use heapwise_trace::file::Claim;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that any recording may take for each of the two.
const FREE_BYTES: u64 = 256 << 20;
/// Memory that stays, for each byte of the file. A program that builds trees by recursion, where every node of the tree is a
/// separate stack, takes 1,900 by the prices below; 2,000 processes take 10, an interpreter 40.
const KEPT_PER_BYTE: u64 = 8 << 10;
/// Memory of live blocks, for each byte of the file. 30 million blocks of one size, none of which is freed, take 9,400 while the
/// table grows; at that, most of the file is readings of the clock, of which a faster machine has fewer.
const HELD_PER_BYTE: u64 = 48 << 10;

/// Live blocks and pages that are gone through to explain resident memory: as many for any recording, and for each byte of the
/// file. At each snapshot all live blocks are copied, which are 1,000 for each byte in that last example.
const FREE_WORK: u64 = 1 << 26;
const WORK_PER_BYTE: u64 = 4 << 10;

/// Frames of the stacks of all call sites together, of stacks that are deep: as many for any recording, and for each byte of the
/// file. A recursion that allocates at each of 16,000 depths has 1,100.
const FREE_FRAMES: u64 = 1 << 28;
const FRAMES_PER_BYTE: u64 = 4 << 10;
/// Stacks up to this depth are in any case no deeper than those of other programs.
const DEEP: u32 = 1 << 10;

/// Prices of what is no plain table: about what each takes at most, here and in the tables that are made at the end.
pub(crate) mod price {
    /// A process, with its empty table of blocks.
    pub(crate) const PROCESS: u64 = 8 << 10;
    pub(crate) const THREAD: u64 = 1 << 10;
    /// A call site, with its histograms and its line in the report.
    pub(crate) const SITE: u64 = 3 << 10;
    /// A node of a trie of stacks, in the stack_table of all stacks.
    pub(crate) const NODE: u64 = 128;
    /// A piece of the pages that ever held blocks.
    pub(crate) const PIECE: u64 = 128;
    /// Spans of one name.
    pub(crate) const SPANS: u64 = 512;
    /// An object file of a process.
    pub(crate) const MODULE: u64 = 400;
    /// A live block that is kept aside, while its table grows: 40 bytes and one, in a table that is 7/16 full and half of another one.
    pub(crate) const ASIDE: u64 = 144;
    /// An element of something that is listed.
    pub(crate) const ELEMENT: u64 = 48;
}

#[derive(Debug)]
struct State {
    machine: u64,
    may_keep: AtomicU64,
    may_hold: AtomicU64,
    kept: AtomicU64,
    held: AtomicU64,
    may_do: AtomicU64,
    done: AtomicU64,
    may_unfold: AtomicU64,
    unfolded: AtomicU64,
    /// 1 if a recording of its size does not take so much, 2 if the machine does not have so much.
    exceeded: AtomicU64,
}

/// The allowances of one analysis. Tables that grow on their own have a handle each.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<State>);

/// Without limits, until [`Budget::grant`] is called.
impl Default for Budget {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Budget {
    /// `machine` is the memory that may be taken in all, if there is a limit.
    pub(crate) fn new(machine: Option<u64>) -> Self {
        Self(Arc::new(State {
            machine: machine.unwrap_or(u64::MAX),
            may_keep: AtomicU64::new(u64::MAX),
            may_hold: AtomicU64::new(u64::MAX),
            kept: AtomicU64::new(0),
            held: AtomicU64::new(0),
            may_do: AtomicU64::new(u64::MAX),
            done: AtomicU64::new(0),
            may_unfold: AtomicU64::new(u64::MAX),
            unfolded: AtomicU64::new(0),
            exceeded: AtomicU64::new(0),
        }))
    }

    /// So many bytes of the file were read.
    pub(crate) fn grant(&self, file_bytes: u64) {
        let allowance = |per_byte: u64| file_bytes.saturating_mul(per_byte).saturating_add(FREE_BYTES);
        self.0.may_keep.store(allowance(KEPT_PER_BYTE), Ordering::Relaxed);
        self.0.may_hold.store(allowance(HELD_PER_BYTE), Ordering::Relaxed);
        let work = file_bytes.saturating_mul(WORK_PER_BYTE).saturating_add(FREE_WORK);
        self.0.may_do.store(work, Ordering::Relaxed);
        let frames = file_bytes.saturating_mul(FRAMES_PER_BYTE).saturating_add(FREE_FRAMES);
        self.0.may_unfold.store(frames, Ordering::Relaxed);
    }

    /// Requests the frames of another call site's stack. If it is refused, that stack is not shown.
    pub(crate) fn unfold(&self, depth: u32) -> bool {
        let unfolded = self.0.unfolded.load(Ordering::Relaxed).saturating_add(u64::from(depth));
        let is_allowed = depth <= DEEP || unfolded <= self.0.may_unfold.load(Ordering::Relaxed);
        if is_allowed {
            self.0.unfolded.store(unfolded, Ordering::Relaxed);
        }
        is_allowed
    }

    /// Requests time to go through so many blocks and pages. If it is refused, that step may be left out.
    pub(crate) fn work(&self, units: u64) -> bool {
        let done = self.0.done.load(Ordering::Relaxed).saturating_add(units);
        let is_allowed = done <= self.0.may_do.load(Ordering::Relaxed);
        if is_allowed {
            self.0.done.store(done, Ordering::Relaxed);
        }
        is_allowed
    }

    /// Requests memory until the end.
    pub(crate) fn keep(&self, bytes: u64) -> bool {
        self.take(&self.0.kept, &self.0.may_keep, bytes)
    }

    /// Requests memory that is released by [`Budget::release`].
    pub(crate) fn hold(&self, bytes: u64) -> bool {
        self.take(&self.0.held, &self.0.may_hold, bytes)
    }

    pub(crate) fn release(&self, bytes: u64) {
        let held = self.0.held.load(Ordering::Relaxed);
        self.0.held.store(held.saturating_sub(bytes), Ordering::Relaxed);
    }

    // Accounts are made on one thread. The numbers are atomic so that their result can be passed to other threads.
    fn take(&self, taken: &AtomicU64, most: &AtomicU64, bytes: u64) -> bool {
        let now = taken.load(Ordering::Relaxed).saturating_add(bytes);
        let all = self.0.kept.load(Ordering::Relaxed) + self.0.held.load(Ordering::Relaxed);
        let exceeded = if now > most.load(Ordering::Relaxed) {
            1
        } else if all.saturating_add(bytes) > self.0.machine {
            2
        } else {
            taken.store(now, Ordering::Relaxed);
            return true;
        };
        self.0.exceeded.store(exceeded, Ordering::Relaxed);
        false
    }

    /// The limit that was exceeded.
    pub(crate) fn exceeded(&self) -> Option<Claim> {
        match self.0.exceeded.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Claim::Memory),
            _ => Some(Claim::Machine { bytes: self.0.machine }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_taken_grows_with_the_file_and_ends_with_the_machine() {
        let budget = Budget::new(Some(1 << 30));
        budget.grant(0);
        assert!(budget.keep(FREE_BYTES) && budget.exceeded().is_none());
        assert!(!budget.keep(1));
        assert_eq!(budget.exceeded(), Some(Claim::Memory));
        budget.grant(1 << 20);
        assert!(budget.keep(1) && budget.hold(700 << 20), "a larger file may take more");
        assert!(!budget.hold(100 << 20), "the machine has no more");
        assert_eq!(budget.exceeded(), Some(Claim::Machine { bytes: 1 << 30 }));
        budget.release(700 << 20);
        assert!(budget.hold(700 << 20));
    }
}
