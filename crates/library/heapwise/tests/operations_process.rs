//! Spans of the whole process, against a second counter below: `stats_alloc` sees each call that heapwise passes on.
//!
//! One test only, or others would be measured along with it.

#![cfg(feature = "operations")]

use heapwise::{Counts, Operation, Session};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use std::thread;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<&StatsAlloc<System>> = heapwise::Allocator::new(&INSTRUMENTED_SYSTEM);

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

fn agree(ours: &Counts, theirs: &Stats) {
    assert_eq!(
        (ours.allocations, ours.reallocations, ours.deallocations),
        (theirs.allocations as u64, theirs.reallocations as u64, theirs.deallocations as u64)
    );
    assert_eq!(ours.net_bytes(), theirs.bytes_allocated as i64 - theirs.bytes_deallocated as i64);
}

/// What a span of the process sees, and what the other counter sees.
fn both(operation: &Operation, work: impl FnOnce()) -> (Counts, Stats) {
    let before = operation.total();
    let span = operation.measure_process();
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    work();
    let theirs = region.change();
    drop(span);
    (operation.total() - before, theirs)
}

#[test]
fn a_process_is_all_its_threads() {
    let session = Session::new();
    let operation = session.operation("process");
    // The harness is at rest as soon as nothing is counted twice in a row.
    let is_quiet =
        || both(&operation, || thread::sleep(std::time::Duration::from_millis(20))).0 == Counts::default();
    while !(is_quiet() && is_quiet()) {}

    // One thread: exact to the byte, and the peak as well.
    let mut bytes = 0;
    let (ours, theirs) = both(&operation, || bytes = work(1));
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
    let (ours, theirs) = both(&operation, || bytes = work(2));
    drop(thread_span);
    agree(&ours, &theirs);
    assert_eq!(session.operation("thread").total(), ours);

    // Many threads, all of which have ended.
    let (ours, theirs) = both(&operation, || {
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
