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
