//! Whether a program's own `malloc` is an allocator, or a wrapper that passes on to the C library's.
//!
//! Both look alike from outside. What a wrapper passes on arrives at the interposed function and is recorded there, so its own function
//! is none to be recorded. The first call shows which it is: whether the block that it returns was recorded meanwhile.

use super::slots::Slot;
use crate::arch::entry::Entry;
use crate::arch::tls::Words;
use crate::describe::in_inside;
use crate::nested::Operator;
use crate::process::PROCESS;
use core::sync::atomic::{AtomicU8, Ordering};
use heapwise_trace::live::layout::CLOCK_PAUSED;

const UNKNOWN: u8 = 0;
const ALLOCATES: u8 = 1;
const PASSES_ON: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether a call of this function is not to be described: it passes on, or it is not known yet whether it does.
#[inline(always)]
pub(super) fn is_left_alone(slot: &Slot) -> bool {
    slot.may_pass_on() && STATE.load(Ordering::Relaxed) != ALLOCATES
}

/// Whether that is not known.
pub(super) fn is_unknown() -> bool {
    STATE.load(Ordering::Relaxed) == UNKNOWN
}

/// Calls a function that returns a block, and finds out. Returns the block, and whether it is to be described.
#[cold]
pub(super) fn find_out(words: Words, entry: Entry, call: impl FnOnce() -> usize) -> (usize, bool) {
    // While recording is paused nothing is described, and that it was not says nothing. It does not begin again.
    let is_paused = PROCESS.region.clock() & CLOCK_PAUSED != 0;
    let operator = Operator::begin(entry.stack_pointer, 0, None);
    let block = in_inside(words, entry, call);
    let was_described = operator.ends_with(entry.stack_pointer, block);
    // A refusal says nothing either.
    if block != 0 && !is_paused {
        STATE.store(if was_described { PASSES_ON } else { ALLOCATES }, Ordering::Relaxed);
    }
    (block, !was_described && !is_paused)
}
