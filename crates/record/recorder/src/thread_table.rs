//! The words of threads in a process whose loader does not know the recorder: found by the thread's id.
//!
//! The C libraries keep it behind the thread pointer, each at another place; where, is found out when the first threads come
//! ([`IdInBlock`]). A slot is a thread's that has its id and its thread pointer. Either may be another thread's later, and in the end both: so
//! a thread that begins gives up the slot of the one that had its thread pointer before ([`forget_before`]).

use crate::arch::tls::{ThreadWords, behind_thread_pointer, thread_pointer};
use crate::process::PROCESS;
use crate::sys;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use heapwise_trace::live::layout::MAX_RINGS;

/// More than threads can be recorded at the same time.
const COUNT: usize = 2 * MAX_RINGS;
/// Slots that are looked at for one thread.
const TRIES: usize = 64;

/// The place of one thread. Aligned to two cache lines: nothing of it is another thread's.
#[repr(C, align(128))]
struct Slot {
    /// The thread pointer; 0 where there was no thread yet.
    pointer: AtomicUsize,
    /// What a look into the thread's block shows while the slot is the thread's: its id, or [`NOT_SHOWN`].
    shown: AtomicU64,
    /// The thread's id.
    owner: AtomicU32,
    words: UnsafeCell<ThreadWords>,
}

// SAFETY: the words of a slot are reached by the thread alone whose pointer and id it has.
unsafe impl Sync for Slot {}

impl Slot {
    const fn free() -> Self {
        let words = UnsafeCell::new(ThreadWords::new());
        let (pointer, shown, owner) = (AtomicUsize::new(0), AtomicU64::new(NOT_SHOWN), AtomicU32::new(0));
        Self { pointer, shown, owner, words }
    }
}

impl Slot {
    /// Gives up the calling thread's slot. The next one may take it as soon as it has no owner.
    fn give_up(&self) {
        self.shown.store(NOT_SHOWN, Ordering::Relaxed);
        self.pointer.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Release);
    }

    /// What the calling thread's block shows of its id from here on.
    fn note_shown(&self, thread: u32) {
        let is_known = ID.at.load(Ordering::Relaxed) != 0;
        self.shown.store(if is_known { thread.into() } else { NOT_SHOWN }, Ordering::Relaxed);
    }
}

/// No thread has this id, and no look shows it.
const NOT_SHOWN: u64 = u64::MAX;

// Each slot has its cache lines, and is not larger than it has to be.
const _: () = assert!(size_of::<Slot>() == 128);

static SLOTS: [Slot; COUNT] = [const { Slot::free() }; COUNT];

/// For threads that find no slot: the recorder is always at work on them, so they record nothing.
struct NoSlot(UnsafeCell<ThreadWords>);

// SAFETY: several threads read and write its words as wholes, and what is in them does not matter.
unsafe impl Sync for NoSlot {}

static NO_SLOT: NoSlot =
    NoSlot(UnsafeCell::new(ThreadWords { guard: crate::guard::INTERNAL, ..ThreadWords::new() }));

/// Whether there was such a thread.
static IS_ANY_WITHOUT: AtomicBool = AtomicBool::new(false);

/// Where a thread's first place is: threads that begin one after the other have ids one after the other.
#[inline(always)]
fn home(thread: u32) -> usize {
    thread as usize % COUNT
}

/// The calling thread's words. Valid as long as the thread runs.
#[inline(always)]
pub fn words() -> *mut ThreadWords {
    known_words().unwrap_or_else(find)
}

/// The same where its place is the first that is looked at.
#[inline(always)]
pub(crate) fn known_words() -> Option<*mut ThreadWords> {
    // Where the id's place is not known, what is read instead is no slot's.
    let thread = ID.look();
    let slot = &SLOTS[home(thread)];
    let is_own = slot.shown.load(Ordering::Relaxed) == u64::from(thread)
        && slot.pointer.load(Ordering::Relaxed) == thread_pointer();
    is_own.then(|| slot.words.get())
}

/// Frees the calling thread's slot if it has recorded nothing. A thread that begins has a block of its own only later, and its first
/// place, which is that of its id, is to be free then.
pub(crate) fn give_up_unused() {
    let pointer = thread_pointer();
    let thread = sys::own_thread_id();
    let own = places(thread).map(|index| &SLOTS[index]).find(|slot| {
        slot.pointer.load(Ordering::Relaxed) == pointer && slot.owner.load(Ordering::Relaxed) == thread
    });
    let Some(slot) = own else { return };
    let words = slot.words.get();
    // SAFETY: valid, for slots are static; the slot is this thread's, no reference to its words lives, and each is read as a whole.
    let is_unused = unsafe { (*words).state.is_null() && (*words).guard == 0 && (*words).waits == 0 };
    if is_unused {
        slot.give_up();
    }
}

/// Whether the recorder, or an allocator that it has called, is at work on any thread that still runs.
pub(crate) fn is_any_at_work() -> bool {
    // Of threads without a slot nothing is known.
    IS_ANY_WITHOUT.load(Ordering::Acquire)
        || SLOTS.iter().any(|slot| {
            let owner = slot.owner.load(Ordering::Acquire);
            let words = slot.words.get();
            // SAFETY: words of another thread, which is stopped or gone, each read as a whole.
            let (guard, waits) = unsafe {
                ((&raw const (*words).guard).read_volatile(), (&raw const (*words).waits).read_volatile())
            };
            owner != 0 && (guard != 0 || waits != 0) && !sys::is_thread_gone(owner)
        })
}

#[cold]
#[inline(never)]
fn find() -> *mut ThreadWords {
    let (pointer, id) = (thread_pointer(), ID.read());
    for index in places(id) {
        let slot = &SLOTS[index];
        if slot.pointer.load(Ordering::Relaxed) == pointer && id == slot.owner.load(Ordering::Relaxed) {
            slot.note_shown(id);
            return slot.words.get();
        }
    }
    join(pointer)
}

/// Threads with ids one after the other have places one after the other, so whoever finds its own one taken looks far from there.
fn places(thread: u32) -> impl Iterator<Item = usize> {
    (0..TRIES).map(move |n| (home(thread) + n * STRIDE) % COUNT)
}

/// An odd number, so that all places are different.
const STRIDE: usize = 10_127;

/// Of each thread pointer, where the slot of the last thread is that had it, in the lowest bits; 0 for none.
static LAST: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// Gives up the slot of an earlier thread that had the calling thread's pointer, and notes which one has it now. Returns whether there is
/// room for that.
fn forget_before(pointer: usize, index: usize) -> bool {
    let noted = |pointer: usize, index: usize| (pointer << COUNT.ilog2() | index) as u64;
    // Blocks of threads lie at the same place of equally large stacks, so high bits are mixed in.
    let first = (pointer >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - COUNT.ilog2());
    for last in (0..TRIES).map(|n| &LAST[(first + n) % COUNT]) {
        let before = last.load(Ordering::Acquire);
        let earlier = before as usize % COUNT;
        let is_own = before == noted(pointer, earlier);
        // A pointer that no slot has any more is that of a thread that is gone.
        let has_it = || noted(SLOTS[earlier].pointer.load(Ordering::Relaxed), earlier) == before;
        if !is_own && before != 0 && has_it() {
            continue;
        }
        let now = noted(pointer, index);
        if last.compare_exchange(before, now, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        if is_own && earlier != index {
            // Another thread may have taken it, since its owner is gone.
            let slot = &SLOTS[earlier];
            let _ = slot.pointer.compare_exchange(pointer, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
        return true;
    }
    false
}

/// Gives a thread its slot, if it has none.
fn join(pointer: usize) -> *mut ThreadWords {
    let thread = sys::own_thread_id();
    ID.learn(pointer, thread);
    for index in places(thread) {
        let slot = &SLOTS[index];
        let before = slot.pointer.load(Ordering::Relaxed);
        let owner = slot.owner.load(Ordering::Relaxed);
        if before == pointer && owner == thread {
            return slot.words.get();
        }
        // An earlier thread with the same block has ended, or this is a forked child.
        let is_free = owner == 0 || owner != thread && (before == pointer || sys::is_thread_gone(owner));
        // With an owner that lives it is taken.
        if is_free && slot.owner.compare_exchange(owner, thread, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            begin(slot, pointer);
            if !forget_before(pointer, index) {
                slot.give_up();
                break;
            }
            slot.note_shown(thread);
            return slot.words.get();
        }
    }
    PROCESS.count_lost();
    IS_ANY_WITHOUT.store(true, Ordering::Release);
    NO_SLOT.0.get()
}

/// Makes a slot that the calling thread owns its own. A signal handler in between finds no words of an earlier thread: its thread pointer
/// comes last.
fn begin(slot: &Slot, pointer: usize) {
    slot.shown.store(NOT_SHOWN, Ordering::Relaxed);
    slot.pointer.store(0, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: valid, for slots are static; the slot has this thread's id, the thread that had it before is gone, and no reference to its
    // words lives.
    unsafe { slot.words.get().write(ThreadWords::new()) };
    compiler_fence(Ordering::SeqCst);
    slot.pointer.store(pointer, Ordering::Release);
}

/// Where in a thread's block its id is: the C library's secret.
struct IdInBlock {
    /// Distance from the thread pointer; 0 while it is not known.
    at: AtomicUsize,
    /// How often another place had to be taken.
    mistakes: AtomicU32,
}

static ID: IdInBlock = IdInBlock { at: AtomicUsize::new(0), mistakes: AtomicU32::new(0) };

/// glibc has it at 720, musl at 48.
const MOST_DISTANCE: usize = 1024;
/// After so many, the kernel is asked each time.
const MOST_MISTAKES: u32 = 4;

impl IdInBlock {
    /// What is in the calling thread's block where the id is, or at its beginning if that is not known.
    #[inline(always)]
    fn look(&self) -> u32 {
        // SAFETY: the place was found in a block of this C library, and all its blocks are as large; each has a beginning. It is read as
        // a whole, and no reference to it lives.
        unsafe { behind_thread_pointer(self.at.load(Ordering::Relaxed)) }
    }

    /// The id in the calling thread's block. Where that is not known, the kernel says it.
    fn read(&self) -> u32 {
        match self.at.load(Ordering::Relaxed) {
            0 => sys::own_thread_id(),
            _ => self.look(),
        }
    }

    /// Looks for the id in the block of a thread that has it, unless it is where it was found before.
    fn learn(&self, pointer: usize, thread: u32) {
        let known = self.at.load(Ordering::Relaxed);
        let mistakes = self.mistakes.load(Ordering::Relaxed);
        if known != 0 && self.read() == thread || mistakes > MOST_MISTAKES {
            return;
        }
        let found = (known + 8..MOST_DISTANCE).step_by(size_of::<usize>()).find(|at| {
            let word = sys::read_word_always(pointer + at);
            word.is_some_and(|word| word as u32 == thread)
        });
        self.mistakes.store(mistakes + u32::from(known != 0), Ordering::Relaxed);
        self.at.store(found.unwrap_or(0), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    #[test]
    fn threads_have_their_own_words_and_the_next_one_gets_fresh_ones() {
        let barrier = Barrier::new(16);
        let places: BTreeSet<usize> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16)
                .map(|n| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let own = words();
                        // SAFETY: this thread's words.
                        unsafe { assert_eq!((*own).guard, 0) };
                        // SAFETY: as above.
                        unsafe { (*own).guard = 1000 + n };
                        barrier.wait();
                        assert_eq!(words(), own);
                        // SAFETY: as above.
                        unsafe { assert_eq!((*own).guard, 1000 + n) };
                        own as usize
                    })
                })
                .collect();
            all.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        assert_eq!(places.len(), 16);
        for _ in 0..100 {
            let guard = std::thread::spawn(|| {
                // SAFETY: the thread's words.
                unsafe { core::mem::replace(&mut (*words()).guard, 7) }
            });
            assert_eq!(guard.join().expect("it ends"), 0);
        }
    }

    #[test]
    fn a_thread_pointer_is_in_one_slot_at_most() {
        // Threads that come one after the other have the same block each time, and another id.
        for _ in 0..200 {
            let (pointer, slots) = std::thread::spawn(|| {
                words();
                let pointer = thread_pointer();
                let has = |slot: &&Slot| slot.pointer.load(Ordering::Relaxed) == pointer;
                (pointer, SLOTS.iter().filter(has).count())
            })
            .join()
            .expect("it ends");
            assert_eq!(slots, 1, "{pointer:x}");
        }
    }

    #[test]
    fn many_threads_in_a_row_leave_room_for_others() {
        let own: Vec<_> = places(1000).collect();
        let in_a_row = own.iter().filter(|place| (1000..1400).contains(*place)).count();
        assert!(in_a_row <= 4, "{own:?}");
        assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), TRIES);
    }

    #[test]
    fn a_thread_that_gives_up_its_slot_finds_its_first_place_free() {
        std::thread::spawn(|| {
            let own = words();
            let thread = sys::own_thread_id();
            assert_eq!(own, SLOTS[home(thread)].words.get());
            give_up_unused();
            assert_eq!(SLOTS[home(thread)].pointer.load(Ordering::Relaxed), 0);
            assert_eq!(known_words(), None);
            assert_eq!(words(), own);
            assert_eq!(known_words(), Some(own));
            // SAFETY: this thread's words.
            unsafe { (*own).waits = 1 };
            give_up_unused();
            assert_eq!(known_words(), Some(own), "the recorder is at work on it");
        })
        .join()
        .expect("it ends");
    }

    #[test]
    fn the_id_is_found_in_a_block_of_this_c_library() {
        words();
        let at = ID.at.load(Ordering::Relaxed);
        assert!((8..MOST_DISTANCE).contains(&at));
        assert_eq!(ID.read(), sys::own_thread_id());
    }
}
