//! What spans of the whole process count, against a second counter.

use heapwise::{Counts, Operation, Session};
use std::hint::black_box;
use std::thread;

/// What the other counter has seen.
pub(crate) struct Seen {
    pub(crate) allocations: u64,
    pub(crate) reallocations: u64,
    pub(crate) deallocations: u64,
    /// Bytes requested and not freed.
    pub(crate) net_bytes: i64,
}

/// Numbers that are as good as random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Allocates, resizes and frees in a random order, and returns the bytes that it requested. All that it allocates it frees.
fn work(seed: u64) -> u64 {
    let mut numbers = Numbers(seed);
    let mut bytes = 0;
    let mut blocks: [Vec<u8>; 32] = std::array::from_fn(|_| Vec::new());
    for _ in 0..2000 {
        let block = &mut blocks[numbers.below(32) as usize];
        match numbers.below(4) {
            0 => *block = Vec::new(),
            1 => {
                let size = numbers.below(10_000) as usize + 1;
                bytes += size as u64;
                *block = black_box(vec![0u8; size]);
            }
            2 => {
                let more = block.capacity() + numbers.below(5000) as usize + 1;
                bytes += more as u64;
                block.reserve_exact(more - block.len());
            }
            _ if block.capacity() > 1 => {
                let less = block.capacity() / 2;
                bytes += less as u64;
                block.truncate(less);
                block.shrink_to(less);
            }
            _ => {}
        }
    }
    bytes
}

fn agree(ours: &Counts, theirs: &Seen) {
    let counts = (ours.allocations, ours.reallocations, ours.deallocations);
    assert_eq!(counts, (theirs.allocations, theirs.reallocations, theirs.deallocations));
    assert_eq!(ours.net_bytes(), theirs.net_bytes);
}

/// What a span of the process sees, and what the other counter sees.
fn both(operation: &Operation, seen: fn() -> Seen, work: impl FnOnce()) -> (Counts, Seen) {
    let before = operation.total();
    let span = operation.measure_process();
    let first = seen();
    work();
    let last = seen();
    drop(span);
    let theirs = Seen {
        allocations: last.allocations - first.allocations,
        reallocations: last.reallocations - first.reallocations,
        deallocations: last.deallocations - first.deallocations,
        net_bytes: last.net_bytes - first.net_bytes,
    };
    (operation.total() - before, theirs)
}

/// Holds spans of the process against what another counter has seen so far.
pub(crate) fn agrees_with(seen: fn() -> Seen) {
    let session = Session::new();
    let operation = session.operation("process");
    // The harness is at rest as soon as nothing is counted twice in a row.
    let is_quiet = || {
        both(&operation, seen, || thread::sleep(std::time::Duration::from_millis(20))).0 == Counts::default()
    };
    while !(is_quiet() && is_quiet()) {}

    // One thread: exact to the byte, and the peak as well.
    let mut bytes = 0;
    let (ours, theirs) = both(&operation, seen, || bytes = work(1));
    agree(&ours, &theirs);
    assert_eq!(ours.allocated_bytes, bytes);
    let peak = session.operation("peak");
    {
        let _span = peak.measure_process();
        let _block = black_box(Vec::<u8>::with_capacity(1234));
    }
    assert_eq!(peak.report().peak_live_bytes(), Some(1234));

    // A thread that other spans watch, too: those say the same.
    let thread_span = session.operation("thread").measure_thread();
    let (ours, theirs) = both(&operation, seen, || bytes = work(2));
    drop(thread_span);
    agree(&ours, &theirs);
    assert_eq!(session.operation("thread").total(), ours);

    // Many threads, all of which have ended.
    let (ours, theirs) = both(&operation, seen, || {
        thread::scope(|threads| {
            let all: Vec<_> = (0..16).map(|seed| threads.spawn(move || work(seed))).collect();
            // A thread that is joined is past its last deallocation; one that a scope waits for may not be.
            bytes = all.into_iter().map(|thread| thread.join().expect("it does not panic")).sum();
        });
    });
    agree(&ours, &theirs);
    assert!(ours.allocated_bytes >= bytes && ours.allocated_bytes < bytes + (64 << 10), "{ours:?}, {bytes}");

    // Blocks that one thread allocates and another frees: no thread knows the peak, the process does.
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<u8>>(0);
    let handed_on = session.operation("handed on");
    let span = handed_on.measure_process();
    thread::scope(|threads| {
        threads.spawn(move || receiver.into_iter().for_each(drop));
        for _ in 0..100 {
            sender.send(black_box(vec![1u8; 1 << 20])).expect("the receiver is there");
        }
        drop(sender);
    });
    drop(span);
    let peak = handed_on.report().peak_live_bytes().expect("the process knows it");
    assert!(((1 << 20)..(5 << 20)).contains(&peak), "{peak}");
}
