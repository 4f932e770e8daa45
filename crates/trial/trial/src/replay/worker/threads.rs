//! Threads of the replay: one for each recorded thread, started where it was started and ended where it ended.

use super::memory::Memory;
use super::{requests, wait};
use crate::replay::script::record::Record;
use crate::replay::shared::{NO_THREAD, NOT_RUNNING, PLACES};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

/// What a thread does: goes through its stream.
pub(super) type Stream = fn(&Memory, usize) -> Ending;

/// How the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// So does the thread.
    Ends,
    /// The thread stays.
    Stays,
}

/// Set before any thread is started.
static STREAM: OnceLock<Stream> = OnceLock::new();
/// The memory, for threads that are started.
static MEMORY: AtomicPtr<Memory> = AtomicPtr::new(std::ptr::null_mut());
/// When the replay began.
static BEGINNING: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Nanoseconds of the clock that never goes back.
fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Replays everything. The first thread of the script is the calling one, which must be the first of the process: some
/// allocators treat it differently.
pub(super) fn run(memory: &Memory, stream: Stream) {
    // Nothing is allocated for that.
    let _ = STREAM.set(stream);
    MEMORY.store(std::ptr::from_ref(memory).cast_mut(), Ordering::Release);
    let header = memory.header();
    wait::prepare();
    header.is_ready.store(1, Ordering::Release);
    while header.begin.load(Ordering::Acquire) == 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
    BEGINNING.store(now_ns(), Ordering::Release);
    let is_first = |thread: &usize| memory.thread(*thread).is_spawned.load(Ordering::Relaxed) == 0;
    // Gone through again each time, since a list of them would lie on the heap that is looked at.
    let first = || (0..memory.n_threads()).filter(is_first);
    for thread in first() {
        memory.progress()[thread].store(0, Ordering::Release);
        header.running.fetch_add(1, Ordering::AcqRel);
    }
    for thread in first().filter(|&thread| thread != 0) {
        start(memory, thread);
    }
    if first().next() == Some(0) {
        work(memory, 0);
    }
    stay(memory);
}

/// Starts a thread that is counted already.
fn start(memory: &Memory, thread: usize) {
    let state = memory.thread(thread);
    let mut handle: libc::pthread_t = 0;
    // SAFETY: the function takes a number instead of a pointer; the handle is written before it returns.
    let result =
        unsafe { libc::pthread_create(&raw mut handle, std::ptr::null(), entry, thread as *mut c_void) };
    if result != 0 {
        memory.header().trouble.store(result, Ordering::Release);
        memory.header().running.fetch_sub(1, Ordering::AcqRel);
        come_to(memory, thread, NOT_RUNNING);
        has_ended(memory, thread);
        return;
    }
    if state.is_joined.load(Ordering::Relaxed) == 0 {
        // SAFETY: a thread that was just started and that no thread joins.
        unsafe { libc::pthread_detach(handle) };
    }
    state.handle.store(handle, Ordering::Release);
    state.has_begun.store(1, Ordering::Release);
    wait::tell(memory.place(thread as u32), of_thread(thread));
}

/// Those that wait for the end of a thread go on.
fn has_ended(memory: &Memory, thread: usize) {
    memory.thread(thread).has_ended.store(1, Ordering::Release);
    wait::tell(memory.place(thread as u32), of_thread(thread));
}

/// What is waited for of a thread. It may be another one's, or an epoch's, which costs no more than to wake too many.
fn of_thread(thread: usize) -> u32 {
    wait::BEHIND_SLOTS | thread as u32
}

fn of_epoch(epoch: u32) -> u32 {
    wait::BEHIND_SLOTS | epoch
}

extern "C" fn entry(thread: *mut c_void) -> *mut c_void {
    // SAFETY: set before any thread is started; the first thread never returns from where it lives.
    let memory = unsafe { &*MEMORY.load(Ordering::Acquire) };
    work(memory, thread as usize);
    std::ptr::null_mut()
}

fn work(memory: &Memory, thread: usize) {
    let Some(stream) = STREAM.get() else { return };
    let ending = stream(memory, thread);
    come_to(memory, thread, NOT_RUNNING);
    if ending == Ending::Stays || thread == 0 {
        memory.header().staying.fetch_add(1, Ordering::AcqRel);
        stay(memory);
        return;
    }
    memory.forget_piece(thread);
    memory.header().running.fetch_sub(1, Ordering::AcqRel);
    has_ended(memory, thread);
}

/// Sleeps until the parent has seen enough. One of all that do so fulfils its wishes.
fn stay(memory: &Memory) {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    let header = memory.header();
    if IS_WATCHED.swap(true, Ordering::AcqRel) {
        wait::while_is(&header.end, 0);
        return;
    }
    while header.end.load(Ordering::Acquire) == 0 {
        requests::fulfil(header);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A thread creates another one.
pub(super) fn spawn(memory: &Memory, by: usize, creation: u32) {
    let thread = memory.created(creation);
    if thread == NO_THREAD || thread as usize >= memory.n_threads() {
        return;
    }
    let thread = thread as usize;
    // It counts from now on, in the epoch of the one that starts it.
    let epoch = memory.progress()[by].load(Ordering::Relaxed);
    memory.progress()[thread].store(epoch, Ordering::SeqCst);
    memory.header().spawned.fetch_add(1, Ordering::SeqCst);
    memory.header().running.fetch_add(1, Ordering::AcqRel);
    start(memory, thread);
}

/// A thread waits for the end of another one.
pub(super) fn join(memory: &Memory, thread: usize) {
    let state = memory.thread(thread);
    wait::until(memory.place(thread as u32), of_thread(thread), || {
        state.has_begun.load(Ordering::Acquire) != 0 || state.has_ended.load(Ordering::Acquire) != 0
    });
    let handle = state.handle.swap(0, Ordering::AcqRel);
    if handle != 0 && state.is_joined.load(Ordering::Relaxed) != 0 {
        // SAFETY: a thread that was started, is not detached, and is joined once, since the handle was taken away.
        unsafe { libc::pthread_join(handle, std::ptr::null_mut()) };
    }
}

/// A thread comes to an epoch: it waits for a snapshot, for those that are far behind, and for the time.
pub(super) fn enter(memory: &Memory, thread: usize, record: Record, slowest: &mut u32) {
    let header = memory.header();
    let epoch = record.number();
    come_to(memory, thread, epoch);
    let snapshot_at = header.snapshot_at.load(Ordering::Acquire);
    if snapshot_at != 0 && epoch >= snapshot_at {
        park(memory);
    }
    let bound = epoch.saturating_sub(header.window.load(Ordering::Relaxed));
    if memory.n_threads() > 1 && *slowest < bound {
        wait::until(memory.place(bound), of_epoch(bound), || header.slowest.load(Ordering::Acquire) >= bound);
        *slowest = bound;
    }
    let compression = u64::from(header.compression.load(Ordering::Relaxed));
    if let Some(time) = record.0[1].checked_div(compression) {
        let due = BEGINNING.load(Ordering::Relaxed) + time;
        let left = due.saturating_sub(now_ns());
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// A thread is in another epoch. If none was further behind, those that waited for it go on.
fn come_to(memory: &Memory, thread: usize, epoch: u32) {
    let before = memory.progress()[thread].swap(epoch, Ordering::SeqCst);
    let (slowest, spawned) = (&memory.header().slowest, &memory.header().spawned);
    if before > slowest.load(Ordering::SeqCst) {
        return;
    }
    loop {
        let spawned_before = spawned.load(Ordering::SeqCst);
        let epochs = memory.progress().iter().map(|epoch| epoch.load(Ordering::SeqCst));
        let now = epochs.min().unwrap_or(NOT_RUNNING);
        if spawned.load(Ordering::SeqCst) != spawned_before {
            // A new thread may have been passed before it began, and the one that started it seen after it had gone on.
            continue;
        }
        let before = slowest.fetch_max(now, Ordering::SeqCst);
        // One that was seen in this epoch may have left it before it could know that it is the last one. Once nothing has changed,
        // whoever leaves it later does know.
        if now <= before {
            return;
        }
        tell_of_epochs(memory, before, now);
    }
}

/// Wakes those that wait for an epoch behind the first one, up to the other one.
fn tell_of_epochs(memory: &Memory, from: u32, to: u32) {
    if (to - from) as usize > PLACES {
        (0..PLACES as u32).for_each(|number| wait::tell_all(memory.place(number)));
        return;
    }
    for reached in from..to {
        wait::tell(memory.place(reached + 1), of_epoch(reached + 1));
    }
}

/// A thread waits until a snapshot was taken, if one is still to be taken.
#[cold]
pub(super) fn park(memory: &Memory) {
    let header = memory.header();
    header.parked.fetch_add(1, Ordering::AcqRel);
    let snapshot_at = header.snapshot_at.load(Ordering::Acquire);
    if snapshot_at != 0 {
        wait::while_is(&header.snapshot_at, snapshot_at);
    }
    header.parked.fetch_sub(1, Ordering::AcqRel);
}
