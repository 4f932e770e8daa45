//! The producer's side of a thread's ring.
//!
//! One thread writes, the collector reads. The writer keeps its own copy of the head and a `stop` before which there
//! is room for any event, so the usual event is: compare, store the words, store the head. Everything else happens
//! when `stop` is reached, at least once per page of events.

use crate::process::PROCESS;
use crate::{confined, stopwatch, sys};
use core::sync::atomic::Ordering;
use heapwise_trace::live::layout::{CLOCK_STOPPED, RING_DATA_OFFSET, RingHeader};
use heapwise_trace::live::words::{MAX_WORDS, Words};

/// Room that `stop` leaves: an epoch and the largest event.
const RESERVE: u64 = 64;
const _: () = assert!(RESERVE as usize >= (MAX_WORDS + 1) * 8);
/// How often the writer looks up from its work.
const CHECK_BYTES: u64 = 4096;
/// How long a full ring waits for the collector before events are dropped, in steps.
const WAIT_STEP_NS: u64 = 5_000_000;
const WAIT_STEPS: u32 = 400;
/// How often a thread that may not sleep looks for room: in the order of a second.
const SPINS: u32 = 1 << 25;
/// How often signals may interrupt a step.
const MOST_INTERRUPTIONS: u32 = 100_000;

/// The writer's end of a ring. Zeroed memory is one that never has room.
#[derive(Debug)]
#[repr(C)]
pub struct Producer {
    data: *mut u64,
    mask: u64,
    head: u64,
    stop: u64,
    header: Option<&'static RingHeader>,
    /// The tail at which waiting was in vain; do not wait again before it moves.
    gave_up_at: Option<u64>,
}

impl Producer {
    /// Takes over a ring that is drained and belongs to the calling thread.
    pub fn new(header: &'static RingHeader) -> Self {
        let capacity = header.capacity.load(Ordering::Relaxed);
        let head = header.head.load(Ordering::Relaxed);
        // SAFETY: a ring's data follow its header at this offset in the same extent.
        let data = unsafe { core::ptr::from_ref(header).cast::<u8>().add(RING_DATA_OFFSET as usize) };
        let mask = capacity / 8 - 1;
        Self { data: data.cast_mut().cast(), mask, head, stop: head, header: Some(header), gave_up_at: None }
    }

    /// Writes an event, or counts it as lost.
    #[inline(always)]
    pub fn push(&mut self, words: Words) {
        if !self.write(words)
            && let Some(header) = self.header
        {
            header.lost_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes words if there is room for them. Returns whether there was.
    #[inline(always)]
    pub fn write(&mut self, words: Words) -> bool {
        if self.head >= self.stop && !self.make_room() {
            return false;
        }
        let Some(header) = self.header else { return false };
        let at = self.head / 8;
        for i in 0..words.len.min(MAX_WORDS) {
            let index = (at + i as u64) & self.mask;
            // SAFETY: `index` is below the number of words of the ring, which is this thread's to write; the
            // collector does not read these words before the head says so.
            unsafe { self.data.add(index as usize).write(words.words[i]) };
        }
        self.head += words.len as u64 * 8;
        header.head.store(self.head, Ordering::Release);
        true
    }

    /// Looks at the collector's progress. Returns whether there is room for an event.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> bool {
        let Some(header) = self.header else { return false };
        let capacity = header.capacity.load(Ordering::Relaxed);
        let mut tail = header.tail.0.load(Ordering::Acquire);
        if self.head - tail > capacity / 2 {
            wake_collector();
        }
        if self.head - tail > capacity - 2 * RESERVE {
            tail = self.wait_for_room(header, capacity);
        }
        let full_at = tail + capacity - RESERVE;
        self.stop = full_at.min((self.head + 1).next_multiple_of(CHECK_BYTES));
        stopwatch::choose(self.head);
        // The clock orders threads only as finely as it moves, so busy threads move it.
        if PROCESS.threaded.load(Ordering::Relaxed) != 0
            && let Some(session) = PROCESS.session()
        {
            session.clock.0.fetch_add(1, Ordering::AcqRel);
        }
        self.head < full_at
    }

    fn wait_for_room(&mut self, header: &RingHeader, capacity: u64) -> u64 {
        let mut tail = header.tail.0.load(Ordering::Acquire);
        if self.gave_up_at == Some(tail) {
            return tail;
        }
        let Some(session) = PROCESS.session() else { return tail };
        if confined::is_strict() {
            return self.spin_for_room(header, capacity);
        }
        // SAFETY: the low half of an aligned 64-bit atomic is an aligned 32-bit one on a little-endian machine, and
        // only the kernel looks at it.
        let tail_word = unsafe { &*header.tail.0.as_ptr().cast::<core::sync::atomic::AtomicU32>() };
        // A storm of signals must not end the wait early, nor make it endless.
        let (mut steps, mut interruptions) = (0, 0);
        while steps < WAIT_STEPS && interruptions < MOST_INTERRUPTIONS {
            header.waiting.store(1, Ordering::SeqCst);
            wake_collector();
            match sys::futex_wait(tail_word, tail as u32, WAIT_STEP_NS) {
                true => interruptions += 1,
                false => steps += 1,
            }
            tail = header.tail.0.load(Ordering::Acquire);
            if self.head - tail <= capacity - 2 * RESERVE {
                self.gave_up_at = None;
                return tail;
            }
            if session.clock.0.load(Ordering::Relaxed) & CLOCK_STOPPED != 0 {
                break;
            }
            if PROCESS.collector_is_gone(session) {
                PROCESS.become_inert();
                break;
            }
        }
        self.gave_up_at = Some(tail);
        tail
    }

    /// The same without a system call, for which the thread would be killed. The collector looks by itself after a moment.
    #[cold]
    fn spin_for_room(&mut self, header: &RingHeader, capacity: u64) -> u64 {
        for _ in 0..SPINS {
            let tail = header.tail.0.load(Ordering::Acquire);
            if self.head - tail <= capacity - 2 * RESERVE {
                self.gave_up_at = None;
                return tail;
            }
            core::hint::spin_loop();
        }
        let tail = header.tail.0.load(Ordering::Acquire);
        self.gave_up_at = Some(tail);
        tail
    }
}

/// Ends the collector's sleep.
pub fn wake_collector() {
    if let Some(session) = PROCESS.session() {
        let wake = &session.wake.0;
        if wake.load(Ordering::Relaxed) == 1 && wake.swap(0, Ordering::AcqRel) == 1 {
            sys::futex_wake(wake);
        }
    }
}
