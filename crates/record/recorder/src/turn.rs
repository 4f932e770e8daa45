//! Taking turns: the recorder works for one event of a thread at a time, and never inside of itself.
//!
//! What a turn needs is the recorder of a process and the words of a thread; those that the hooks take turns with are the only
//! ones of this process and of the calling thread.
//!
//! PERF: nothing takes a [`Recording`] by its address, so it stays in registers, and the process is a constant there.

use crate::arch::entry::Entry;
use crate::arch::probes;
use crate::arch::tls::{self, Words};
use crate::guard::{self, Turn};
use crate::process::{PROCESS, Process};
use crate::thread::{self, ThreadState};
use crate::unwind::memory::Stacks;
use crate::{confined, large, nested, real, sys};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use heapwise_trace::event::{Epoch, Event, StackId};
use heapwise_trace::live::layout::{CLOCK_EPOCH_MASK, CLOCK_PAUSED, CLOCK_STOPPED};
use heapwise_trace::live::words::encode;
use heapwise_trace::sampling;

/// The recorder at work for one event of this thread. Dropping it lets the next one in.
pub(crate) struct Recording {
    process: &'static Process,
    /// The session's clock, which is never unmapped.
    clock: &'static AtomicU64,
    words: Words,
    pub(crate) thread: &'static mut ThreadState,
    /// The guard before: 0, or that of the real allocator, which has called something of the program's.
    before: usize,
}

impl Drop for Recording {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this thread's own words.
        unsafe { (*self.words).guard = self.before };
    }
}

/// Takes this thread's turn; `None` if there is nothing to record to, or the recorder is at work further out.
#[inline(always)]
pub(crate) fn begin(words: Words, entry: Entry) -> Option<Recording> {
    begin_with(&PROCESS, words, entry, true)
}

/// The same for what is no event: nothing is lost if it cannot be written.
#[inline(always)]
pub(crate) fn begin_aside(words: Words, entry: Entry) -> Option<Recording> {
    begin_with(&PROCESS, words, entry, false)
}

/// Takes the turn of the calling thread, which has these words, in this process.
#[inline(always)]
pub(crate) fn begin_with(
    process: &'static Process,
    words: Words,
    entry: Entry,
    is_event: bool,
) -> Option<Recording> {
    let mut clock = process.clock.load(Ordering::Acquire);
    // SAFETY: this thread's own words; a signal handler leaves them as it found them.
    let (state, mut before) = unsafe { ((*words).state, (*words).guard) };
    if clock.is_null() || before != 0 || state.is_null() {
        before = begin_slowly(process, words, entry, is_event)?;
        clock = process.clock.load(Ordering::Acquire);
    }
    // SAFETY: null, or the session's clock.
    let clock = unsafe { clock.as_ref() }?;
    // SAFETY: attached to the session, as just found.
    Some(unsafe { take(process, clock, words, entry, before) })
}

/// Takes this thread's turn where its guard is known not to be set, or to be that of the allocator inside that was just called. `None` as
/// for [`begin`].
#[inline(always)]
pub(crate) fn begin_alone(words: Words, entry: Entry) -> Option<Recording> {
    let clock = PROCESS.clock.load(Ordering::Acquire);
    // SAFETY: this thread's own word; a signal handler leaves it as it found it.
    let state = unsafe { (*words).state };
    // SAFETY: null, or the session's clock, which is never unmapped.
    match unsafe { clock.as_ref() } {
        // SAFETY: both are there, so the process and the thread are attached.
        Some(clock) if !state.is_null() => Some(unsafe { take(&PROCESS, clock, words, entry, 0) }),
        _ => {
            // SAFETY: this thread's own word.
            unsafe { (*words).guard = 0 };
            begin(words, entry)
        }
    }
}

/// # Safety
/// Process and thread are attached, and the recorder is not at work on the thread.
#[inline(always)]
unsafe fn take(
    process: &'static Process,
    clock: &'static AtomicU64,
    words: Words,
    entry: Entry,
    before: usize,
) -> Recording {
    // SAFETY: the state is this thread's and, with the guard set, at work only here.
    let thread = unsafe {
        (*words).guard = entry.stack_pointer;
        compiler_fence(Ordering::SeqCst);
        &mut *(*words).state
    };
    Recording { process, clock, words, thread, before }
}

/// Attaches process and thread, or sorts out a guard that is set. Returns the guard to be set afterwards if the turn is
/// ours.
#[cold]
#[inline(never)]
fn begin_slowly(process: &'static Process, words: Words, entry: Entry, is_event: bool) -> Option<usize> {
    if process.is_inert() {
        return None;
    }
    let before = match look(words, entry) {
        Turn::Free => 0,
        // The real allocator has called the program: a handler for failed requests, say, or the making of an
        // exception; or a signal has arrived. Nothing of ours is under way.
        // SAFETY: this thread's own word, read as a whole; no reference to it lives.
        Turn::InReal if !real::contains(entry) => unsafe { (*words).guard },
        Turn::Internal | Turn::InReal => return None,
        Turn::BusyInReal if real::contains(entry) => return None,
        Turn::Busy | Turn::BusyInReal => {
            if is_event {
                process.count_lost();
                nested::note_lost(entry.stack_pointer);
            }
            return None;
        }
        Turn::Abandoned => {
            drop_abandoned(process, words);
            0
        }
    };
    attach(process, words, is_event).then_some(before)
}

/// What the guard says about an entry.
fn look(words: Words, entry: Entry) -> Turn {
    // SAFETY: this thread's own words, read as wholes; no reference to them lives.
    let (guard, state) = unsafe { ((&raw const (*words).guard).read_volatile(), (*words).state) };
    let share_a_stack = |a, b| {
        // SAFETY: null, or this thread's own state. If the recorder was interrupted it may be at work on it, so no reference
        // is made, and whatever of a range is read while it changes is no more than the range.
        !state.is_null() && unsafe { Stacks::share(&raw const (*state).stack.stacks, a, b) }
    };
    guard::turn(guard, entry.stack_pointer, share_a_stack, sys::alternate_stack)
}

/// Drops what an entry left half done that never came back.
fn drop_abandoned(process: &Process, words: Words) {
    // SAFETY: this thread's own words; the entry that was at work on its state never comes back to it.
    let before = unsafe { core::ptr::replace(&raw mut (*words).guard, 0) };
    // Only an event that was being described is lost, not one of an allocator that threw an exception.
    if before & guard::REAL == 0 {
        process.count_lost();
    }
    // SAFETY: as above.
    if let Some(thread) = thread::current(unsafe { &*words }, process) {
        thread.stack.forget_frames();
    }
}

/// The guard while the real allocator works for an entry, and afterwards, where it is set already.
#[cold]
#[inline(never)]
pub(crate) fn enter_real(words: Words, entry: Entry) -> (usize, usize) {
    let turn = look(words, entry);
    if turn == Turn::Abandoned {
        drop_abandoned(&PROCESS, words);
        return (entry.stack_pointer | guard::REAL, 0);
    }
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    let before = unsafe { (*words).guard };
    // A call of the recorder's own, or one inside of another call, stays what it is.
    let during = if turn == Turn::Busy { before | guard::NESTED } else { before };
    (during, before)
}

/// Whether something further out on this thread, an allocator or the recorder, has called this.
#[cold]
#[inline(never)]
pub(crate) fn is_inner_slowly(words: Words, entry: Entry) -> bool {
    match look(words, entry) {
        Turn::InReal if was_left(words, entry) => {
            drop_abandoned(&PROCESS, words);
            false
        }
        Turn::InReal | Turn::BusyInReal | Turn::Internal => true,
        Turn::Free | Turn::Abandoned | Turn::Busy => false,
    }
}

/// Bytes below the entry of a call of a real allocator in which the hook's frame lies, with the address to which the allocator
/// returns.
const HOOK_FRAME: usize = 2048;

/// Whether the call of the real allocator that the guard stands for was left by an exception or a jump, although this entry is further
/// in: then no frame of a hook is left below its entry. A trace of one that was not overwritten yet keeps this unknown.
fn was_left(words: Words, entry: Entry) -> bool {
    // SAFETY: this thread's own words, read as wholes; no reference to them lives.
    let (guard, state) = unsafe { ((&raw const (*words).guard).read_volatile(), (*words).state) };
    let held = guard & !(guard::REAL | guard::NESTED);
    let low = entry.stack_pointer.max(held.saturating_sub(HOOK_FRAME));
    // SAFETY: as in `look`.
    let is_one_stack = !state.is_null()
        && unsafe { Stacks::share(&raw const (*state).stack.stacks, entry.stack_pointer, held) };
    if !is_one_stack || low >= held || !real::is_own_code(was_left as *const () as usize) {
        return false;
    }
    let mut slots = (low.next_multiple_of(size_of::<usize>())..held).step_by(size_of::<usize>());
    // SAFETY: between this entry and an earlier one of the same stack, so it is mapped; other frames lie there, which are read word by
    // word and as they are.
    !slots.any(|at| real::is_own_code(unsafe { (at as *const usize).read_volatile() }))
}

/// Joins the session with this process and this thread, unless they have done so.
fn attach(process: &'static Process, words: Words, is_event: bool) -> bool {
    // SAFETY: this thread's own words; no other reference to them lives.
    let is_attached = || thread::current(unsafe { &*words }, process).is_some();
    if !process.clock.load(Ordering::Acquire).is_null() && is_attached() {
        return true;
    }
    let _internal = guard::Internal::begin();
    if !process.attach() {
        return false;
    }
    // A handler may have done so before its signal was held back.
    if is_attached() {
        return true;
    }
    // SAFETY: as above, and signals are held back.
    match ThreadState::attach(unsafe { (*words).state }, process) {
        Some(state) => {
            // SAFETY: as above.
            unsafe { (*words).state = state };
            tls::with_countdown(words, |countdown| countdown.begin(seed(process)));
            true
        }
        None => {
            if is_event {
                process.count_lost();
            }
            false
        }
    }
}

/// Something that is never the same in two threads, whether of one process or of a child that begins as a copy.
fn seed(process: &Process) -> u64 {
    let now = confined::ticks().unwrap_or(0);
    let parts =
        [now, tls::thread_pointer() as u64, u64::from(process.thread_id()), u64::from(process.stamp())];
    parts
        .into_iter()
        .fold(0, |seed: u64, part| (seed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

impl Recording {
    /// Whether the real allocator is at work further out.
    #[inline(always)]
    pub(crate) fn is_nested(&self) -> bool {
        self.before != 0
    }

    /// The clock now.
    #[inline(always)]
    pub(crate) fn clock(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    /// Ends the turn, and has the thread's guard be that of an allocator inside, which is called next. Only for what is not nested.
    #[inline(always)]
    pub(crate) fn leave_to_inside(mut self, entry: Entry) {
        self.before = entry.stack_pointer | guard::REAL;
    }

    /// Whether only a sample of the blocks is recorded.
    #[inline(always)]
    pub(crate) fn is_sampling(&self) -> bool {
        self.process.is_sampling()
    }

    /// Whether a block is recorded that was handed out. One for which there is no room is counted as lost.
    #[inline(always)]
    pub(crate) fn selects(&mut self, block: usize, size: usize) -> bool {
        let distance = self.process.sample_distance();
        tls::with_countdown(self.words, |countdown| countdown.selects(distance, size as u64))
            && takes(self.process, block, size as u64)
    }

    /// Notes a block as one of the sample, if there is room.
    #[inline(always)]
    pub(crate) fn notes(&self, block: usize) -> bool {
        notes(self.process, block)
    }

    /// Whether a block was recorded that is given up. It is forgotten then.
    #[inline(always)]
    pub(crate) fn was_recorded(&self, block: usize) -> bool {
        let was_recorded = self.process.sampled().remove(block);
        if was_recorded {
            self.process.move_clock();
        }
        was_recorded
    }

    /// The clock before a call in which a block may be given up: a moment of its own, if that may be one of a sample.
    pub(crate) fn clock_before(&self, block: usize) -> u64 {
        if self.is_sampling() && self.process.sampled().may_have(block) {
            self.process.move_clock();
        }
        self.clock().max(self.thread.clock)
    }

    /// Notes a clock reading in the ring if it is news. Returns whether events are recorded at the moment.
    #[inline(always)]
    pub(crate) fn at(&mut self, clock: u64) -> bool {
        clock == self.thread.clock || clock_moved(self.process, self.thread, clock)
    }

    #[inline(always)]
    pub(crate) fn stack(&mut self, entry: Entry) -> StackId {
        let id = self.thread.stack.capture(entry, self.process);
        if self.process.verify_countdown.load(Ordering::Relaxed) != 0 {
            verify(self.process, self.thread, entry, id);
        }
        id
    }

    /// Records how long the call took, if that was measured. Returns whether it was.
    #[inline(always)]
    pub(crate) fn tell_time(&mut self) -> bool {
        // SAFETY: this thread's own word, read and written as a whole; no reference to it lives. A signal handler that
        // comes in between leaves its own measurement, which is dropped here.
        let ticks = unsafe { core::ptr::replace(&raw mut (*self.words).ticks, 0) };
        if ticks != 0 {
            // It is no event of the program: without room nothing is lost.
            self.thread.ring.write(encode(Event::Timed { ticks }), self.process);
        }
        ticks != 0
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        self.thread.ring.push(encode(event), self.process);
    }
}

/// Takes a block into the sample, if there is room, and tells whoever has attached to the probe. Each event of a sample has a
/// moment of its own: they are few.
#[cold]
#[inline(never)]
fn takes(process: &Process, block: usize, size: u64) -> bool {
    let is_noted = notes(process, block);
    if is_noted {
        process.move_clock();
        let weight = sampling::weight(1 << process.sample_distance().log2(), size);
        probes::allocated(block, size, size.saturating_mul(weight));
    }
    is_noted
}

/// Notes a block as one of the sample, if there is room.
#[inline(never)]
fn notes(process: &Process, block: usize) -> bool {
    let is_noted = process.sampled().insert(block);
    if !is_noted {
        process.count_lost();
    }
    is_noted
}

#[cold]
#[inline(never)]
fn clock_moved(process: &Process, thread: &mut ThreadState, clock: u64) -> bool {
    if clock & (CLOCK_PAUSED | CLOCK_STOPPED) != 0 {
        return false;
    }
    thread.large_budget = large::BUDGET;
    let generation = process.modules.generation();
    if generation != thread.generation {
        thread.generation = generation;
        thread.stack.forget();
    }
    // Without room the event that follows is lost; a later one has to write the reading again.
    if thread.ring.write(encode(Event::Epoch(Epoch(clock & CLOCK_EPOCH_MASK))), process) {
        thread.clock = clock;
    }
    true
}

#[cold]
#[inline(never)]
fn verify(process: &Process, thread: &mut ThreadState, entry: Entry, id: StackId) {
    if process.verify_countdown.fetch_sub(1, Ordering::Relaxed) == 1 {
        let every = process.session().map_or(0, |session| session.verify_every.load(Ordering::Relaxed));
        process.verify_countdown.store(every, Ordering::Relaxed);
        thread.stack.verify(entry, id, process);
    }
}

/// Writes an event without a stack.
pub(crate) fn note(event: Event) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    let Some(mut turn) = begin(tls::words(), entry) else { return };
    let clock = turn.clock();
    if turn.at(clock) {
        turn.push(event);
    }
}
