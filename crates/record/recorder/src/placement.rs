//! Where the recorder is: in the preload library, or a part of the program, behind an allocator that it has wrapped.

use crate::session::variable;
use crate::sys;
use crate::unwind::elf;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwise_trace::live::layout::{
    LIVE_VERSION, THROUGH_PRELOAD, THROUGH_VARIABLE, WRAPPER_NOTE, WRAPPER_NOTE_KIND,
};

/// Non-zero where this recorder is a part of the program.
static IN_PROGRAM: AtomicU32 = AtomicU32::new(0);

/// Notes that this recorder is a part of the program.
pub(crate) fn become_part_of_the_program() {
    IN_PROGRAM.store(1, Ordering::Relaxed);
}

/// Whether this recorder is a part of the program.
pub(crate) fn is_in_program() -> bool {
    IN_PROGRAM.load(Ordering::Relaxed) != 0
}

/// Whether this is the preload library in a program that records itself.
pub(crate) fn is_left_to_the_program() -> bool {
    if is_in_program() || variable(THROUGH_VARIABLE).is_some_and(|value| value.to_bytes() == THROUGH_PRELOAD)
    {
        return false;
    }
    let Some(headers) = sys::program_headers() else { return false };
    let Some((start, end)) = sys::maps::mapping_of(headers) else { return false };
    // A recorder of another version cannot join; then the program is one as any other.
    elf::note(start, end, WRAPPER_NOTE, WRAPPER_NOTE_KIND) == Some(&LIVE_VERSION.to_le_bytes())
}
