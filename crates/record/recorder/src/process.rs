//! The state of the recorder in this process.
//!
//! It lies in pages that the kernel hands to a forked child *zeroed* (`MADV_WIPEONFORK`). So a child finds itself
//! unattached at its first event, however it was made (`fork`, `_Fork`, a raw system call), and joins the session as
//! a process of its own. A child of `vfork` shares its parent's memory and records as its parent, which is stopped.

use crate::address_space;
use crate::arena::{Arena, Extent};
use crate::confined;
use crate::lock::{Held, Lock};
use crate::mappings;
use crate::marks::MarkNames;
use crate::session::{self, Refusal, SessionPath};
use crate::sys;
use crate::trie::Trie;
use crate::unwind::modules;
use crate::wrapped;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use heapwise_trace::live::layout::{
    ARENA_BYTES, CLOCK_EPOCH_MASK, COMMAND_BYTES, MAX_ARENAS, MAX_RINGS, MODULE_LOG_BYTES, ProcessHeader,
    RingHeader, SESSION_BYTES, SessionHeader,
};

/// Everything that a forked child must not inherit. All zeroes is a valid, unattached state.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct ProcessState {
    /// The session's clock; null while this process is not attached. The first thing that every event reads.
    pub clock: AtomicPtr<AtomicU64>,
    /// This process's header in the session; valid when `clock` is.
    header: AtomicPtr<ProcessHeader>,
    session: AtomicPtr<SessionHeader>,
    /// How often modules were unloaded; see [`modules`].
    pub generation: AtomicU32,
    /// Non-zero: attaching failed or is not wanted; do not try again.
    inert: AtomicU32,
    /// Taken on the rare paths.
    pub lock: Lock,
    /// Non-zero: `/proc`, through which the collector is reached, has other ids than this process's pid namespace.
    in_namespace: AtomicU32,
    /// Whether more than one thread has recorded, so that threads must advance the clock themselves.
    pub threaded: AtomicU32,
    /// Captures since the last comparison with a full unwind.
    pub verify_countdown: AtomicU32,
    arena: Arena,
    arena_count: AtomicUsize,
    /// Where the rings are mapped here, in the order of the header's list.
    pub rings: [AtomicPtr<RingHeader>; MAX_RINGS],
    /// The trie's pointers into the arenas.
    pub trie: Trie,
    /// Which modules the collector has been told of.
    pub published: modules::Published,
    /// The names of this process's marks.
    pub marks: MarkNames,
}

/// This process's state.
pub static PROCESS: ProcessState = ProcessState {
    clock: AtomicPtr::new(core::ptr::null_mut()),
    header: AtomicPtr::new(core::ptr::null_mut()),
    session: AtomicPtr::new(core::ptr::null_mut()),
    generation: AtomicU32::new(0),
    inert: AtomicU32::new(0),
    lock: Lock::new(),
    in_namespace: AtomicU32::new(0),
    threaded: AtomicU32::new(0),
    verify_countdown: AtomicU32::new(0),
    arena: Arena::none(),
    arena_count: AtomicUsize::new(0),
    rings: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_RINGS],
    trie: Trie::new(),
    published: modules::Published::new(),
    marks: MarkNames::new(),
};

/// What a forked child does inherit.
struct Inherited {
    /// Where the session is. Set once, under the lock.
    path: UnsafeCell<Option<SessionPath>>,
    path_known: AtomicU32,
    /// Offset of the header of the process that this one is, or was forked from.
    header_offset: AtomicU64,
    /// The session's header as this process or its parent mapped it: a child that cannot open the file any more can
    /// still say so.
    session: AtomicPtr<SessionHeader>,
    /// Counts attachments along the line of forks, so that a thread's state can tell that it is its parent's.
    attachments: AtomicU32,
}

// SAFETY: `path` is written once, under `PROCESS.lock`, before `path_known` is set with release ordering, and only
// read after that was seen.
unsafe impl Sync for Inherited {}

static INHERITED: Inherited = Inherited {
    path: UnsafeCell::new(None),
    path_known: AtomicU32::new(0),
    header_offset: AtomicU64::new(0),
    session: AtomicPtr::new(core::ptr::null_mut()),
    attachments: AtomicU32::new(0),
};

/// What came of joining the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    Yes,
    /// There is no session, or not this process is to be recorded.
    Unwanted,
    /// There is one, and it could not be joined.
    Refused,
}

impl ProcessState {
    /// This process's header; `None` if it is not attached.
    pub fn header(&self) -> Option<&'static ProcessHeader> {
        // SAFETY: null, or points to a header in an arena that is never unmapped; all its fields are atomics.
        unsafe { self.header.load(Ordering::Acquire).as_ref() }
    }

    /// The session's header; `None` if this process is not attached.
    pub fn session(&self) -> Option<&'static SessionHeader> {
        // SAFETY: as for `header`.
        unsafe { self.session.load(Ordering::Acquire).as_ref() }
    }

    /// Whether there is no session to record for.
    pub fn is_inert(&self) -> bool {
        self.inert.load(Ordering::Relaxed) != 0
    }

    /// Gives up for good: the collector is gone.
    pub fn become_inert(&self) {
        self.inert.store(1, Ordering::Relaxed);
        self.clock.store(core::ptr::null_mut(), Ordering::Release);
    }

    /// The calling thread's id as the collector knows it; 0 if that cannot be found out.
    pub fn thread_id(&self) -> u32 {
        match self.in_namespace.load(Ordering::Relaxed) {
            0 => sys::thread_id(),
            _ => sys::thread_id_in_proc().unwrap_or(0),
        }
    }

    /// Whether the collector is known to be gone.
    pub fn collector_is_gone(&self, session: &SessionHeader) -> bool {
        if self.in_namespace.load(Ordering::Relaxed) == 0 {
            return sys::is_gone(session.collector_pid.load(Ordering::Relaxed));
        }
        // Its id means somebody else here, or nobody: it is looked for where it was found.
        // SAFETY: the path was set before this process was attached and does not change.
        let path = unsafe { (*INHERITED.path.get()).as_ref() };
        let is_missing = path.is_some_and(|path| path.open().err() == Some(sys::ENOENT));
        is_missing && sys::id_in_proc().is_some()
    }

    /// A number that differs between a process and its forked children.
    pub fn stamp(&self) -> u32 {
        INHERITED.attachments.load(Ordering::Relaxed)
    }

    /// Counts an event that had no ring to be counted in.
    pub fn count_lost(&self) {
        if let Some(header) = self.header() {
            header.lost_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Joins the session, if there is one and it was not joined. Returns whether this process is attached.
    ///
    /// The caller has set the thread's guard, so nothing in here is recorded.
    pub fn attach(&self) -> bool {
        if !self.clock.load(Ordering::Acquire).is_null() {
            return true;
        }
        if self.is_inert() {
            return false;
        }
        let Some(held) = self.lock.acquire() else { return false };
        if !self.clock.load(Ordering::Acquire).is_null() {
            return true;
        }
        let joined = self.join(&held);
        if joined == Joined::Refused {
            // SAFETY: null, or the session's header, which is never unmapped and consists of atomics.
            if let Some(session) = unsafe { INHERITED.session.load(Ordering::Relaxed).as_ref() } {
                session.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        if joined != Joined::Yes {
            self.inert.store(1, Ordering::Relaxed);
        }
        joined == Joined::Yes
    }

    fn join(&self, held: &Held<'_>) -> Joined {
        if wrapped::is_left_to_the_program() {
            return Joined::Unwanted;
        }
        let Some(path) = session_path(held) else { return Joined::Unwanted };
        let session = match path.open().map_err(Refusal::System).and_then(|file| session::map(&file)) {
            Ok(session) => core::ptr::from_ref(session).cast_mut(),
            Err(Refusal::System(_) | Refusal::Foreign) => return Joined::Refused,
        };
        INHERITED.session.store(session, Ordering::Relaxed);
        self.session.store(session, Ordering::Release);
        let Some(session) = self.session() else { return Joined::Refused };
        confined::look();
        address_space::look();
        let pid = sys::process_id();
        let only = session.only_pid.load(Ordering::Relaxed);
        if only != 0 && only != pid {
            return Joined::Unwanted;
        }
        // Without this a child would write into its parent's rings: better not to record at all.
        if sys::wipe_on_fork(core::ptr::from_ref(self).cast_mut().cast(), size_of::<Self>()).is_err() {
            return Joined::Refused;
        }
        match self.lay_out(held, session, pid) {
            Some(()) => Joined::Yes,
            None => Joined::Refused,
        }
    }

    /// Makes and publishes this process's part of the session; `None` if there is no memory.
    fn lay_out(&self, held: &Held<'_>, session: &SessionHeader, pid: u32) -> Option<()> {
        let extent = self.allocate(held, size_of::<ProcessHeader>())?;
        // SAFETY: the extent is large enough, zeroed, aligned to a page, never unmapped and ours alone until it is
        // published; all fields are atomics.
        let header = unsafe { &*extent.at.cast::<ProcessHeader>() };
        header.arenas[0].store(extent.offset, Ordering::Relaxed);
        self.header.store(core::ptr::from_ref(header).cast_mut(), Ordering::Release);
        self.describe(held, header, pid, session);
        self.trie.begin(held)?;
        publish(session, header, extent.offset);
        INHERITED.header_offset.store(extent.offset, Ordering::Relaxed);
        INHERITED.attachments.fetch_add(1, Ordering::Relaxed);
        self.clock.store(session.clock.0.as_ptr().cast(), Ordering::Release);
        modules::publish_all(held);
        Some(())
    }

    fn describe(&self, held: &Held<'_>, header: &ProcessHeader, pid: u32, session: &SessionHeader) {
        // The collector has been found through `/proc`, so it is the collector's, with the ids that it knows.
        let known_as = sys::id_in_proc().unwrap_or(pid);
        let in_namespace = known_as != pid;
        self.in_namespace.store(u32::from(in_namespace), Ordering::Relaxed);
        let parent = if in_namespace { sys::parent_id_in_proc() } else { None };
        header.pid.store(known_as, Ordering::Relaxed);
        header.parent_pid.store(parent.unwrap_or_else(sys::parent_id), Ordering::Relaxed);
        header.forked_from.store(INHERITED.header_offset.load(Ordering::Relaxed), Ordering::Relaxed);
        let clock = session.clock.0.load(Ordering::Relaxed);
        header.start_epoch.store(clock & CLOCK_EPOCH_MASK, Ordering::Relaxed);
        header.node_count.store(1, Ordering::Relaxed);
        let verify = session.verify_every.load(Ordering::Relaxed);
        self.verify_countdown.store(verify, Ordering::Relaxed);
        let mut command = [0u8; 512];
        let mut len = 0;
        if let Ok(file) = sys::File::open(c"/proc/self/cmdline") {
            while len < COMMAND_BYTES {
                let Ok(n) = file.read(&mut command) else { break };
                if n == 0 {
                    break;
                }
                len += store_bytes(&header.command[len..], &command[..n]);
            }
        }
        header.command_len.store(len as u32, Ordering::Relaxed);
        header.no_clock.store(u32::from(confined::is_clock_forbidden()), Ordering::Relaxed);
        self.describe_allocator(header);
        mappings::publish(header);
        if let Some(log) = self.allocate(held, MODULE_LOG_BYTES) {
            header.module_log.store(log.offset, Ordering::Release);
            self.published.begin(log.at);
        }
    }

    /// Tells the collector which object provides the real allocator, as soon as that is known.
    pub fn describe_allocator(&self, header: &ProcessHeader) {
        crate::real::identify();
        if let Some(name) = crate::real::allocator_name() {
            let len = store_bytes(&header.allocator, name);
            header.allocator_len.store(len as u32, Ordering::Release);
        }
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
        if let Some(_held) = self.lock.acquire() {
            self.arena.map_ahead();
        }
    }

    fn next_arena(&self, needed: usize) -> Option<()> {
        let count = self.arena_count.load(Ordering::Relaxed);
        if count == MAX_ARENAS {
            return None;
        }
        // SAFETY: the path was set before the first arena was asked for and does not change.
        let path = unsafe { (*INHERITED.path.get()).as_ref() }?;
        let file = path.open().ok()?;
        let offset = self.session()?.next_arena.0.fetch_add(ARENA_BYTES, Ordering::Relaxed);
        if offset + ARENA_BYTES > SESSION_BYTES || needed > ARENA_BYTES as usize {
            return None;
        }
        self.arena.begin(&file, offset, needed)?;
        self.arena_count.store(count + 1, Ordering::Relaxed);
        if let Some(header) = self.header() {
            header.arenas[count].store(offset, Ordering::Release);
        }
        Some(())
    }
}

/// Says where the session is, for a program that makes one itself. Returns whether none was known before.
pub fn set_session_path(path: &[u8]) -> bool {
    let Some(_held) = PROCESS.lock.acquire() else { return false };
    let Some(path) = SessionPath::new(path) else { return false };
    if INHERITED.path_known.load(Ordering::Acquire) != 0 {
        return false;
    }
    // SAFETY: written under the lock, once, before anybody reads it.
    unsafe { *INHERITED.path.get() = Some(path) };
    INHERITED.path_known.store(1, Ordering::Release);
    true
}

fn session_path(_held: &Held<'_>) -> Option<&'static SessionPath> {
    if INHERITED.path_known.load(Ordering::Acquire) == 0 {
        let path = SessionPath::from_environment()?;
        // SAFETY: written under the lock, once, before anybody reads it.
        unsafe { *INHERITED.path.get() = Some(path) };
        INHERITED.path_known.store(1, Ordering::Release);
    }
    // SAFETY: written before `path_known` was set, and never again.
    unsafe { (*INHERITED.path.get()).as_ref() }
}

fn publish(session: &SessionHeader, header: &ProcessHeader, offset: u64) {
    let newest = &session.newest_process.0;
    let mut previous = newest.load(Ordering::Acquire);
    loop {
        header.previous.store(previous, Ordering::Relaxed);
        match newest.compare_exchange_weak(previous, offset, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => previous = now,
        }
    }
}

/// Copies as many bytes as there is room for; returns how many.
fn store_bytes(to: &[AtomicU8], from: &[u8]) -> usize {
    to.iter().zip(from).map(|(to, &from)| to.store(from, Ordering::Relaxed)).count()
}
