//! The counters of one thread.
//!
//! A slot is written by its thread alone and read by any thread, so its fields are atomics that are loaded and stored, never
//! exchanged: the processor has nothing to lock. Slots are never freed. The slot of a thread that has ended keeps its counts,
//! which belong to the process, and goes to the next new thread.

use super::counts::Counts;
use super::level::{self, STEP, Segments};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

/// One thread's counters. Aligned to two cache lines, since processors fetch two at a time.
// NOTE: the order matters: what every call touches comes first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Slot {
    allocations: AtomicU64,
    allocated_bytes: AtomicU64,
    deallocations: AtomicU64,
    freed_bytes: AtomicU64,
    /// Bytes that may be allocated before there is something to do: a new peak, or an update of the process's level. One
    /// comparison for both.
    room: AtomicI64,
    /// Where `room` gets this large, the process's level has to be updated.
    most_room: AtomicI64,
    reallocations: AtomicU64,
    /// Highest net bytes since the last watch began.
    peak: AtomicI64,
    /// Net bytes that the process's level contains already.
    flushed: AtomicI64,
    pub(super) segments: Segments,
    /// The slot that was made before this one.
    older: AtomicPtr<Slot>,
    /// The next one that is free.
    next_free: AtomicPtr<Slot>,
}

/// The newest slot; each links to the one before.
static NEWEST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// Slots whose threads have ended, as an address.
static FREE: Mutex<usize> = Mutex::new(0);
/// Counts what is not to be counted for the program: what heapwise itself allocates. Several threads write to it at once, and it is
/// never read.
static IGNORED: Slot = Slot::new();
/// Counts for threads that are at their very end, with exchanges.
static LATE: Slot = Slot::new();
/// Stands for no slot. It has no room, and whatever is freed is more than it may have: so nothing is counted in it, and whether
/// a thread has a slot need not be asked first.
static NONE: Slot = Slot::with_room(-1, i64::MIN);

thread_local! {
    /// [`NONE`] before the first call that is counted, and again at the thread's end.
    static SLOT: Cell<*const Slot> = const { Cell::new(&raw const NONE) };
    static ENDING: Cell<bool> = const { Cell::new(false) };
    /// What the thread had counted when it released its slot.
    static FINAL: Cell<Option<Counts>> = const { Cell::new(None) };
    /// Releases the slot when the thread ends.
    static LEASE: Lease = const { Lease };
}

struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        ENDING.set(true);
        let slot = SLOT.replace(&raw const NONE).cast_mut();
        let is_none = ptr::eq(slot, &raw const NONE);
        // SAFETY: not `NONE`, so a slot; slots are never freed, and all their fields are atomics.
        FINAL.set((!is_none).then(|| unsafe { &*slot }.counts()));
        // A slot whose list is locked for too long (a forked child's may be, for ever) is not used again; that loses nothing
        // else.
        if !is_none
            && !ptr::eq(slot, &raw const IGNORED)
            && let Some(mut free) = lock(&FREE)
        {
            // SAFETY: the slot was this thread's, and slots are never freed.
            unsafe { (*slot).next_free.store(*free as *mut Slot, Ordering::Relaxed) };
            *free = slot as usize;
        }
    }
}

/// Takes a lock that is held for a few instructions only; `None` if it stays locked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> Option<std::sync::MutexGuard<'_, T>> {
    for _ in 0..10_000 {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// Adds to a counter that only this thread writes to.
#[inline(always)]
fn add(counter: &AtomicU64, n: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(n);
    counter.store(sum, Ordering::Relaxed);
    sum
}

impl Slot {
    const fn new() -> Self {
        Self::with_room(0, STEP)
    }

    const fn with_room(room: i64, most_room: i64) -> Self {
        Self {
            allocations: AtomicU64::new(0),
            allocated_bytes: AtomicU64::new(0),
            deallocations: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            reallocations: AtomicU64::new(0),
            room: AtomicI64::new(room),
            most_room: AtomicI64::new(most_room),
            peak: AtomicI64::new(0),
            flushed: AtomicI64::new(0),
            segments: Segments::new(),
            older: AtomicPtr::new(ptr::null_mut()),
            next_free: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            allocations: self.allocations.load(Ordering::Relaxed),
            reallocations: self.reallocations.load(Ordering::Relaxed),
            deallocations: self.deallocations.load(Ordering::Relaxed),
            allocated_bytes: self.allocated_bytes.load(Ordering::Relaxed),
            freed_bytes: self.freed_bytes.load(Ordering::Relaxed),
        }
    }

    /// Bytes that this thread has allocated and not freed.
    pub(super) fn net(&self) -> i64 {
        self.counts().net_bytes()
    }

    /// Highest net bytes since the last watch began.
    pub(super) fn peak(&self) -> i64 {
        self.peak.load(Ordering::Relaxed)
    }

    pub(super) fn set_peak(&self, peak: i64) {
        self.peak.store(peak, Ordering::Relaxed);
        self.set_limits();
    }

    fn set_limits(&self) {
        let flushed = self.flushed.load(Ordering::Relaxed);
        let ceiling = self.peak().min(flushed.wrapping_add(STEP - 1));
        let floor = flushed.wrapping_sub(STEP);
        self.room.store(ceiling.wrapping_sub(self.net()), Ordering::Relaxed);
        self.most_room.store(ceiling.wrapping_sub(floor), Ordering::Relaxed);
    }

    /// Counts a block that is handed out, unless there is more to do.
    #[inline(always)]
    fn allocate(&self, bytes: u64) -> bool {
        let room = self.room.load(Ordering::Relaxed).wrapping_sub(bytes as i64);
        let is_counted = room >= 0;
        if is_counted {
            self.room.store(room, Ordering::Relaxed);
            add(&self.allocations, 1);
            add(&self.allocated_bytes, bytes);
        }
        is_counted
    }

    /// Counts a block that is resized, unless there is more to do.
    #[inline(always)]
    fn reallocate(&self, old: u64, new: u64) -> bool {
        let room = self.room.load(Ordering::Relaxed).wrapping_add(old as i64).wrapping_sub(new as i64);
        let is_counted = room >= 0 && room < self.most_room.load(Ordering::Relaxed);
        if is_counted {
            self.room.store(room, Ordering::Relaxed);
            add(&self.reallocations, 1);
            add(&self.freed_bytes, old);
            add(&self.allocated_bytes, new);
        }
        is_counted
    }

    /// Counts a block that is freed, unless there is more to do.
    #[inline(always)]
    fn deallocate(&self, bytes: u64) -> bool {
        let room = self.room.load(Ordering::Relaxed).wrapping_add(bytes as i64);
        let is_counted = room < self.most_room.load(Ordering::Relaxed);
        if is_counted {
            self.room.store(room, Ordering::Relaxed);
            add(&self.deallocations, 1);
            add(&self.freed_bytes, bytes);
        }
        is_counted
    }

    /// Counts, and does what else there is to do.
    fn count(&self, counts: &Counts) {
        add(&self.allocations, counts.allocations);
        add(&self.reallocations, counts.reallocations);
        add(&self.deallocations, counts.deallocations);
        add(&self.freed_bytes, counts.freed_bytes);
        add(&self.allocated_bytes, counts.allocated_bytes);
        self.settle();
    }

    /// Updates the peak, and the process's level if the thread's has moved far enough.
    fn settle(&self) {
        let net = self.net();
        if net > self.peak() {
            self.peak.store(net, Ordering::Relaxed);
        }
        let news = net.wrapping_sub(self.flushed.load(Ordering::Relaxed));
        if news.unsigned_abs() >= STEP.unsigned_abs() {
            self.flushed.store(net, Ordering::Relaxed);
            if !ptr::eq(self, &raw const IGNORED) {
                level::process_moved(news);
            }
        }
        self.set_limits();
    }

    /// Counts with exchanges what several threads may count at the same time.
    fn add_late(&self, counts: &Counts) {
        self.allocations.fetch_add(counts.allocations, Ordering::Relaxed);
        self.reallocations.fetch_add(counts.reallocations, Ordering::Relaxed);
        self.deallocations.fetch_add(counts.deallocations, Ordering::Relaxed);
        self.allocated_bytes.fetch_add(counts.allocated_bytes, Ordering::Relaxed);
        self.freed_bytes.fetch_add(counts.freed_bytes, Ordering::Relaxed);
    }
}

/// The slot of this thread; `None` at the very end of a thread, when it has released it.
#[inline(always)]
pub(super) fn own() -> Option<&'static Slot> {
    let slot = SLOT.get();
    if ptr::eq(slot, &raw const NONE) {
        return claim();
    }
    // SAFETY: not `NONE`, so a slot; slots are never freed, and all their fields are atomics.
    Some(unsafe { &*slot })
}

/// Takes a slot for this thread.
#[cold]
#[inline(never)]
fn claim() -> Option<&'static Slot> {
    if ENDING.get() {
        return None;
    }
    // What happens in here is not counted, should it allocate.
    SLOT.set(&raw const IGNORED);
    let slot = reused().or_else(made);
    SLOT.set(slot.map_or(&raw const NONE, ptr::from_ref));
    // From here on the slot is released when the thread ends. std takes memory for that from the system's allocator.
    if slot.is_some() && LEASE.try_with(|_| ()).is_err() {
        ENDING.set(true);
        SLOT.set(&raw const NONE);
        return None;
    }
    slot
}

fn reused() -> Option<&'static Slot> {
    let mut free = lock(&FREE)?;
    // SAFETY: null, or a slot that was put there when its thread ended; slots are never freed.
    let slot = unsafe { (*free as *const Slot).as_ref() }?;
    *free = slot.next_free.load(Ordering::Relaxed) as usize;
    slot.segments.clear();
    Some(slot)
}

fn made() -> Option<&'static Slot> {
    let layout = Layout::new::<Slot>();
    // SAFETY: the layout has a size.
    let slot = unsafe { System.alloc(layout) }.cast::<Slot>();
    if slot.is_null() {
        return None;
    }
    // SAFETY: fresh memory of the right size and alignment, that no other thread knows.
    unsafe { slot.write(Slot::new()) };
    // SAFETY: just initialised, and never freed.
    let made = unsafe { &*slot };
    let mut older = NEWEST.load(Ordering::Acquire);
    loop {
        made.older.store(older, Ordering::Relaxed);
        match NEWEST.compare_exchange_weak(older, slot, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(made),
            Err(now) => older = now,
        }
    }
}

/// This thread's slot, or [`NONE`].
#[inline(always)]
fn at_hand() -> &'static Slot {
    // SAFETY: `NONE`, or a slot; slots are never freed, and all their fields are atomics.
    unsafe { &*SLOT.get() }
}

/// Counts a block that is handed out, if there is nothing else to do. Returns whether it did: if not, nothing has happened, and
/// [`count_allocation`] does it.
#[inline(always)]
#[must_use]
pub(crate) fn allocated(bytes: usize) -> bool {
    at_hand().allocate(bytes as u64)
}

/// The same for a block that is resized, with [`count_reallocation`].
#[inline(always)]
#[must_use]
pub(crate) fn reallocated(old: usize, new: usize) -> bool {
    at_hand().reallocate(old as u64, new as u64)
}

/// The same for a block that is freed, with [`count_deallocation`].
#[inline(always)]
#[must_use]
pub(crate) fn deallocated(bytes: usize) -> bool {
    at_hand().deallocate(bytes as u64)
}

/// Counts a block that was handed out.
#[inline(always)]
pub(crate) fn count_allocation(bytes: usize) {
    if !allocated(bytes) {
        more(Counts { allocations: 1, allocated_bytes: bytes as u64, ..Counts::default() });
    }
}

/// Counts a block that was resized.
#[inline(always)]
pub(crate) fn count_reallocation(old: usize, new: usize) {
    if !reallocated(old, new) {
        let (freed_bytes, allocated_bytes) = (old as u64, new as u64);
        more(Counts { reallocations: 1, allocated_bytes, freed_bytes, ..Counts::default() });
    }
}

/// Counts a block that is freed.
#[inline(always)]
pub(crate) fn count_deallocation(bytes: usize) {
    if !deallocated(bytes) {
        more(Counts { deallocations: 1, freed_bytes: bytes as u64, ..Counts::default() });
    }
}

/// Counts where there is more to do: there is a new peak, the level of the process has to be updated, or the thread has no slot.
#[cold]
#[inline(never)]
fn more(counts: Counts) {
    match own() {
        Some(slot) => slot.count(&counts),
        None => LATE.add_late(&counts),
    }
}

/// What this thread has done since counting began. Only differences mean something. At the very end of a thread that is
/// what it had done when it began to end.
pub(crate) fn thread() -> Counts {
    own().map_or_else(|| FINAL.get().unwrap_or_default(), Slot::counts)
}

/// What all threads have done, also those that have ended. Only differences mean something.
///
/// A thread that is at work meanwhile may have counted a part of a call.
pub(crate) fn process() -> Counts {
    let mut sum = LATE.counts();
    let mut at = NEWEST.load(Ordering::Acquire);
    // SAFETY: null or a slot, as above.
    while let Some(slot) = unsafe { at.as_ref() } {
        sum += slot.counts();
        at = slot.older.load(Ordering::Relaxed);
    }
    sum
}

/// While it lives, what this thread does is not counted: it is heapwise's work, not the program's.
#[derive(Debug)]
pub(crate) struct Ignore {
    before: *const Slot,
}

impl Ignore {
    pub(crate) fn begin() -> Self {
        // A thread without a slot gets one first, or it would get it in between.
        let _ = own();
        Self { before: SLOT.replace(&raw const IGNORED) }
    }
}

/// Whether what this thread does now is heapwise's work, not the program's.
#[cfg(feature = "budgets")]
pub(crate) fn is_ignoring() -> bool {
    ptr::eq(SLOT.get(), &raw const IGNORED)
}

impl Drop for Ignore {
    fn drop(&mut self) {
        SLOT.set(self.before);
    }
}
