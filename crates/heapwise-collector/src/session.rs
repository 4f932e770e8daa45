//! The session: shared memory that this process owns, and the preload library as an anonymous file.
//!
//! Recorded programs reach both through `/proc/<collector>/fd/<n>`. That needs no file system that can be written to,
//! no `/dev/shm`, and no descriptor in the program, which it might close; and only the same user can open it.

use crate::error::{Error, ErrorKind};
use crate::sys::{self, Mapping};
use heapwise_trace::event::Epoch;
use heapwise_trace::live::layout::{
    CLOCK_EPOCH_MASK, CLOCK_PAUSED, CLOCK_STOPPED, LIVE_VERSION, SESSION_BYTES, SESSION_HEADER_BYTES,
    SESSION_MAGIC, SessionHeader,
};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

/// What the recorder is told when it joins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Compare every n-th stack with a full unwind; 0 for never.
    pub verify_every: u32,
    /// Begin without recording.
    pub paused: bool,
}

/// The shared memory of a recording.
#[derive(Debug)]
pub struct Session {
    file: OwnedFd,
    header: Mapping,
    inode: u64,
}

impl Session {
    /// Makes the shared memory.
    ///
    /// # Errors
    /// [`ErrorKind::SharedMemory`].
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let failed = |what| move |reason| ErrorKind::SharedMemory { what, reason };
        let file = sys::memory_file(c"heapwise-session", false).map_err(failed("memfd_create"))?;
        let file = File::from(file);
        sys::set_len_unlimited(&file, SESSION_BYTES).map_err(failed("ftruncate"))?;
        let inode = std::os::unix::fs::MetadataExt::ino(&file.metadata().map_err(failed("fstat"))?);
        let file = OwnedFd::from(file);
        let header = Mapping::new(&file, 0, SESSION_HEADER_BYTES as usize).map_err(failed("mmap"))?;
        let session = Self { file, header, inode };
        let h = session.header();
        h.version.store(LIVE_VERSION, Ordering::Relaxed);
        h.collector_pid.store(std::process::id(), Ordering::Relaxed);
        h.verify_every.store(settings.verify_every, Ordering::Relaxed);
        h.next_arena.0.store(SESSION_HEADER_BYTES, Ordering::Relaxed);
        // Epoch 0 would not differ from a thread state that was never used.
        h.clock.0.store(1 | if settings.paused { CLOCK_PAUSED } else { 0 }, Ordering::Relaxed);
        h.magic.store(SESSION_MAGIC, Ordering::Release);
        Ok(session)
    }

    /// Where recorded programs find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", sys::id_in_proc(), self.file.as_raw_fd())
    }

    /// The header.
    pub fn header(&self) -> &SessionHeader {
        self.header.get(0).expect("the mapping of the header holds the header")
    }

    /// Inode of the shared memory, by which it is known among the mappings of a process.
    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn map(&self, offset: u64, len: usize) -> std::io::Result<Mapping> {
        Mapping::new(&self.file, offset, len)
    }

    /// Gives back the memory of a part that nobody uses any more.
    pub(crate) fn release(&self, offset: u64, len: u64) {
        sys::punch_hole(&self.file, offset, len);
    }

    /// The current epoch.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.header().clock.0.load(Ordering::Acquire) & CLOCK_EPOCH_MASK)
    }

    /// Moves the clock on and returns the new epoch.
    pub fn tick(&self) -> Epoch {
        Epoch((self.header().clock.0.fetch_add(1, Ordering::AcqRel) & CLOCK_EPOCH_MASK) + 1)
    }

    /// Begins recording.
    pub fn resume(&self) {
        self.header().clock.0.fetch_and(!CLOCK_PAUSED, Ordering::AcqRel);
    }

    /// Ends recording for good.
    pub fn stop(&self) {
        self.header().clock.0.fetch_or(CLOCK_STOPPED, Ordering::AcqRel);
    }

    /// Whether recording was ended.
    pub fn is_stopped(&self) -> bool {
        self.header().clock.0.load(Ordering::Acquire) & CLOCK_STOPPED != 0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Programs that go on without us must not wait for us.
        self.stop();
    }
}

/// The preload library in memory.
#[derive(Debug)]
pub struct PreloadLibrary(OwnedFd);

impl PreloadLibrary {
    /// Puts the library's bytes into an anonymous file.
    ///
    /// # Errors
    /// [`ErrorKind::SharedMemory`].
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        let failed = |what| move |reason| ErrorKind::SharedMemory { what, reason };
        let file = sys::memory_file(c"heapwise-preload", true).map_err(failed("memfd_create"))?;
        let mut file = File::from(file);
        file.write_all(bytes).map_err(failed("write"))?;
        let file = OwnedFd::from(file);
        sys::seal(&file).map_err(failed("seal"))?;
        Ok(Self(file))
    }

    /// Where the loader of a recorded program finds it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", sys::id_in_proc(), self.0.as_raw_fd())
    }
}
