//! The interposed `mmap`: what the real allocator maps for itself is noted.

use crate::process::PROCESS;
use crate::{allocator_mappings, real, sys};
use core::ffi::{c_int, c_void};

/// `mmap`, with the address that it returns to.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    caller: usize,
) -> *mut c_void {
    // SAFETY: the caller's call.
    let mapped = unsafe { sys::mmap(at, len, protection, flags, file, offset) };
    match mapped {
        Ok(at) => {
            // Before it is known whose code the allocator is, everything is noted, and sorted out later.
            if !real::is_identified() || real::is_allocator_code(caller) {
                allocator_mappings::note(at as u64, len as u64, caller as u64, PROCESS.header());
            }
            at.cast()
        }
        Err(error) => {
            sys::set_errno(error);
            // MAP_FAILED.
            usize::MAX as *mut c_void
        }
    }
}
