//! What gives a program more rights than the user who starts it.

use std::ffi::CStr;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Rights that a file carries. Any of them may make the dynamic linker ignore `LD_PRELOAD`.
///
/// This is what the file says. Whether the rights are gained depends on who starts it: a set-uid program started by its
/// own owner gains nothing, and one on a file system mounted with `nosuid` neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Privileges {
    /// The program runs as the owner of the file.
    pub set_uid: bool,
    /// The program runs with the group of the file.
    pub set_gid: bool,
    /// The file has capabilities, as `setcap` writes them.
    pub file_capabilities: bool,
}

impl Privileges {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.set_uid || self.set_gid || self.file_capabilities
    }
}

pub(super) fn of(path: &Path, metadata: &Metadata) -> Privileges {
    let mode = metadata.permissions().mode();
    Privileges {
        set_uid: mode & libc::S_ISUID != 0,
        // Without the right to execute for the group, the bit once meant mandatory locking; `execve` ignores it then.
        set_gid: mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0,
        file_capabilities: has_attribute(path, c"security.capability"),
    }
}

/// Whether the file has an extended attribute. No if that cannot be found out, such as on a file system without attributes.
fn has_attribute(path: &Path, attribute: &CStr) -> bool {
    // Without room for the value, the answer is its size.
    rustix::fs::getxattr(path, attribute, &mut [0_u8; 0]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(!has_attribute(Path::new("/proc/self/exe"), c"security.nothing"));
        assert!(!has_attribute(Path::new("/nowhere/at/all"), c"security.capability"));
        assert!(!has_attribute(Path::new("with\0zero"), c"security.capability"));
    }
}
