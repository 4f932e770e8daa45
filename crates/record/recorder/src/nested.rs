//! Calls within calls: a C++ operator that ends in an interposed `malloc` or `free` is one event, whichever library provides
//! either.
//!
//! The C++ library's operators call `malloc` and `free`, those of many allocators do not, and a library of the program
//! may do one for small blocks and the other for large ones. So it is observed, call by call. What an operator calls is
//! recorded there, as if the operator were not interposed; afterwards the operator checks whether the block that it
//! returns, or freed, is part of what was recorded meanwhile.
//!
//! A signal handler may strike in between. Its calls come from further in than those of the operator, so of all blocks that
//! were described the one of the outermost call counts.

use crate::arch::tls;
use core::sync::atomic::{AtomicUsize, Ordering};

/// How far into a block of `malloc` an operator's block may begin, plus 1: some keep a header in front of it. 0 as long as
/// no operator has ended in `malloc`.
static REACH: AtomicUsize = AtomicUsize::new(0);

/// What was described during the operator that is at work on a thread. All zeroes mean nothing was.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Nested {
    /// Stack pointer at the operator's entry, 0 if none is at work.
    operator: usize,
    /// Stack pointer at the outermost call inside that was described.
    call: usize,
    /// Its block.
    start: usize,
    size: usize,
    /// The block that the operator frees.
    released: usize,
    /// Which part of it was touched, plus 1.
    touched: usize,
    /// Whether a call inside was described or counted that may be the operator's.
    is_done: bool,
}

impl Nested {
    /// No operator is at work.
    pub const fn none() -> Self {
        Self { operator: 0, call: 0, start: 0, size: 0, released: 0, touched: 0, is_done: false }
    }
}

/// Whether operators are known that end in `malloc`.
#[inline(always)]
pub(crate) fn may_end_in_malloc() -> bool {
    REACH.load(Ordering::Relaxed) != 0
}

/// An operator at work.
pub(crate) struct Operator {
    outer: Nested,
}

impl Operator {
    /// Begins an operator that was entered at `sp`. It frees the block `released`, if it is no 0, of which `touched` was
    /// touched.
    pub(crate) fn begin(sp: usize, released: usize, touched: Option<u32>) -> Self {
        let touched = touched.map_or(0, |pages| pages as usize + 1);
        let own = Nested { operator: sp, released, touched, ..Nested::default() };
        // SAFETY: this thread's own words, exchanged at once; no reference to them lives. A signal handler in between leaves
        // them as it found them.
        Self { outer: unsafe { core::ptr::replace(&raw mut (*tls::words()).nested, own) } }
    }

    /// Ends one that returns `block`. Returns whether that was described or counted.
    pub(crate) fn ends_with(self, sp: usize, block: usize) -> bool {
        let nested = self.end();
        let offset = block.wrapping_sub(nested.start);
        let described = nested.call != 0 && offset <= nested.size;
        if described {
            if REACH.load(Ordering::Relaxed) <= offset {
                REACH.fetch_max(offset + 1, Ordering::Relaxed);
            }
            // An operator further out returns it, too.
            note_block(sp, nested.start, nested.size);
        }
        if nested.is_done {
            note_lost(sp);
        }
        described || nested.is_done
    }

    /// Ends one that freed a block. Returns whether that was described or counted.
    pub(crate) fn ends(self) -> bool {
        let nested = self.end();
        if nested.is_done {
            // An operator further out frees it, too.
            note_release(nested.released);
        }
        nested.is_done
    }

    fn end(self) -> Nested {
        // SAFETY: as in `begin`.
        unsafe { core::ptr::replace(&raw mut (*tls::words()).nested, self.outer) }
    }
}

/// Notes that a block was described, or a refusal with a `block` of 0, by a call that was entered at `sp`.
#[cold]
pub(crate) fn note_block(sp: usize, block: usize, size: usize) {
    // SAFETY: this thread's own words; no other reference to them lives, and a signal handler's changes are whole ones.
    let nested = unsafe { &mut (*tls::words()).nested };
    if sp < nested.operator && sp >= nested.call {
        let size = if block == 0 { 0 } else { size };
        (nested.call, nested.start, nested.size) = (sp, block, size);
    }
}

/// Notes that a block is described as freed. Returns what the operator around it knows of the touched part.
#[cold]
pub(crate) fn note_release(block: usize) -> Option<u32> {
    // SAFETY: as in `note_block`.
    let nested = unsafe { &mut (*tls::words()).nested };
    if nested.start == block {
        // It may be handed out again, unseen.
        nested.call = 0;
    }
    if nested.released == 0 || nested.released.wrapping_sub(block) >= REACH.load(Ordering::Relaxed) {
        return None;
    }
    nested.is_done = true;
    (nested.touched as u32).checked_sub(1)
}

/// Notes that a call was counted as lost that was entered at `sp`.
#[cold]
pub(crate) fn note_lost(sp: usize) {
    // SAFETY: as in `note_block`.
    let nested = unsafe { &mut (*tls::words()).nested };
    nested.is_done |= sp < nested.operator;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_ends_in_malloc_is_one_event() {
        let operator = Operator::begin(0x9000, 0, None);
        note_block(0x8000, 0x10_000, 64);
        assert!(operator.ends_with(0x9000, 0x10_000));
        let with_header = Operator::begin(0x9000, 0, None);
        note_block(0x8000, 0x10_000, 64);
        assert!(with_header.ends_with(0x9000, 0x10_010));
        for block in [0x10_010, 0x10_000] {
            let delete = Operator::begin(0x9000, block, Some(3));
            assert_eq!(note_release(0x10_000), Some(3));
            assert!(delete.ends());
        }
    }

    #[test]
    fn one_that_does_not_is_described_itself() {
        assert!(!Operator::begin(0x9000, 0, None).ends_with(0x9000, 0x10_000));
        assert!(!Operator::begin(0x9000, 0x10_000, None).ends());
        let with_handler = Operator::begin(0x9000, 0, None);
        note_block(0x7000, 0x20_000, 64);
        assert!(!with_handler.ends_with(0x9000, 0x10_000), "a handler for failed requests has its own block");
        let reused = Operator::begin(0x9000, 0, None);
        note_block(0x7000, 0x10_000, 64);
        note_release(0x10_000);
        assert!(!reused.ends_with(0x9000, 0x10_000), "a handler freed what the operator then got");
    }

    #[test]
    fn a_signal_handlers_calls_are_not_the_operators() {
        let operator = Operator::begin(0x9000, 0, None);
        note_block(0x8f00, 0x10_000, 64);
        note_block(0x8000, 0x20_000, 64);
        note_block(0xa000, 0x30_000, 64);
        assert!(operator.ends_with(0x9000, 0x10_000));
    }

    #[test]
    fn operators_call_operators() {
        let array = Operator::begin(0x9000, 0, None);
        let scalar = Operator::begin(0x8800, 0, None);
        note_block(0x8000, 0x10_000, 64);
        assert!(scalar.ends_with(0x8800, 0x10_000));
        assert!(array.ends_with(0x9000, 0x10_000));
        let refused = Operator::begin(0x9000, 0, None);
        note_block(0x8000, 0, 64);
        assert!(refused.ends_with(0x9000, 0));
        let lost = Operator::begin(0x9000, 0, None);
        note_lost(0x8000);
        assert!(lost.ends_with(0x9000, 0x10_000));
    }
}
