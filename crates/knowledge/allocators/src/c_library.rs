//! The C library that programs on this machine are started with, as far as its allocator has a version.

#![expect(unsafe_code, reason = "asks the C library for its version")]

use crate::identity::object_of;

/// The path of its file, as the loader has it.
pub fn path() -> String {
    let function: unsafe extern "C" fn() -> *const std::ffi::c_char = libc::gnu_get_libc_version;
    object_of(function as *mut std::ffi::c_void)
}

/// Its version, as "2.36".
pub fn version() -> String {
    // SAFETY: the result is a C string that is never changed and that lives as long as the process.
    let text = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    text.to_string_lossy().into_owned()
}
