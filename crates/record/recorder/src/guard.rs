//! Keeps the recorder from re-entering itself on one thread.
//!
//! A thread is *busy* from the moment it begins to describe an event until it is in the ring. A signal handler that
//! allocates in between finds the thread busy: its event is counted as lost, not recorded. A handler that leaves with
//! `longjmp` would leave the thread busy for ever, so the guard holds the stack pointer of the entry that set it: a later
//! entry from there or from *further out* on the same stack proves that the earlier one was abandoned.
//!
//! Stack pointers of two stacks prove nothing: a handler's own stack lies anywhere, also in a local variable of the program
//! and so within the stack that was interrupted. The kernel is asked where it is, on the rare paths on which it matters.

use crate::arch::tls::{self, ThreadWords};
use crate::sys;

/// The guard's value while the recorder attaches or examines modules: what arrives meanwhile was called by it.
pub const INTERNAL: usize = 1;

/// Marks a guard as that of the real allocator at work, in the lowest bit of the stack pointer, which is always even.
/// It may leave by throwing a C++ exception, so it has to be possible to find it abandoned.
pub const REAL: usize = 1;

/// Marks a busy guard while a handler, which has interrupted the recorder, is in the real allocator.
pub const NESTED: usize = 2;

/// What the guard says about an entry at `sp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The recorder is not at work on this thread.
    Free,
    /// An earlier entry never came back; its half-done work has to be dropped.
    Abandoned,
    /// The recorder was interrupted while it described an event.
    Busy,
    /// The same, and the interrupting handler has called the real allocator, which called this.
    BusyInReal,
    /// The recorder called this.
    Internal,
    /// The real allocator called this, or the program that it has called.
    InReal,
}

/// Looks at a guard. `share_a_stack` says whether two stack pointers are known to be of one stack, and `alternate` finds the
/// stack that the thread has for its signal handlers: first address and first address behind.
pub fn turn(
    guard: usize,
    sp: usize,
    share_a_stack: impl FnOnce(usize, usize) -> bool,
    alternate: impl FnOnce() -> Option<(usize, usize)>,
) -> Turn {
    if guard == 0 {
        return Turn::Free;
    }
    if guard == INTERNAL {
        return Turn::Internal;
    }
    let held = guard & !(REAL | NESTED);
    let in_real = guard & REAL != 0;
    // The allocator calls further in, and mostly on the same stack: that is no reason to ask the kernel.
    if !(in_real && sp < held) && is_abandoned(held, sp, share_a_stack, alternate) {
        return Turn::Abandoned;
    }
    match (in_real, guard & NESTED != 0) {
        (true, _) => Turn::InReal,
        (false, true) => Turn::BusyInReal,
        (false, false) => Turn::Busy,
    }
}

fn is_abandoned(
    held: usize,
    sp: usize,
    share_a_stack: impl FnOnce(usize, usize) -> bool,
    alternate: impl FnOnce() -> Option<(usize, usize)>,
) -> bool {
    let (low, high) = alternate().unwrap_or((0, 0));
    let on_it = |sp: usize| low <= sp && sp < high;
    match (on_it(held), on_it(sp)) {
        // A handler is at work on its own stack, above the one that it has interrupted or below.
        (false, true) => false,
        // It has left that stack, and did not come back from its call before.
        (true, false) => true,
        // What is called further in has a lower stack pointer.
        _ => sp >= held && share_a_stack(sp, held),
    }
}

/// The recorder at work for itself: what arrives on this thread meanwhile was called by it, for signals are held back. What
/// a handler did could neither be recorded nor counted.
#[derive(Debug)]
pub struct Internal {
    words: *mut ThreadWords,
    before: usize,
    signals: sys::Signals,
}

impl Internal {
    pub fn begin() -> Self {
        let signals = sys::hold_signals();
        let words = tls::words();
        // SAFETY: this thread's own word, exchanged as a whole; no reference to it lives.
        let before = unsafe { core::ptr::replace(&raw mut (*words).guard, INTERNAL) };
        Self { words, before, signals }
    }
}

impl Drop for Internal {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        unsafe { (*self.words).guard = self.before };
        sys::release_signals(self.signals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(guard: usize, sp: usize, alternate: Option<(usize, usize)>) -> Turn {
        let stack = 0x5000..0x9000;
        turn(guard, sp, |a, b| stack.contains(&a) && stack.contains(&b), || alternate)
    }

    #[test]
    fn an_entry_further_out_proves_an_abandoned_one() {
        assert_eq!(look(0, 0x7000, None), Turn::Free);
        assert_eq!(look(INTERNAL, 0x7000, None), Turn::Internal);
        assert_eq!(look(0x6000, 0x7000, None), Turn::Abandoned);
        assert_eq!(look(0x7000, 0x7000, None), Turn::Abandoned, "the same call once more");
        assert_eq!(look(0x7000, 0x6000, None), Turn::Busy);
        assert_eq!(look(0x7000 | NESTED, 0x6000, None), Turn::BusyInReal);
        assert_eq!(look(0x6000 | NESTED, 0x7000, None), Turn::Abandoned);
        assert_eq!(look(0x7000 | REAL, 0x6000, None), Turn::InReal, "the allocator calls itself");
        assert_eq!(look(0x6000 | REAL, 0x7000, None), Turn::Abandoned, "it threw an exception");
        assert_eq!(look(0x6000, 0x9000, None), Turn::Busy, "another stack proves nothing");
    }

    #[test]
    fn a_handlers_own_stack_lies_anywhere() {
        let within = Some((0x7800, 0x8800));
        assert_eq!(look(0x6000, 0x8000, within), Turn::Busy, "a handler has interrupted the recorder");
        assert_eq!(look(0x6000 | REAL, 0x8000, within), Turn::InReal, "or the real allocator");
        assert_eq!(look(0x8000, 0x6000, within), Turn::Abandoned, "the handler was left by a jump");
        assert_eq!(look(0x8000, 0x8200, within), Turn::Abandoned, "and so was its call");
        assert_eq!(look(0x8200, 0x8000, within), Turn::Busy, "a handler interrupts a handler");
        assert_eq!(look(0x6000, 0x7000, within), Turn::Abandoned);
        let above = Some((0xa000, 0xb000));
        assert_eq!(look(0x6000, 0xa800, above), Turn::Busy);
        assert_eq!(look(0xa800, 0x6000, above), Turn::Abandoned);
    }
}
