//! Functions of this process by their names, and the objects that have them.

#![expect(unsafe_code, reason = "asks the loader")]

use std::ffi::{CStr, c_char, c_void};

/// The first symbol of a name in the order in which the program finds them. Null if there is none.
pub(super) fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the handle asks for that order; the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// The path of the object that an address belongs to.
pub(crate) fn object_of(address: *mut c_void) -> String {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be looked up; the structure is ours, and all its fields may be zero.
    let info = unsafe {
        if address.is_null() || libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return String::new();
        }
        info.assume_init()
    };
    // SAFETY: null, or a C string of an object that stays loaded.
    unsafe { text(info.dli_fname) }
}

/// A symbol if it is in this object: others may have one of the name, too.
pub(super) fn symbol_in(object: &str, name: &CStr) -> Option<*mut c_void> {
    let found = symbol(name);
    (!found.is_null() && !object.is_empty() && object_of(found) == object).then_some(found)
}

/// # Safety
/// Null, or a C string that stays.
pub(super) unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}
