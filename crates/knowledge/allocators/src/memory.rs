//! Libraries and programs as anonymous files in memory, which others can open by a path of this process.
//!
//! A file in a folder could be changed by others between the moment that it is written and the one at which it is loaded,
//! and stays when this process is killed. The path is good as long as this process lives. Folders for temporary files may
//! refuse to execute what is in them; memory does not.

use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// A file in memory that no process can change.
#[derive(Debug)]
pub struct MemoryFile(OwnedFd);

impl MemoryFile {
    /// Puts the bytes into a sealed file that can be executed. It is closed in programs that are started.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn new(name: &str, bytes: &[u8]) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernel 6.3 and later expect a flag for files that will be executed; earlier ones refuse the flag.
        let create = |flags| rustix::fs::memfd_create(format!("heapwise-{name}"), flags);
        let fd = create(flags | MemfdFlags::EXEC).or_else(|_| create(flags))?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        let fd = OwnedFd::from(file);
        rustix::fs::fcntl_add_seals(
            &fd,
            SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
        )?;
        Ok(Self(fd))
    }

    /// Where another process finds it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }
}
