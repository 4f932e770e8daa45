//! Keeps the recorder from re-entering itself on one thread.
//!
//! A thread is *busy* from the moment it begins to describe an event until it is in the ring. A signal handler that
//! allocates in between finds the thread busy: its event is counted as lost, not recorded. A handler that leaves with
//! `longjmp` would leave the thread busy for ever, so the guard holds the stack pointer of whoever set it: a later
//! entry from *further out* on the same stack proves that the earlier one was abandoned.

use crate::arch::tls::ThreadWords;
use core::ops::Range;

/// The guard's value while the recorder attaches or looks at modules: what arrives meanwhile was called by it.
pub const INTERNAL: usize = 1;

/// Marks a guard as that of the real allocator at work, in the lowest bit of the stack pointer, which is always even.
/// It may leave by throwing a C++ exception, so it has to be possible to find it abandoned.
pub const REAL: usize = 1;

/// What the guard says about an entry at `sp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nobody is at work on this thread.
    Free,
    /// An earlier entry never came back; its half-done work has to be dropped.
    Abandoned,
    /// The recorder was interrupted while it described an event.
    Busy,
    /// The recorder called this.
    Internal,
    /// The real allocator called this, or the program that it has called.
    InReal,
}

/// Looks at the guard. `stack` is the stack that the thread was on at its last event, if it is known: only there
/// two stack pointers say which came first (a handler may run on a stack of its own, above or below).
pub fn turn(words: &ThreadWords, sp: usize, stack: Range<usize>) -> Turn {
    match words.guard {
        0 => Turn::Free,
        INTERNAL => Turn::Internal,
        held if sp > held && stack.contains(&sp) && stack.contains(&held) => Turn::Abandoned,
        held if held & REAL != 0 => Turn::InReal,
        _ => Turn::Busy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_further_out_proves_an_abandoned_one() {
        let words =
            |guard| ThreadWords { state: core::ptr::null_mut(), guard, measure_in: 0, ticks: 0, strict: 0 };
        let stack = || 0x5000..0x9000;
        assert_eq!(turn(&words(0), 0x7000, stack()), Turn::Free);
        assert_eq!(turn(&words(INTERNAL), 0x7000, stack()), Turn::Internal);
        assert_eq!(turn(&words(0x6000), 0x7000, stack()), Turn::Abandoned);
        assert_eq!(turn(&words(0x7000), 0x6000, stack()), Turn::Busy);
        assert_eq!(turn(&words(0x7000 | REAL), 0x6000, stack()), Turn::InReal, "the allocator calls itself");
        assert_eq!(turn(&words(0x6000 | REAL), 0x7000, stack()), Turn::Abandoned, "it threw an exception");
        assert_eq!(turn(&words(0x6000), 0x9000, stack()), Turn::Busy, "a handler's own stack proves nothing");
    }
}
