//! A ring's memory, its reader, and a thread that waits for room in it.

use crate::ring::{Patience, Producer, Waiting};
use crate::thread;
use heapwise_trace::live::atomics::{AtomicU64, Ordering};
use heapwise_trace::live::layout::RingHeader;
use std::cell::Cell;

/// A ring as it lies in shared memory.
#[derive(Debug)]
pub struct RingMemory {
    /// Its header.
    pub header: RingHeader,
    words: Box<[AtomicU64]>,
}

impl RingMemory {
    /// A ring of so many words, of which so many bytes were written and read before.
    pub fn new(words: usize, used: u64) -> Self {
        let header = RingHeader::default();
        header.capacity.store(words as u64 * 8, Ordering::Relaxed);
        header.head.store(used, Ordering::Relaxed);
        header.tail.0.store(used, Ordering::Relaxed);
        Self { header, words: (0..words).map(|_| AtomicU64::new(u64::MAX)).collect() }
    }

    /// The writer's end.
    pub fn producer(&self) -> Producer<'_> {
        Producer::new(&self.header, &self.words)
    }
}

/// The collector's end, which does what `collector/src/ring.rs` does.
#[derive(Debug, Default)]
pub struct Reader {
    /// Bytes that were read.
    pub tail: u64,
}

impl Reader {
    /// Takes what was written since.
    pub fn drain(&mut self, ring: &RingMemory, to: &mut Vec<u64>) {
        let head = ring.header.head.load(Ordering::Acquire);
        let mask = ring.words.len() - 1;
        assert!(head - self.tail <= ring.words.len() as u64 * 8, "no more than there is room for");
        let read = (self.tail / 8..head / 8).map(|at| ring.words[at as usize & mask].load(Ordering::Relaxed));
        to.extend(read);
        self.tail = head;
        ring.header.tail.0.store(head, Ordering::Release);
        ring.header.waiting.swap(0, Ordering::AcqRel);
    }
}

/// Waits for room by letting others go on, for a few steps.
#[derive(Debug)]
pub struct Sleeper {
    steps: Cell<u32>,
}

impl Sleeper {
    /// Sleeps at most so many times.
    pub fn new(steps: u32) -> Self {
        Self { steps: Cell::new(steps) }
    }
}

impl Waiting for Sleeper {
    fn looked_up(&self, _head: u64, _is_first: bool) {}

    fn wake_collector(&self) {}

    fn patience(&self) -> Patience {
        if self.steps.get() == 0 { Patience::None } else { Patience::Sleep }
    }

    fn sleep(&self, _tail: &AtomicU64, _seen: u64) -> bool {
        thread::yield_now();
        self.steps.set(self.steps.get().saturating_sub(1));
        false
    }

    fn is_over(&self) -> bool {
        self.steps.get() == 0
    }
}
