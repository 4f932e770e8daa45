//! The thread in which the library returns free pages to the system, and moves what the caches hold to where it is needed.
//!
//! It is there if it is asked for, and is not there in a process that was forked off, as with a program that starts it.

use crate::native::MallocExtension_Internal_ProcessBackgroundActions;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether it was started.
pub fn is_running() -> bool {
    IS_RUNNING.load(Ordering::Relaxed)
}

/// Starts it. Signals are not for it: a program would be interrupted in a thread that it knows nothing of.
pub fn start() {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: all three are ours and of the right types; the second one is read after it was filled in.
    let result = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let result = libc::pthread_create(thread.as_mut_ptr(), ptr::null(), run, ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        result
    };
    IS_RUNNING.store(result == 0, Ordering::Relaxed);
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    MallocExtension_Internal_ProcessBackgroundActions();
    ptr::null_mut()
}
