//! The part of a session that one process fills: its header, its arenas, and the lock under which they change.
//!
//! All zeroes is a region of no session, so a forked child, whose parent's is wiped, begins with none.

use crate::arena::{Arena, Extent, Source};
use crate::lock::{Held, Lock};
use crate::session::SessionPath;
use crate::sys;
use crate::trie::Growth;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heapwise_trace::live::layout::{
    ARENA_BYTES, Bucket, MAX_ARENAS, NODES_PER_CHUNK, NodeRecord, ProcessHeader, SESSION_BYTES, SessionHeader,
};

/// A process's part of a session.
#[derive(Debug)]
#[repr(C)]
pub struct Region {
    session: AtomicPtr<SessionHeader>,
    header: AtomicPtr<ProcessHeader>,
    /// Where the session is; null if that is not known and its header is mapped.
    path: AtomicPtr<SessionPath>,
    /// Taken on the rare paths.
    lock: Lock,
    arena: Arena,
    arena_count: AtomicUsize,
}

impl Region {
    /// Of no session.
    pub const fn new() -> Self {
        Self {
            session: AtomicPtr::new(core::ptr::null_mut()),
            header: AtomicPtr::new(core::ptr::null_mut()),
            path: AtomicPtr::new(core::ptr::null_mut()),
            lock: Lock::new(),
            arena: Arena::none(),
            arena_count: AtomicUsize::new(0),
        }
    }

    /// The session's header; `None` before it was found.
    pub fn session(&self) -> Option<&'static SessionHeader> {
        // SAFETY: null, or the header of a session, which is never unmapped; all its fields are atomics.
        unsafe { self.session.load(Ordering::Acquire).as_ref() }
    }

    /// This process's header; `None` before there is one.
    pub fn header(&self) -> Option<&'static ProcessHeader> {
        // SAFETY: null, or points to a header in an arena that is never unmapped; all its fields are atomics.
        unsafe { self.header.load(Ordering::Acquire).as_ref() }
    }

    /// Belongs to this session from now on.
    pub fn join(
        &self,
        _held: &Held<'_>,
        session: &'static SessionHeader,
        path: Option<&'static SessionPath>,
    ) {
        let path = path.map_or(core::ptr::null(), core::ptr::from_ref);
        self.path.store(path.cast_mut(), Ordering::Relaxed);
        self.session.store(core::ptr::from_ref(session).cast_mut(), Ordering::Release);
    }

    /// Makes the process's header. Also says where it lies in the session.
    pub fn make_header(&self, held: &Held<'_>) -> Option<(&'static ProcessHeader, u64)> {
        let extent = self.allocate(held, size_of::<ProcessHeader>())?;
        // SAFETY: the extent is large enough, zeroed, aligned to a page, never unmapped and ours alone until it is
        // published; all fields are atomics.
        let header = unsafe { &*extent.at.cast::<ProcessHeader>() };
        header.arenas[0].store(extent.offset, Ordering::Relaxed);
        self.header.store(core::ptr::from_ref(header).cast_mut(), Ordering::Release);
        Some((header, extent.offset))
    }

    /// Takes the lock; `None` if its holder does not go on.
    pub fn hold(&self) -> Option<Held<'_>> {
        self.lock.acquire()
    }

    /// Takes zeroed memory of the session, aligned to a page.
    pub fn allocate(&self, _held: &Held<'_>, len: usize) -> Option<Extent> {
        let len = len.next_multiple_of(sys::PAGE);
        if !self.arena.has(len) {
            self.next_arena(len)?;
        }
        self.arena.take(len)
    }

    /// Maps memory of the session before it is needed.
    pub fn map_ahead(&self) {
        if let Some(_held) = self.hold() {
            self.arena.map_ahead();
        }
    }

    /// Ends the collector's sleep.
    pub fn wake_collector(&self) {
        if let Some(session) = self.session() {
            let wake = &session.wake.0;
            if wake.load(Ordering::Relaxed) == 1 && wake.swap(0, Ordering::AcqRel) == 1 {
                sys::futex_wake(wake);
            }
        }
    }

    /// The session's clock with its flags; 0 before a session was found.
    pub fn clock(&self) -> u64 {
        self.session().map_or(0, |session| session.clock.0.load(Ordering::Acquire))
    }

    fn next_arena(&self, needed: usize) -> Option<()> {
        let count = self.arena_count.load(Ordering::Relaxed);
        if count == MAX_ARENAS {
            return None;
        }
        // SAFETY: null, or a path that was given for the rest of the process's life.
        let path = unsafe { self.path.load(Ordering::Relaxed).as_ref() };
        let from = match path {
            Some(path) => Source::File(path.open().ok()?),
            None => Source::Mapped(self.session()?),
        };
        let offset = self.session()?.next_arena.0.fetch_add(ARENA_BYTES, Ordering::Relaxed);
        let end = offset.checked_add(ARENA_BYTES)?;
        if end > SESSION_BYTES || needed > ARENA_BYTES as usize {
            return None;
        }
        self.arena.begin(&from, offset, needed)?;
        self.arena_count.store(count + 1, Ordering::Relaxed);
        if let Some(header) = self.header() {
            header.arenas[count].store(offset, Ordering::Release);
        }
        Some(())
    }
}

impl Default for Region {
    fn default() -> Self {
        Self::new()
    }
}

impl Growth for Region {
    type Held<'a> = Held<'a>;

    fn node_count(&self) -> Option<&AtomicU32> {
        Some(&self.header()?.node_count)
    }

    fn hold(&self) -> Option<Held<'_>> {
        self.hold()
    }

    fn table(&self, held: &Held<'_>, index: usize, buckets: usize) -> Option<*mut Bucket> {
        let extent = self.allocate(held, size_of::<Bucket>() * buckets)?;
        self.header()?.index_tables[index].store(extent.offset, Ordering::Release);
        Some(extent.at.cast())
    }

    fn chunk(&self, held: &Held<'_>, index: usize) -> Option<*mut NodeRecord> {
        let extent = self.allocate(held, size_of::<NodeRecord>() * NODES_PER_CHUNK as usize)?;
        self.header()?.node_chunks[index].store(extent.offset, Ordering::Release);
        Some(extent.at.cast())
    }
}
