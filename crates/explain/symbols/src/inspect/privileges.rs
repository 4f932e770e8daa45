//! What gives a program more rights than the user who starts it.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::xattr;

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
        file_capabilities: xattr::exists(path, c"security.capability"),
    }
}
