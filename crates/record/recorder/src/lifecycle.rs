//! What each interposed function does that starts, ends or names threads, or unloads code.

use crate::arch::tls;
use crate::forward;
use crate::guard;
use crate::process::PROCESS;
use crate::real::real_or;
use crate::turn::note;
use crate::unwind::modules;
use core::ffi::{c_char, c_int, c_void};
use heapwise_trace::event::Event;

/// `pthread_create`: notes which thread was started from where.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    const EAGAIN: c_int = 11;
    let real = real_or!(pthread_create, EAGAIN);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, attributes, start, argument) };
    if error == 0 {
        // SAFETY: the real function has stored the handle there.
        let handle = unsafe { thread.read_volatile() };
        match forward::target() {
            Some(target) => (target.thread_created)(handle as u64),
            None => thread_created(handle as u64),
        }
    }
    error
}

/// `pthread_join`: notes that all of the other thread's events were before.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    const EINVAL: c_int = 22;
    let real = real_or!(pthread_join, EINVAL);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, result) };
    if error == 0 {
        match forward::target() {
            Some(target) => (target.thread_joined)(thread as u64),
            None => thread_joined(thread as u64),
        }
    }
    error
}

/// `pthread_setname_np`: a thread may be gone before the collector asks the kernel for its name.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    const ENOSYS: c_int = 38;
    let real = real_or!(pthread_setname_np, ENOSYS);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, name) };
    if error == 0 && !name.is_null() {
        // SAFETY: a C string, as the real function has just accepted it.
        let name = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
        name_thread(thread as u64, name);
    }
    error
}

/// `dlclose`: the addresses of what is unloaded may soon mean something else.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let real = real_or!(dlclose, -1);
    // SAFETY: the caller's call.
    let error = unsafe { real(handle) };
    if error == 0 {
        match forward::target() {
            Some(target) => (target.unloaded)(),
            None => unloaded(),
        }
    }
    error
}

/// Notes that a thread was started by this one.
pub(crate) extern "C" fn thread_created(handle: u64) {
    note(Event::ThreadCreate { handle });
}

/// Notes that all of another thread's events were before.
pub(crate) extern "C" fn thread_joined(handle: u64) {
    note(Event::ThreadJoin { handle });
}

pub(crate) fn name_thread(handle: u64, name: &[u8]) {
    match forward::target() {
        // SAFETY: the name is as long as it says.
        Some(target) => unsafe { (target.thread_named)(handle, name.as_ptr(), name.len()) },
        None => crate::thread::rename(handle, name),
    }
}

/// # Safety
/// `name` points to `len` bytes that can be read.
pub(crate) unsafe extern "C" fn thread_named(handle: u64, name: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    crate::thread::rename(handle, unsafe { core::slice::from_raw_parts(name, len) });
}

/// Checks which modules are gone.
pub(crate) extern "C" fn unloaded() {
    let words = tls::words();
    // SAFETY: this thread's own words.
    let guard = unsafe { (*words).guard };
    // The real allocator may have been left by an exception.
    let idle = guard == 0 || guard & guard::REAL != 0 && guard != guard::INTERNAL;
    if idle && PROCESS.header().is_some() {
        let _internal = guard::Internal::begin();
        modules::notice_unloaded();
    }
}
