//! The stack of a thread that is just allocating.
//!
//! No lock may be taken here that a thread could hold while it allocates and waits for another lock. The lock of the crate
//! `backtrace` is such a lock: a thread that looks up names holds it and waits for the loader's list of libraries, while another
//! one, which prints its stack, may hold the loader's lock and allocate. So stacks are walked without it, except on Windows.

use super::stacks::DEPTH;
use backtrace::Frame;

/// Writes the addresses of this thread's stack, from the innermost frame on, and says how many there are. Frames whose stack
/// pointer is above `end` are left out, unless it is 0.
pub(super) fn capture(frames: &mut [usize; DEPTH], end: usize) -> usize {
    let mut length = 0;
    walk(|frame| {
        // Stacks grow downwards on all processors that we know.
        if end != 0 && frame.sp().addr() > end {
            return false;
        }
        frames[length] = frame.ip().addr();
        length += 1;
        length < DEPTH
    });
    length
}

#[cfg(unix)]
fn walk(each: impl FnMut(&Frame) -> bool) {
    // SAFETY: only the debug library of Windows needs synchronisation. Here the unwinder walks the stack that also unwinds
    // panics, of several threads at a time; it locks itself what it shares.
    unsafe { backtrace::trace_unsynchronized(each) }
}

#[cfg(not(unix))]
fn walk(each: impl FnMut(&Frame) -> bool) {
    backtrace::trace(each);
}
