//! The state of the recorder in this process.
//!
//! It lies in pages that the kernel hands to a forked child *zeroed* (`MADV_WIPEONFORK`). So a child finds itself
//! unattached at its first event, however it was made (`fork`, `_Fork`, a raw system call), and joins the session as
//! a separate process. A child of `vfork` shares its parent's memory and records as its parent, which is stopped.

use crate::inside::asked::Asked;
use crate::lock::Held;
use crate::mark_names::MarkNames;
use crate::region::Region;
use crate::ring::{Patience, Waiting};
use crate::sampled::Sampled;
use crate::session::{self, Refusal, SessionPath};
use crate::silence::Silence;
use crate::trie::Trie;
use crate::unwind::module;
use crate::unwind::module_log::ModuleLog;
use crate::{address_space, allocator_mappings, confined, placement, real, stopwatch, sys};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ops::Deref;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use heapwise_trace::event::StackId;
use heapwise_trace::live::layout::{
    CLOCK_EPOCH_MASK, COMMAND_BYTES, MAX_RINGS, MODULE_LOG_BYTES, ProcessHeader, RingHeader, SessionHeader,
};
use heapwise_trace::live::node::ADDRESS_MASK;
use heapwise_trace::sampling::countdown::Distance;

/// All blocks, as far as is known before the process has joined its session.
pub const EVERYTHING: u32 = 0;
/// A sample of the blocks.
pub const A_SAMPLE: u32 = 1;
/// Attaching failed or is not wanted, or the collector is gone; do not try again.
pub const NOTHING: u32 = 2;

/// Everything that a forked child must not inherit. All zeroes is a valid, unattached state.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct ProcessState {
    /// The session's clock; null while this process is not attached. The first thing that every event reads.
    pub clock: AtomicPtr<AtomicU64>,
    /// What is recorded: [`EVERYTHING`], [`A_SAMPLE`] or [`NOTHING`].
    recorded: AtomicU32,
    /// Non-zero: `/proc`, through which the collector is reached, has other ids than this process's pid namespace.
    in_namespace: AtomicU32,
    /// This process's id, as itself knows it.
    id: AtomicU32,
    /// Whether more than one thread has recorded, so that threads must advance the clock themselves.
    pub threaded: AtomicU32,
    /// Captures since the last comparison with a full unwind.
    pub verify_countdown: AtomicU32,
    /// The [`Distance`] between two recorded blocks; 0 if all are recorded.
    sample: AtomicU32,
    /// The memory of the session that is this process's.
    pub region: Region,
    /// Where the rings are mapped here, in the order of the header's list.
    pub rings: [AtomicPtr<RingHeader>; MAX_RINGS],
    /// The stacks.
    pub trie: Trie,
    /// Modules that were reported to the collector.
    pub modules: ModuleLog,
    /// The names of this process's marks.
    pub marks: MarkNames,
    /// Functions of allocators inside of the program.
    pub asked: Asked,
    /// Of the collector.
    silence: Silence,
}

/// A recorder in a process: its state, and what is left of that in a forked child.
#[derive(Debug)]
#[repr(C)]
pub struct Process {
    /// Wiped in a forked child, so it lies in separate pages.
    state: ProcessState,
    inherited: Inherited,
}

/// The recorder of this process. Tests make more of them.
pub static PROCESS: Process = Process::new();

impl Deref for Process {
    type Target = ProcessState;

    #[inline(always)]
    fn deref(&self) -> &ProcessState {
        &self.state
    }
}

/// What a forked child does inherit.
#[derive(Debug)]
struct Inherited {
    /// Where the session is. Set once, under the lock.
    path: UnsafeCell<Option<SessionPath>>,
    path_known: AtomicU32,
    /// Offset of the header of the process that this one is, or was forked from.
    header_offset: AtomicU64,
    /// The session's header as this process or its parent mapped it: a child that cannot open the file any more can
    /// still say so.
    session: AtomicPtr<SessionHeader>,
    /// Non-zero if the header was mapped from outside, and there is no path.
    is_given: AtomicU32,
    /// Non-zero if this process has other ids than the collector knows it and its threads by.
    has_other_ids: AtomicU32,
    /// Counts attachments along the line of forks, so that a thread's state shows whether it is its parent's.
    attachments: AtomicU32,
    /// The blocks that are recorded, of a sample.
    sampled: Sampled,
}

// SAFETY: `path` is written once, under the region's lock, before `path_known` is set with release ordering, and only
// read after that was seen.
unsafe impl Sync for Inherited {}

impl Inherited {
    /// Where the session is, if that is known.
    fn path(&self) -> Option<&SessionPath> {
        if self.path_known.load(Ordering::Acquire) == 0 {
            return None;
        }
        // SAFETY: written before `path_known` was set, and never again.
        unsafe { (*self.path.get()).as_ref() }
    }

    /// Notes where the session is. Returns whether that was not known.
    fn set_path(&self, _held: &Held<'_>, path: SessionPath) -> bool {
        if self.path_known.load(Ordering::Acquire) != 0 {
            return false;
        }
        // SAFETY: written under the lock, once, before any thread reads it.
        unsafe { *self.path.get() = Some(path) };
        self.path_known.store(1, Ordering::Release);
        true
    }
}

/// What came of joining the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    Yes,
    /// There is no session, or not this process is to be recorded.
    Unwanted,
    /// There is one, and it could not be joined.
    Refused,
}

impl Process {
    /// A recorder that has not joined a session, nor looked for one.
    pub const fn new() -> Self {
        let state = ProcessState {
            clock: AtomicPtr::new(core::ptr::null_mut()),
            recorded: AtomicU32::new(EVERYTHING),
            in_namespace: AtomicU32::new(0),
            id: AtomicU32::new(0),
            threaded: AtomicU32::new(0),
            verify_countdown: AtomicU32::new(0),
            sample: AtomicU32::new(0),
            region: Region::new(),
            rings: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_RINGS],
            trie: Trie::new(),
            modules: ModuleLog::new(),
            marks: MarkNames::new(),
            asked: Asked::new(),
            silence: Silence::new(),
        };
        let inherited = Inherited {
            path: UnsafeCell::new(None),
            path_known: AtomicU32::new(0),
            header_offset: AtomicU64::new(0),
            session: AtomicPtr::new(core::ptr::null_mut()),
            is_given: AtomicU32::new(0),
            has_other_ids: AtomicU32::new(0),
            attachments: AtomicU32::new(0),
            sampled: Sampled::new(),
        };
        Self { state, inherited }
    }

    /// This process's header; `None` if it is not attached.
    pub fn header(&self) -> Option<&'static ProcessHeader> {
        self.region.header()
    }

    /// The session's header; `None` if this process is not attached.
    pub fn session(&self) -> Option<&'static SessionHeader> {
        self.region.session()
    }

    /// The session's header as this process or one that it was forked from has mapped it, attached or not.
    pub fn session_of_line(&self) -> Option<&'static SessionHeader> {
        // SAFETY: null, or the session's header, which is never unmapped and consists of atomics.
        unsafe { self.inherited.session.load(Ordering::Acquire).as_ref() }
    }

    /// Where the session is, if that is known.
    pub fn session_path(&self) -> Option<&CStr> {
        self.inherited.path().map(SessionPath::as_c_str)
    }

    /// Whether there is no session to record for.
    #[inline(always)]
    pub fn is_inert(&self) -> bool {
        self.recorded.load(Ordering::Relaxed) == NOTHING
    }

    /// Whether the caller runs in this process, and not in one that shares its memory for a while.
    pub fn is_this_one(&self) -> bool {
        self.id.load(Ordering::Relaxed) == sys::process_id()
    }

    /// Gives up for good: the collector is gone.
    fn become_inert(&self) {
        self.recorded.store(NOTHING, Ordering::Relaxed);
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
        if self.has_other_ids() {
            return self.silence.is_long(session.rounds.load(Ordering::Relaxed), confined::ticks());
        }
        if self.in_namespace.load(Ordering::Relaxed) == 0 {
            return sys::is_gone(session.collector_pid.load(Ordering::Relaxed));
        }
        // In this namespace its id means another process, or none: it is looked for where it was found.
        let is_missing = self.inherited.path().is_some_and(|path| path.open().err() == Some(sys::ENOENT));
        is_missing && sys::id_in_proc().is_some()
    }

    /// Whether the collector knows this process and its threads by other ids, which nothing says in here.
    fn has_other_ids(&self) -> bool {
        self.inherited.has_other_ids.load(Ordering::Relaxed) != 0
    }

    /// A number that differs between a process and its forked children.
    pub fn stamp(&self) -> u32 {
        self.inherited.attachments.load(Ordering::Relaxed)
    }

    /// Whether only a sample of the blocks is recorded.
    #[inline(always)]
    pub fn is_sampling(&self) -> bool {
        // Also in a turn during which the process stops to be recorded.
        self.sample_distance() != Distance::default()
    }

    /// How many bytes lie between two recorded blocks.
    #[inline(always)]
    pub fn sample_distance(&self) -> Distance {
        Distance::from_bits(self.sample.load(Ordering::Relaxed))
    }

    /// [`EVERYTHING`], [`A_SAMPLE`] or [`NOTHING`].
    #[inline(always)]
    pub fn recorded(&self) -> u32 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// The blocks that are recorded, where only a sample is.
    #[inline(always)]
    pub fn sampled(&self) -> &Sampled {
        &self.inherited.sampled
    }

    /// Moves the clock on.
    #[inline(never)]
    pub fn move_clock(&self) {
        if let Some(session) = self.session() {
            session.clock.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Counts an event that had no ring to be counted in.
    pub fn count_lost(&self) {
        if let Some(header) = self.header() {
            header.lost_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The node for `key` called from `parent`. Stacks are recorded without the frames of the preload library itself:
    /// these have their caller's node.
    #[inline(never)]
    pub fn node(&self, parent: StackId, key: u64) -> StackId {
        if real::is_own_code((key & ADDRESS_MASK) as usize) {
            return parent;
        }
        self.trie.node(&self.region, parent, key)
    }

    /// Says where the session is, for a program that makes one itself. Returns whether none was known before.
    pub fn set_session_path(&self, path: &[u8]) -> bool {
        let Some(held) = self.region.hold() else { return false };
        SessionPath::new(path).is_some_and(|path| self.inherited.set_path(&held, path))
    }

    /// Notes where the header of a session is mapped, for a process into which that was done from outside.
    ///
    /// # Safety
    /// It is one, and stays mapped for the rest of the process's life.
    pub unsafe fn give_session(&self, header: *mut SessionHeader, has_other_ids: bool) {
        self.inherited.session.store(header, Ordering::Release);
        self.inherited.has_other_ids.store(u32::from(has_other_ids), Ordering::Relaxed);
        self.inherited.is_given.store(1, Ordering::Release);
    }

    /// Whether a session was given.
    pub fn has_given_session(&self) -> bool {
        self.inherited.is_given.load(Ordering::Acquire) != 0
    }

    /// Records nothing any more, for good.
    pub fn leave(&self) {
        self.become_inert();
    }

    /// The session's header, and its path if that is needed to map more of it.
    fn find_session(
        &self,
        held: &Held<'_>,
    ) -> Result<(&'static SessionHeader, Option<&SessionPath>), Joined> {
        if self.has_given_session() {
            let session = self.session_of_line().filter(|session| session::is_ours(session));
            return session.map(|session| (session, None)).ok_or(Joined::Refused);
        }
        if placement::is_left_to_the_program() {
            return Err(Joined::Unwanted);
        }
        if self.inherited.path().is_none()
            && let Some(path) = SessionPath::from_environment()
        {
            self.inherited.set_path(held, path);
        }
        let path = self.inherited.path().ok_or(Joined::Unwanted)?;
        let mapped = path.open().map_err(Refusal::System).and_then(|file| session::map(&file));
        mapped.map(|session| (session, Some(path))).map_err(|_| Joined::Refused)
    }

    /// Joins the session, if there is one and it was not joined. Returns whether this process is attached.
    ///
    /// The caller has set the thread's guard, so nothing in here is recorded.
    pub fn attach(&'static self) -> bool {
        if !self.clock.load(Ordering::Acquire).is_null() {
            return true;
        }
        if self.is_inert() {
            return false;
        }
        let Some(held) = self.region.hold() else { return false };
        if !self.clock.load(Ordering::Acquire).is_null() {
            return true;
        }
        // Another thread may have found out meanwhile.
        if self.is_inert() {
            return false;
        }
        let joined = self.join(&held);
        if joined == Joined::Refused
            && let Some(session) = self.session_of_line()
        {
            session.refused.fetch_add(1, Ordering::Relaxed);
        }
        if joined != Joined::Yes {
            self.recorded.store(NOTHING, Ordering::Relaxed);
        }
        joined == Joined::Yes
    }

    fn join(&'static self, held: &Held<'_>) -> Joined {
        let (session, path) = match self.find_session(held) {
            Ok(found) => found,
            Err(why) => return why,
        };
        self.inherited.session.store(core::ptr::from_ref(session).cast_mut(), Ordering::Release);
        self.region.join(held, session, path);
        confined::look();
        address_space::look();
        let pid = sys::process_id();
        let only = session.only_pid.load(Ordering::Relaxed);
        if only != 0 && only != pid {
            return Joined::Unwanted;
        }
        // Without this a child would write into its parent's rings: better not to record at all.
        let state = core::ptr::from_ref(&self.state).cast_mut();
        if sys::wipe_on_fork(state.cast(), size_of::<ProcessState>()).is_err() {
            return Joined::Refused;
        }
        match self.lay_out(held, session, pid) {
            Some(()) => Joined::Yes,
            None => Joined::Refused,
        }
    }

    /// Makes and publishes this process's part of the session; `None` if there is no memory.
    fn lay_out(&self, held: &Held<'_>, session: &SessionHeader, pid: u32) -> Option<()> {
        let (header, offset) = self.region.make_header(held)?;
        self.describe(held, header, pid, session);
        self.trie.begin(&self.region, held)?;
        let distance = Distance::of_log2(session.sample_log2.load(Ordering::Relaxed));
        if distance != Distance::default() {
            self.inherited.sampled.begin(1 << distance.log2())?;
            self.sample.store(distance.to_bits(), Ordering::Relaxed);
            self.recorded.store(A_SAMPLE, Ordering::Release);
        }
        publish(session, header, offset);
        self.inherited.header_offset.store(offset, Ordering::Relaxed);
        self.inherited.attachments.fetch_add(1, Ordering::Relaxed);
        self.clock.store(session.clock.0.as_ptr().cast(), Ordering::Release);
        for (index, module) in module::all_known(self.region.clock()) {
            self.modules.publish(held, &self.region, index, &module);
        }
        Some(())
    }

    fn describe(&self, held: &Held<'_>, header: &ProcessHeader, pid: u32, session: &SessionHeader) {
        // The collector has been found through `/proc`, so it is the collector's, with the ids that it knows.
        let known_as = sys::id_in_proc().filter(|_| !self.has_other_ids()).unwrap_or(pid);
        let in_namespace = known_as != pid;
        self.id.store(pid, Ordering::Relaxed);
        self.in_namespace.store(u32::from(in_namespace), Ordering::Relaxed);
        let parent = if in_namespace { sys::parent_id_in_proc() } else { None };
        header.pid.store(known_as, Ordering::Relaxed);
        header.parent_pid.store(parent.unwrap_or_else(sys::parent_id), Ordering::Relaxed);
        header.forked_from.store(self.inherited.header_offset.load(Ordering::Relaxed), Ordering::Relaxed);
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
        header.is_in_program.store(u32::from(placement::is_in_program()), Ordering::Relaxed);
        header.no_clock.store(u32::from(confined::is_clock_forbidden()), Ordering::Relaxed);
        self.describe_allocator(header);
        allocator_mappings::publish(header);
        if let Some((start, end)) = real::own_image() {
            header.own_memory[0].store(start as u64, Ordering::Relaxed);
            header.own_memory[1].store(end as u64, Ordering::Relaxed);
        }
        if let Some(log) = self.region.allocate(held, MODULE_LOG_BYTES) {
            header.module_log.store(log.offset, Ordering::Release);
            self.modules.begin(log.at);
        }
    }

    /// Reports to the collector which object provides the real allocator, as soon as that is known.
    pub fn describe_allocator(&self, header: &ProcessHeader) {
        real::identify();
        if let Some(name) = real::allocator_name() {
            let len = store_bytes(&header.allocator, name);
            header.allocator_len.store(len as u32, Ordering::Release);
        }
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

/// How long a step of waiting for room takes.
const WAIT_STEP_NS: u64 = 5_000_000;

impl Waiting for Process {
    fn looked_up(&self, head: u64, is_first: bool) {
        // Of a sample, the time in the allocator is not known.
        if !self.is_sampling() {
            stopwatch::choose(head, is_first);
        }
        // The clock orders threads only as finely as it moves, so busy threads move it.
        if self.threaded.load(Ordering::Relaxed) != 0 {
            self.move_clock();
        }
    }

    fn wake_collector(&self) {
        self.region.wake_collector();
    }

    fn patience(&self) -> Patience {
        match (self.session(), confined::is_strict()) {
            (None, _) => Patience::None,
            (_, true) => Patience::Spin,
            (_, false) => Patience::Sleep,
        }
    }

    fn sleep(&self, tail: &AtomicU64, seen: u64) -> bool {
        // SAFETY: the low half of an aligned 64-bit atomic is an aligned 32-bit one on a little-endian machine, and
        // only the kernel looks at it.
        let word = unsafe { &*tail.as_ptr().cast::<AtomicU32>() };
        sys::futex_wait(word, seen as u32, WAIT_STEP_NS)
    }

    fn is_over(&self) -> bool {
        let Some(session) = self.session() else { return true };
        // A recording that was ended is not over: what was called before its end is still read, and there is room for it then. Others may
        // have recorded what depends on it, as who got the address from which a block was moved.
        let is_gone = self.collector_is_gone(session);
        if is_gone {
            self.become_inert();
        }
        is_gone
    }
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
