//! Extended attributes of files: whether one is there.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether the file has the attribute. No if that cannot be found out, such as on a file system without attributes.
pub(super) fn exists(path: &Path, attribute: &CStr) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: validity: both strings end with a zero byte and live beyond the call; a size of zero asks only for the
    // size of the value, and then the kernel does not touch the buffer, which may be null (getxattr(2)). Aliasing:
    // nothing is written.
    let size = unsafe { libc::getxattr(path.as_ptr(), attribute.as_ptr(), std::ptr::null_mut(), 0) };
    size >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(!exists(Path::new("/proc/self/exe"), c"security.nothing"));
        assert!(!exists(Path::new("/nowhere/at/all"), c"security.capability"));
        assert!(!exists(Path::new("with\0zero"), c"security.capability"));
    }
}
