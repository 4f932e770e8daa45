//! What is needed of each operating system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{
    anonymous_bytes, capture, may_trust_environment, memory_bytes, module_of, page_bytes, resident_bytes,
    thread_id, thread_name, with_signals_blocked,
};
#[cfg(windows)]
pub(super) use windows::{
    anonymous_bytes, capture, may_trust_environment, memory_bytes, module_of, page_bytes, resident_bytes,
    thread_id, thread_name, with_signals_blocked,
};

use heapwise_trace::sampling::noted::Line;
use std::sync::atomic::AtomicU64;

/// Longest name of a thread that is kept.
pub(super) const MOST_NAME_BYTES: usize = 64;

/// An object file in this process's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// What is taken from an address to get the one that symbols are kept for: that in the file as it was linked, or, of
    /// systems whose files are not read anywhere else, the distance to the module's beginning.
    pub bias: u64,
    /// Hexadecimal digits.
    pub build_id: String,
    /// Where the file is.
    pub path: String,
}

/// Has a function called when the process exits.
pub(super) fn at_exit(function: extern "C" fn()) {
    // SAFETY: a function of the program, which stays loaded. If there is no room for it, the recording has no end then.
    unsafe { libc::atexit(function) };
}

/// Lines without a block at first.
#[derive(Debug)]
pub(super) struct Lines {
    places: Vec<AtomicU64>,
    count: usize,
}

impl Lines {
    pub(super) const NONE: Self = Self { places: Vec::new(), count: 0 };

    /// So many lines. Pages of them take memory when they are used first: zeroed integers come from the system as they are, while
    /// what is aligned as lines are would be written to.
    pub(super) fn new(count: usize) -> Self {
        const PLACES: usize = size_of::<Line>() / size_of::<AtomicU64>();
        // Lines begin where their alignment lets them.
        let places = if count == 0 { 0 } else { (count + 1) * PLACES };
        // SAFETY: zeroes are valid for atomic integers, and nothing else knows of the memory yet.
        let places = unsafe { Box::<[AtomicU64]>::new_zeroed_slice(places).assume_init() }.into_vec();
        Self { places, count }
    }

    pub(super) fn as_slice(&self) -> &[Line] {
        // SAFETY: a line is an array of the same atomic integers, so any of them are valid as one. They may be shared, and changed while
        // they are; the lines borrow from `self` as long as they are used.
        let (_, lines, _) = unsafe { self.places.align_to::<Line>() };
        &lines[..self.count.min(lines.len())]
    }
}
