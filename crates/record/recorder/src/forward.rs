//! What the preload library sees in a program that records itself, and that program's recorder does not: the C library's
//! functions for threads and for code that is unloaded, and marks from C. It is handed on.
//!
//! Both sides are the same crate of the same version, built into the library and into the executable; the library has stepped
//! aside only if the versions are the same, so the table has one layout.

use core::sync::atomic::{AtomicPtr, Ordering};

/// Functions of the recorder in the program.
#[derive(Debug)]
#[repr(C)]
pub struct Forward {
    /// A thread was started: its handle.
    pub(crate) thread_created: extern "C" fn(u64),
    /// A thread was waited for: its handle.
    pub(crate) thread_joined: extern "C" fn(u64),
    /// A thread has a new name: its handle, the name, and how long that is.
    pub(crate) thread_named: unsafe extern "C" fn(u64, *const u8, usize),
    /// Code was unloaded.
    pub(crate) unloaded: extern "C" fn(),
    /// The program confines itself: how, and from where.
    pub(crate) confine: extern "C" fn(u32, usize),
    /// `heapwise_mark`.
    pub(crate) mark: unsafe extern "C" fn(u32, *const u8, usize),
    /// `heapwise_is_recording`.
    pub(crate) is_recording: extern "C" fn() -> u32,
}

static TARGET: AtomicPtr<Forward> = AtomicPtr::new(core::ptr::null_mut());

/// The program's recorder, in the preload library of a program that records itself.
#[inline]
pub(crate) fn target() -> Option<&'static Forward> {
    // SAFETY: null, or the table of the executable's recorder, which is there as long as the process and never written to.
    unsafe { TARGET.load(Ordering::Acquire).as_ref() }
}

/// In the preload library: hands on to this table from now on.
pub extern "C" fn to(table: *const Forward) {
    TARGET.store(table.cast_mut(), Ordering::Release);
}
