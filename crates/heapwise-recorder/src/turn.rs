//! Taking turns: the recorder works for one event of a thread at a time, and never inside of itself.

use crate::arch::entry::Entry;
use crate::arch::tls::{self, ThreadWords};
use crate::guard::{self, Turn};
use crate::process::PROCESS;
use crate::thread::ThreadState;
use crate::{large, loadable, real};
use core::sync::atomic::{Ordering, compiler_fence};
use heapwise_trace::event::{Epoch, Event, StackId};
use heapwise_trace::live::layout::{CLOCK_EPOCH_MASK, CLOCK_PAUSED, CLOCK_STOPPED};
use heapwise_trace::live::words::encode;

/// The recorder at work for one event of this thread. Dropping it lets the next one in.
pub(crate) struct Turned {
    words: *mut ThreadWords,
    pub(crate) thread: &'static mut ThreadState,
    /// The guard before: 0, or that of the real allocator, which has called something of the program's.
    before: usize,
}

impl Drop for Turned {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this thread's own words.
        unsafe { (*self.words).guard = self.before };
    }
}

/// Takes this thread's turn; `None` if there is nothing to record to, or the recorder is at work further out.
#[inline(always)]
pub(crate) fn begin(entry: &Entry) -> Option<Turned> {
    let words = tls::words();
    let attached = !PROCESS.clock.load(Ordering::Acquire).is_null();
    // SAFETY: this thread's own words; a signal handler leaves them as it found them.
    let (state, mut before) = unsafe { ((*words).state, (*words).guard) };
    if !attached || before != 0 || state.is_null() {
        before = begin_slowly(words, entry)?;
    }
    // SAFETY: as above. The state is this thread's and, with the guard set, at work only here.
    let thread = unsafe {
        (*words).guard = entry.stack_pointer;
        compiler_fence(Ordering::SeqCst);
        &mut *(*words).state
    };
    Some(Turned { words, thread, before })
}

/// Attaches process and thread, or sorts out a guard that is set. Returns the guard to be set afterwards if the turn is
/// ours.
#[cold]
#[inline(never)]
pub(crate) fn begin_slowly(words: *mut ThreadWords, entry: &Entry) -> Option<usize> {
    // SAFETY: this thread's own words, to which no other reference exists here.
    let words = unsafe { &mut *words };
    if PROCESS.is_inert() {
        return None;
    }
    let before = words.guard;
    let stack = crate::thread::current(words).map_or(0..0, |thread| thread.stack.stacks.current());
    match guard::turn(words, entry.stack_pointer, stack) {
        Turn::Free => {}
        Turn::InReal if !real::contains(entry) => {
            // The real allocator has called the program: a handler for failed requests, say, or the making of an
            // exception; or a signal has arrived. Nothing of ours is under way.
            return (PROCESS.attach() && attach_thread(words)).then_some(before);
        }
        Turn::Internal | Turn::InReal => return None,
        Turn::Busy => {
            PROCESS.count_lost();
            return None;
        }
        Turn::Abandoned => {
            // Only an event that was being described is lost, not one of an allocator that threw an exception.
            if before & guard::REAL == 0 {
                PROCESS.count_lost();
            }
            if let Some(thread) = crate::thread::current(words) {
                thread.stack.forget();
            }
        }
    }
    words.guard = guard::INTERNAL;
    let attached = PROCESS.attach() && attach_thread(words);
    words.guard = 0;
    attached.then_some(0)
}

pub(crate) fn attach_thread(words: &mut ThreadWords) -> bool {
    if crate::thread::current(words).is_some() {
        return true;
    }
    match ThreadState::attach(words.state, &PROCESS) {
        Some(state) => {
            words.state = state;
            true
        }
        None => {
            PROCESS.count_lost();
            false
        }
    }
}

/// Attaches the process before its first allocation, so that one which never allocates is seen, too.
pub fn start() {
    let words = tls::words();
    // SAFETY: this thread's own words.
    unsafe { (*words).guard = guard::INTERNAL };
    loadable::start();
    if real::resolve()
        && PROCESS.attach()
        && let Some(header) = PROCESS.header()
    {
        PROCESS.describe_allocator(header);
    }
    // SAFETY: as above.
    unsafe { (*words).guard = 0 };
}

impl Turned {
    /// The clock now.
    #[inline(always)]
    pub(crate) fn clock(&self) -> u64 {
        let clock = PROCESS.clock.load(Ordering::Relaxed);
        // SAFETY: null only after the recorder gave up; else the session's clock, which is never unmapped.
        unsafe { clock.as_ref() }.map_or(CLOCK_STOPPED, |clock| clock.load(Ordering::Acquire))
    }

    /// Notes a clock reading in the ring if it is news. Returns whether events are recorded at the moment.
    #[inline(always)]
    pub(crate) fn at(&mut self, clock: u64) -> bool {
        clock == self.thread.clock || self.clock_moved(clock)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn clock_moved(&mut self, clock: u64) -> bool {
        if clock & (CLOCK_PAUSED | CLOCK_STOPPED) != 0 {
            return false;
        }
        let thread = &mut *self.thread;
        thread.clock = clock;
        thread.large_budget = large::BUDGET;
        let generation = PROCESS.generation.load(Ordering::Acquire);
        if generation != thread.generation {
            thread.generation = generation;
            thread.stack.forget();
        }
        thread.ring.push(encode(Event::Epoch(Epoch(clock & CLOCK_EPOCH_MASK))));
        true
    }

    #[inline(always)]
    pub(crate) fn stack(&mut self, entry: &Entry) -> StackId {
        let id = self.thread.stack.capture(entry);
        if PROCESS.verify_countdown.load(Ordering::Relaxed) != 0 {
            self.verify(entry);
        }
        id
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn verify(&mut self, entry: &Entry) {
        if PROCESS.verify_countdown.fetch_sub(1, Ordering::Relaxed) == 1 {
            let every = PROCESS.session().map_or(0, |session| session.verify_every.load(Ordering::Relaxed));
            PROCESS.verify_countdown.store(every, Ordering::Relaxed);
            self.thread.stack.verify(entry);
        }
    }

    /// Tells how long the call took, if that was measured.
    #[inline(always)]
    pub(crate) fn tell_time(&mut self) {
        // SAFETY: this thread's own word, read and written as a whole; no reference to it lives. A signal handler that
        // comes in between leaves a measurement of its own, which is dropped here.
        let ticks = unsafe { core::ptr::replace(&raw mut (*self.words).ticks, 0) };
        if ticks != 0 {
            self.push(Event::Timed { ticks });
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        self.thread.ring.push(encode(event));
    }
}

/// Writes an event without a stack.
pub(crate) fn note(event: Event) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    let Some(mut turn) = begin(&entry) else { return };
    let clock = turn.clock();
    if turn.at(clock) {
        turn.push(event);
    }
}
