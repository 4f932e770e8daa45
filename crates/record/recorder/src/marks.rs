//! Marks: a recorded program says what it is doing.
//!
//! A mark is an event like any other: it stands in its thread's ring between the calls that happened before and after it, and
//! has no stack, and of its name only the id ([`crate::mark_names`]). A name that is too long is cut, and says so by ending in
//! `…`.

use crate::arch::entry::Entry;
use crate::arch::tls;
use crate::process::PROCESS;
use crate::turn::begin;
use crate::{confined, forward};
use core::sync::atomic::Ordering;
use heapwise_trace::event::{Event, MarkKind};
use heapwise_trace::live::layout::{CLOCK_PAUSED, CLOCK_STOPPED, MARK_NAME_BYTES};

/// What a name that was cut ends in.
const CUT: &[u8] = "…".as_bytes();

/// A copy of a name, cut if it is too long: the program may change the original meanwhile.
struct Name {
    bytes: [u8; MARK_NAME_BYTES],
    len: usize,
}

impl Name {
    fn copy(name: &[u8]) -> Self {
        let mut copy = Self { bytes: [0; MARK_NAME_BYTES], len: name.len().min(MARK_NAME_BYTES) };
        if name.len() > MARK_NAME_BYTES {
            let mut kept = MARK_NAME_BYTES - CUT.len();
            // Not within a character: its later bytes begin with the bits 10.
            while kept > 0 && name[kept] & 0xc0 == 0x80 {
                kept -= 1;
            }
            copy.bytes[..kept].copy_from_slice(&name[..kept]);
            copy.bytes[kept..kept + CUT.len()].copy_from_slice(CUT);
            copy.len = kept + CUT.len();
        } else {
            copy.bytes[..copy.len].copy_from_slice(name);
        }
        copy
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Marks this moment of the calling thread. Does nothing if this process is not recorded, or not at the moment.
pub fn mark(kind: MarkKind, name: &[u8]) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    let Some(mut turn) = begin(tls::words(), entry) else { return };
    let clock = turn.clock();
    if !turn.at(clock) {
        return;
    }
    let name = PROCESS.marks.intern(&PROCESS.region, Name::copy(name).bytes());
    // Without ticks the collector's clock has to do, which is less precise.
    turn.push(Event::Mark { kind, name, ticks: confined::ticks().unwrap_or(0) });
}

/// Whether a mark would be recorded now.
pub fn is_recording() -> bool {
    if PROCESS.clock.load(Ordering::Acquire).is_null() {
        // A forked child joins at its first event; this counts as one.
        let here = 0usize;
        let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
        if begin(tls::words(), entry).is_none() {
            return false;
        }
    }
    let clock = PROCESS.clock.load(Ordering::Acquire);
    // SAFETY: null, or the session's clock, which is never unmapped and is an atomic.
    unsafe { clock.as_ref() }
        .is_some_and(|clock| clock.load(Ordering::Acquire) & (CLOCK_PAUSED | CLOCK_STOPPED) == 0)
}

/// The C function `heapwise_mark`: `kind` is 0 for a moment, 1 for the begin of a span, 2 for its end; others are ignored. A
/// null `name` is an empty one.
///
/// # Safety
/// `name` is null, or points to `len` bytes that can be read.
pub unsafe extern "C" fn mark_from_c(kind: u32, name: *const u8, len: usize) {
    let Some(kind) = MarkKind::from_code(u64::from(kind)) else { return };
    // One byte more than is kept shows that there was more.
    let len = len.min(MARK_NAME_BYTES + 1);
    // SAFETY: the caller's promise; not more than it said.
    let name = if name.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(name, len) } };
    mark(kind, name);
}

/// [`is_recording`] for C: 1 or 0.
pub(crate) extern "C" fn is_recording_from_c() -> u32 {
    u32::from(is_recording())
}

/// `heapwise_mark` of the preload library.
///
/// # Safety
/// As [`mark_from_c`].
pub unsafe extern "C" fn forward_mark(kind: u32, name: *const u8, len: usize) {
    let mark = forward::target().map_or(mark_from_c as unsafe extern "C" fn(_, _, _), |target| target.mark);
    // SAFETY: handed on.
    unsafe { mark(kind, name, len) }
}

/// `heapwise_is_recording` of the preload library.
pub extern "C" fn is_any_recorder_active() -> u32 {
    let own = is_recording_from_c as extern "C" fn() -> u32;
    forward::target().map_or(own, |target| target.is_recording)()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_says_so() {
        assert_eq!(Name::copy(b"phase").bytes(), b"phase");
        let longest = [b'a'; MARK_NAME_BYTES];
        assert_eq!(Name::copy(&longest).bytes(), longest);
        let cut = Name::copy(&[b'a'; MARK_NAME_BYTES + 1]);
        assert_eq!(cut.bytes(), [&longest[..MARK_NAME_BYTES - 3], "…".as_bytes()].concat());
        let umlauts = "ä".repeat(150);
        let cut = Name::copy(umlauts.as_bytes());
        assert_eq!(core::str::from_utf8(cut.bytes()), Ok(&*format!("{}…", "ä".repeat(98))));
        let no_text = Name::copy(&[0x80; 300]);
        assert_eq!(no_text.bytes(), CUT, "whatever the bytes are");
    }
}
