//! Whether this is Wine.
//!
//! This is checked before anything else: Wine exports functions that it does not implement, and a program that calls one ends in
//! Wine's debugger.

use std::ffi::{CStr, c_char};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::core::{s, w};

/// The version of Wine, or none on Windows.
pub fn wine_version() -> Option<String> {
    // SAFETY: both names end with zero, and ntdll is in every process until its end.
    let function = unsafe { GetProcAddress(GetModuleHandleW(w!("ntdll.dll")), s!("wine_get_version")) }?;
    // SAFETY: no function of Windows has this name, and Wine's has had this type since its beginning.
    let function = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, unsafe extern "C" fn() -> *const c_char>(
            function,
        )
    };
    // SAFETY: it takes nothing and returns a constant.
    let version = unsafe { function() };
    // SAFETY: a constant string that ends with zero.
    (!version.is_null()).then(|| unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned())
}
