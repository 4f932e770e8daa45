//! The worker of experiments, a program that this one contains (docs/adr/0019-experiments-have-a-separate-worker.md).

use anyhow::Context;
use std::path::PathBuf;

/// Built by this crate's build script.
static WORKER: &[u8] = include_bytes!(env!("HEAPWISE_LAB_WORKER"));

/// The worker as a file that can be started while this value lives.
#[cfg(target_os = "linux")]
pub(crate) struct WorkerFile(heapwise_allocators::MemoryFile);

#[cfg(target_os = "linux")]
impl WorkerFile {
    pub(crate) fn write() -> anyhow::Result<Self> {
        let file = heapwise_allocators::MemoryFile::new("lab-worker", WORKER);
        Ok(Self(file.context("cannot put the worker of experiments into memory (memfd_create)")?))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path()
    }
}

/// The worker as a file that can be started while this value lives. It has a folder for itself: Windows looks for a program's
/// libraries beside it first, and in a folder for temporary files there may be any.
#[cfg(not(target_os = "linux"))]
pub(crate) struct WorkerFile(tempfile::TempDir);

#[cfg(not(target_os = "linux"))]
impl WorkerFile {
    pub(crate) fn write() -> anyhow::Result<Self> {
        let write = || {
            let file = Self(tempfile::Builder::new().prefix("heapwise-").tempdir()?);
            std::fs::write(file.path(), WORKER)?;
            #[cfg(unix)]
            std::fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
            Ok::<_, std::io::Error>(file)
        };
        let variable = if cfg!(windows) { "TEMP" } else { "TMPDIR" };
        write().with_context(|| {
            let folder = std::env::temp_dir();
            format!(
                "cannot write the worker of experiments to {}: set {variable} to another folder",
                folder.display()
            )
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join(format!("heapwise-lab-worker{}", std::env::consts::EXE_SUFFIX))
    }
}
