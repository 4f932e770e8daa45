//! The producer's side of a thread's ring.
//!
//! One thread writes, the collector reads. The writer keeps its own copy of the head and a `stop` before which there
//! is room for any event, so the usual event is: compare, store the words, store the head. Everything else happens
//! when `stop` is reached, at least once per page of events. What that takes of the process is behind [`Waiting`], so a ring
//! knows nothing but its memory: `tests/models` compiles this file once more, for a model checker.

use heapwise_trace::live::atomics::{AtomicU64, Ordering};
use heapwise_trace::live::layout::RingHeader;
use heapwise_trace::live::words::{MAX_WORDS, Words};

/// Room that `stop` leaves: an epoch and the largest event.
const RESERVE: u64 = 64;
const _: () = assert!(RESERVE as usize >= (MAX_WORDS + 1) * 8);
/// After how many bytes the writer checks the collector's progress.
const CHECK_BYTES: u64 = 4096;
/// How long a full ring waits for the collector before events are dropped, in steps of [`Waiting::sleep`].
const WAIT_STEPS: u32 = 400;
/// How often a thread that may not sleep looks for room: in the order of a second.
const SPINS: u32 = 1 << 25;
/// How often signals may interrupt a step.
const MOST_INTERRUPTIONS: u32 = 100_000;

/// How a thread may wait for room in its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all: no reader makes room.
    None,
    /// By looking again and again: at a system call it would be killed.
    Spin,
    /// Asleep.
    Sleep,
}

/// What the writer of a ring needs of the process and the thread when it checks the collector's progress.
pub trait Waiting {
    /// Called when the writer checks the progress, at this position: for the first time, or again.
    fn looked_up(&self, head: u64, is_first: bool);
    /// Ends the collector's sleep.
    fn wake_collector(&self);
    /// How this thread may wait.
    fn patience(&self) -> Patience;
    /// Sleeps for a step, unless the tail is not what was seen. Returns whether a signal has ended the sleep.
    fn sleep(&self, tail: &AtomicU64, seen: u64) -> bool;
    /// Whether no reader will make room any more.
    fn is_over(&self) -> bool;
}

/// The writer's end of a ring. Zeroed memory is one that never has room.
#[derive(Debug)]
#[repr(C)]
pub struct Producer<'ring> {
    data: *const AtomicU64,
    mask: u64,
    head: u64,
    /// Where to look at the progress next; 0 if nothing was written yet.
    stop: u64,
    header: Option<&'ring RingHeader>,
    /// The tail at which waiting was in vain; do not wait again before it moves.
    gave_up_at: Option<u64>,
}

impl<'ring> Producer<'ring> {
    /// Takes over a ring that is drained and belongs to the calling thread. Its words are a power of two in number.
    pub fn new(header: &'ring RingHeader, words: &'ring [AtomicU64]) -> Self {
        let head = header.head.load(Ordering::Relaxed);
        let mask = words.len() as u64 - 1;
        Self { data: words.as_ptr(), mask, head, stop: 0, header: Some(header), gave_up_at: None }
    }

    /// Writes an event, or counts it as lost.
    #[inline(always)]
    pub fn push(&mut self, words: Words, waiting: &impl Waiting) {
        if !self.write(words, waiting)
            && let Some(header) = self.header
        {
            header.lost_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes words if there is room for them. Returns whether there was.
    #[inline(always)]
    pub fn write(&mut self, words: Words, waiting: &impl Waiting) -> bool {
        // PERF: each of the usual lengths has code of its own, in which it is a constant.
        match words.len {
            1 => self.write_each(&words.words[..1], waiting),
            2 => self.write_each(&words.words[..2], waiting),
            _ => self.write_long(&words, waiting),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_long(&mut self, words: &Words, waiting: &impl Waiting) -> bool {
        self.write_each(words.words.get(..words.len).unwrap_or_default(), waiting)
    }

    #[inline(always)]
    fn write_each(&mut self, words: &[u64], waiting: &impl Waiting) -> bool {
        let head = self.head;
        if head >= self.stop && !self.make_room(waiting) {
            return false;
        }
        let Some(header) = self.header else { return false };
        // PERF: copies, or they would be loaded again after each store.
        let (data, mask) = (self.data, self.mask);
        for (i, &value) in words.iter().enumerate() {
            let index = (head / 8 + i as u64) & mask;
            // SAFETY: `index` is below the number of words of the ring, which is there as long as its header.
            let word = unsafe { &*data.add(index as usize) };
            // The collector does not read it before the head says so.
            word.store(value, Ordering::Relaxed);
        }
        let head = head + words.len() as u64 * 8;
        self.head = head;
        header.head.store(head, Ordering::Release);
        true
    }

    /// Looks at the collector's progress. Returns whether there is room for an event.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, waiting: &impl Waiting) -> bool {
        let Some(header) = self.header else { return false };
        let capacity = (self.mask + 1) * 8;
        let mut tail = header.tail.0.load(Ordering::Acquire);
        if self.head.wrapping_sub(tail) > capacity / 2 {
            waiting.wake_collector();
        }
        if !self.is_roomy(tail) && self.gave_up_at != Some(tail) {
            tail = self.wait_for_room(header, waiting);
        }
        let full_at = tail.wrapping_add(capacity - RESERVE);
        let is_first = self.stop == 0;
        self.stop = full_at.min((self.head + 1).next_multiple_of(CHECK_BYTES));
        waiting.looked_up(self.head, is_first);
        self.head < full_at
    }

    /// Whether there is enough room to be worth going on. There is none with an invalid tail.
    fn is_roomy(&self, tail: u64) -> bool {
        self.head.wrapping_sub(tail) <= (self.mask + 1) * 8 - 2 * RESERVE
    }

    fn wait_for_room(&mut self, header: &RingHeader, waiting: &impl Waiting) -> u64 {
        let tail = match waiting.patience() {
            Patience::None => return header.tail.0.load(Ordering::Acquire),
            Patience::Spin => self.spin_for_room(header),
            Patience::Sleep => self.sleep_for_room(header, waiting),
        };
        self.gave_up_at = (!self.is_roomy(tail)).then_some(tail);
        tail
    }

    fn sleep_for_room(&self, header: &RingHeader, waiting: &impl Waiting) -> u64 {
        let mut tail = header.tail.0.load(Ordering::Acquire);
        // A storm of signals must not end the wait early, nor make it endless.
        let (mut steps, mut interruptions) = (0, 0);
        while steps < WAIT_STEPS && interruptions < MOST_INTERRUPTIONS {
            header.waiting.store(1, Ordering::SeqCst);
            waiting.wake_collector();
            match waiting.sleep(&header.tail.0, tail) {
                true => interruptions += 1,
                false => steps += 1,
            }
            tail = header.tail.0.load(Ordering::Acquire);
            if self.is_roomy(tail) || waiting.is_over() {
                break;
            }
        }
        tail
    }

    /// Without a system call. The collector reads the ring by itself after a moment.
    #[cold]
    fn spin_for_room(&self, header: &RingHeader) -> u64 {
        for _ in 0..SPINS {
            let tail = header.tail.0.load(Ordering::Acquire);
            if self.is_roomy(tail) {
                return tail;
            }
            core::hint::spin_loop();
        }
        header.tail.0.load(Ordering::Acquire)
    }
}
