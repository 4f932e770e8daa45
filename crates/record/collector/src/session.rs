//! The session: shared memory that this process owns, and the preload library as an anonymous file.
//!
//! Recorded programs reach both through `/proc/<collector>/fd/<n>`. That needs no file system that can be written to,
//! no `/dev/shm`, and no descriptor in the program, which it might close; and only the same user can open it.

use crate::distrust::{self, Clock, NextArena};
use crate::error::{Error, ErrorKind};
use crate::joins::{self, Memory};
use crate::other_ids::OtherIds;
use crate::sys::{self, Mapping};
use heapwise_trace::event::Epoch;
use heapwise_trace::live::layout::{
    ARENA_BYTES, CLOCK_PAUSED, CLOCK_STOPPED, LIVE_VERSION, ProcessHeader, SESSION_BYTES,
    SESSION_HEADER_BYTES, SESSION_MAGIC, SessionHeader,
};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Settings that the recorder reads when it joins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Compare every n-th stack with a full unwind; 0 for never.
    pub verify_every: u32,
    /// Begin without recording.
    pub paused: bool,
    /// Answer which functions of allocators inside of files are entered through the recorder.
    pub plans_hooks: bool,
    /// Threads are traced that ask for it.
    pub traces: bool,
    /// At most so many bytes lie between two recorded blocks: a power of two; 0 or 1 if all are recorded.
    pub sample_bytes: u64,
}

/// The shared memory of a recording.
#[derive(Debug)]
pub struct Session {
    file: OwnedFd,
    header: Mapping,
    memory: Memory,
    settings: Settings,
    own: Mutex<Own>,
    /// What the system had started before anything could join.
    started_before: Option<u64>,
    /// Where the processes know themselves by other ids.
    pub(crate) other_ids: Option<OtherIds>,
}

/// The collector's copies of fields of the header: recorded programs can overwrite the shared ones.
#[derive(Debug)]
struct Own {
    clock: Clock,
    next_arena: NextArena,
    collector_pid: u32,
    only_pid: u32,
}

impl Session {
    /// Makes the shared memory. Its length is sealed: no process can cut off a part that others have mapped.
    ///
    /// # Errors
    /// [`ErrorKind::SharedMemory`].
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let failed = |reason| ErrorKind::SharedMemory { what: "memfd_create", reason };
        let file = sys::memory_file(c"heapwise-session", false).map_err(failed)?;
        Self::of(File::from(file), settings)
    }

    /// Makes it of an anonymous file that is empty, and was made with room for seals.
    ///
    /// # Errors
    /// [`ErrorKind::SharedMemory`].
    pub(crate) fn of(file: File, settings: Settings) -> Result<Self, Error> {
        let failed = |what| move |reason| ErrorKind::SharedMemory { what, reason };
        let started_before = joins::ever_started();
        sys::set_len_unlimited(&file, SESSION_BYTES).map_err(failed("ftruncate"))?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed("fchmod"))?;
        let memory = Memory::of(&file.metadata().map_err(failed("fstat"))?);
        let file = OwnedFd::from(file);
        sys::seal(&file, 0).map_err(failed("seal"))?;
        let header = Mapping::new(&file, 0, SESSION_HEADER_BYTES as usize).map_err(failed("mmap"))?;
        // Epoch 0 would not differ from a thread state that was never used.
        let clock = 1 | if settings.paused { CLOCK_PAUSED } else { 0 };
        let own = Own {
            clock: Clock::new(clock),
            next_arena: NextArena(SESSION_HEADER_BYTES),
            collector_pid: sys::id_in_proc(),
            only_pid: 0,
        };
        let session =
            Self { file, header, memory, settings, own: Mutex::new(own), started_before, other_ids: None };
        session.header().clock.0.store(clock, Ordering::Relaxed);
        session.header().next_arena.0.store(SESSION_HEADER_BYTES, Ordering::Relaxed);
        session.put_constants_right(&session.own());
        Ok(session)
    }

    /// Where recorded programs find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", sys::id_in_proc(), self.file.as_raw_fd())
    }

    /// Whether only a sample of the blocks is recorded.
    pub(crate) fn is_sampling(&self) -> bool {
        self.settings.sample_bytes > 1
    }

    /// The header. Recorded programs write to it.
    pub fn header(&self) -> &SessionHeader {
        self.header.get(0).expect("the mapping of the header holds the header")
    }

    /// Whether threads are traced that ask for it.
    pub(crate) fn traces(&self) -> bool {
        self.settings.traces
    }

    /// What the kernel calls it among the mappings of a process.
    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    /// What the system had started before anything could join.
    pub(crate) fn started_before(&self) -> Option<u64> {
        self.started_before
    }

    /// Records this process alone.
    pub(crate) fn only(&self, pid: u32) {
        self.own().only_pid = pid;
        self.header().only_pid.store(pid, Ordering::Release);
    }

    /// Maps the arena at an offset; an error if there can be none.
    pub(crate) fn map(&self, offset: u64) -> io::Result<Mapping> {
        let range = distrust::arena(offset).ok_or(io::ErrorKind::InvalidInput)?;
        Mapping::new(&self.file, range.start, ARENA_BYTES as usize)
    }

    /// Reads words from a part of it. `None` if they cannot be read.
    pub(crate) fn read_words(&self, offset: u64, count: usize, to: &mut Vec<u64>) -> Option<()> {
        sys::read_words(&self.file, offset, count, to)
    }

    /// The header of the process before the one at an offset; `None` if no process has ever written there.
    pub(crate) fn previous(&self, offset: u64) -> Option<u64> {
        let is_header = distrust::arena(offset).is_some() && sys::is_written(&self.file, offset);
        let mapping =
            is_header.then(|| Mapping::new(&self.file, offset, size_of::<ProcessHeader>()).ok())??;
        Some(mapping.get::<ProcessHeader>(0)?.previous.load(Ordering::Acquire))
    }

    /// The id of the process whose header is at an offset; `None` if there is none, or it is not complete.
    pub(crate) fn process_at(&self, offset: u64) -> Option<u32> {
        let is_header = distrust::arena(offset).is_some() && sys::is_written(&self.file, offset);
        let mapping =
            is_header.then(|| Mapping::new(&self.file, offset, size_of::<ProcessHeader>()).ok())??;
        let header: &ProcessHeader = mapping.get(0)?;
        // The roots of the trie are made last before a process is published.
        let is_complete = header.arenas[0].load(Ordering::Acquire) == offset
            && header.index_tables[0].load(Ordering::Acquire) != 0
            && header.node_count.load(Ordering::Acquire) > 2;
        let pid = header.pid.load(Ordering::Relaxed);
        (is_complete && pid != 0).then_some(pid)
    }

    /// The first arena from an offset on in which anything was written.
    pub(crate) fn next_written(&self, from: u64) -> Option<u64> {
        let found = sys::next_written(&self.file, from)?.max(from);
        Some(found - found.checked_sub(SESSION_HEADER_BYTES)? % ARENA_BYTES)
    }

    /// The arenas that were taken so far.
    pub(crate) fn taken(&self) -> Range<u64> {
        SESSION_HEADER_BYTES..self.own().next_arena.0.min(SESSION_BYTES)
    }

    /// Releases the memory of an arena that no process uses any more.
    pub(crate) fn release(&self, arena: Range<u64>) {
        sys::punch_hole(&self.file, arena.start, arena.end - arena.start);
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current epoch.
    pub fn epoch(&self) -> Epoch {
        let found = self.header().clock.0.load(Ordering::Acquire);
        self.own().clock.with(found)
    }

    /// The epoch in which something joined that claims this one. If that cannot be, the error has what it may be.
    pub(crate) fn joined(&self, claimed: u64) -> Result<Epoch, Epoch> {
        // After the claim was read: the clock of one who says the truth had come to it.
        let found = self.header().clock.0.load(Ordering::Acquire);
        self.own().clock.joined(claimed, found)
    }

    /// Moves the clock on and returns the new epoch. If a process has set the clock to a value that it cannot have, it is
    /// corrected, and the second value says so.
    pub fn tick(&self) -> (Epoch, bool) {
        let clock = &self.header().clock.0;
        let mut own = self.own();
        match own.clock.moved(clock.fetch_add(1, Ordering::AcqRel)) {
            Ok(epoch) => (epoch, true),
            Err(value) => {
                clock.store(value, Ordering::Release);
                (own.clock.now(), false)
            }
        }
    }

    /// Restores the other fields that recorded programs must not change. Returns whether all of them were right.
    pub(crate) fn put_right(&self) -> bool {
        let mut own = self.own();
        let next = &self.header().next_arena.0;
        let taken = own.next_arena.found(next.load(Ordering::Relaxed));
        if let Err(value) = taken {
            next.store(value, Ordering::Relaxed);
        }
        self.put_constants_right(&own) && taken.is_ok()
    }

    fn put_constants_right(&self, own: &Own) -> bool {
        let h = self.header();
        let mut right = true;
        let constants = [
            (&h.version, LIVE_VERSION),
            (&h.collector_pid, own.collector_pid),
            (&h.verify_every, self.settings.verify_every),
            (&h.plans_hooks, u32::from(self.settings.plans_hooks)),
            (&h.traces, u32::from(self.settings.traces)),
            (&h.sample_log2, self.settings.sample_bytes.max(1).ilog2()),
        ];
        for (word, value) in constants {
            right &= put_right(word, value);
        }
        // The program names itself, between its fork and its exec.
        if own.only_pid != 0 {
            right &= put_right(&h.only_pid, own.only_pid);
        }
        if h.magic.load(Ordering::Relaxed) != SESSION_MAGIC {
            h.magic.store(SESSION_MAGIC, Ordering::Release);
            right = false;
        }
        right
    }

    /// Ends the sleep of the loop that reads it.
    pub(crate) fn wake(&self) {
        let wake = &self.header().wake.0;
        if wake.swap(0, Ordering::SeqCst) == 1 {
            sys::futex_wake(wake.as_ptr());
        }
    }

    /// Begins recording.
    pub fn resume(&self) {
        let mut own = self.own();
        own.clock.flags &= !CLOCK_PAUSED;
        self.header().clock.0.fetch_and(!CLOCK_PAUSED, Ordering::AcqRel);
    }

    /// Ends recording for good.
    pub fn stop(&self) {
        let mut own = self.own();
        own.clock.flags |= CLOCK_STOPPED;
        self.header().clock.0.fetch_or(CLOCK_STOPPED, Ordering::AcqRel);
    }

    /// Whether recording was ended.
    pub fn is_stopped(&self) -> bool {
        self.own().clock.flags & CLOCK_STOPPED != 0
    }
}

/// Stores a value where it is missing. Returns whether it was there.
fn put_right(word: &AtomicU32, value: u32) -> bool {
    let is_right = word.load(Ordering::Relaxed) == value;
    if !is_right {
        word.store(value, Ordering::Relaxed);
    }
    is_right
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
        file.set_permissions(Permissions::from_mode(0o500)).map_err(failed("fchmod"))?;
        let file = OwnedFd::from(file);
        sys::seal(&file, libc::F_SEAL_WRITE).map_err(failed("seal"))?;
        Ok(Self(file))
    }

    /// Where the loader of a recorded program finds it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", sys::id_in_proc(), self.0.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    /// The session as a recorded program opens it.
    fn opened(session: &Session) -> File {
        OpenOptions::new().read(true).write(true).open(session.path()).expect("a recorded program opens it")
    }

    #[test]
    fn its_length_is_sealed_and_its_memory_can_still_be_released() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let file = opened(&session);
        assert!(file.set_len(4096).is_err() && file.set_len(SESSION_BYTES * 2).is_err());
        assert_eq!(file.metadata().expect("it is open").len(), SESSION_BYTES);
        assert_eq!(file.metadata().expect("it is open").permissions().mode() & 0o777, 0o600);
        let arena = SESSION_HEADER_BYTES..SESSION_HEADER_BYTES + ARENA_BYTES;
        let mapping = session.map(arena.start).expect("an arena");
        mapping.get::<ProcessHeader>(0).expect("it fits").pid.store(7, Ordering::Relaxed);
        assert!(sys::is_written(&session.file, arena.start));
        session.release(arena.clone());
        assert!(!sys::is_written(&session.file, arena.start), "a hole was punched");
    }

    #[test]
    fn nothing_but_arenas_is_mapped() {
        let session = Session::new(Settings::default()).expect("shared memory");
        for offset in
            [0, 4096, SESSION_HEADER_BYTES + 8, SESSION_BYTES - ARENA_BYTES, SESSION_BYTES, u64::MAX]
        {
            assert!(session.map(offset).is_err(), "{offset:#x}");
            assert_eq!((session.previous(offset), session.process_at(offset)), (None, None), "{offset:#x}");
        }
        assert!(session.map(SESSION_HEADER_BYTES).is_ok());
        assert_eq!(session.previous(SESSION_HEADER_BYTES), None, "nothing was written there");
        assert!(!sys::is_written(&session.file, SESSION_HEADER_BYTES), "and looking has not, either");
    }

    #[test]
    fn what_is_ours_in_the_header_is_put_right() {
        let session = Session::new(Settings::default()).expect("shared memory");
        assert!(session.put_right() && session.tick().1);
        let h = session.header();
        h.magic.store(0, Ordering::Relaxed);
        h.collector_pid.store(1, Ordering::Relaxed);
        h.clock.0.store(u64::MAX, Ordering::Relaxed);
        h.next_arena.0.store(77, Ordering::Relaxed);
        let before = session.epoch();
        let (epoch, was_right) = session.tick();
        assert!(!session.put_right() && !was_right && epoch > before);
        assert!(session.put_right() && session.tick().1 && !session.is_stopped());
        assert_eq!(h.clock.0.load(Ordering::Relaxed), session.epoch().0);
        assert_eq!(h.collector_pid.load(Ordering::Relaxed), sys::id_in_proc());
        session.stop();
        assert!(session.is_stopped() && session.tick().1);
    }

    #[test]
    fn words_are_read_and_what_was_never_written_is_zero_and_takes_nothing() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let mapping = session.map(SESSION_HEADER_BYTES).expect("an arena");
        mapping.get::<ProcessHeader>(0).expect("it fits").previous.store(0x0102, Ordering::Relaxed);
        let mut words = vec![9];
        session.read_words(SESSION_HEADER_BYTES, 1024, &mut words).expect("they are there");
        assert_eq!((words.len(), &words[..3]), (1025, &[9, 0x0102, 0][..]));
        assert!(words[2..].iter().all(|&word| word == 0));
        assert!(!sys::is_written(&session.file, SESSION_HEADER_BYTES + 4096));
        assert!(session.read_words(SESSION_BYTES, 1, &mut words).is_none());
        assert_eq!(words.len(), 1025);
    }
}
