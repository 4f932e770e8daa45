//! Who frees: the thread that has allocated a block, or another one, as it is where tasks move between threads.
//!
//! Both ways do the same number of allocations from the same sizes, each in a separate process: in one, as in the
//! article, what the first leaves behind counts for the second.

use super::{Held, SIZES, Workload, block, joined, number, random_of};
use crate::lab::worker::Stopwatch;
use std::sync::Barrier;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

pub(super) struct Handed;

/// Blocks on their way from one thread to another. They are live, so they count as memory in use.
const ON_THE_WAY: usize = 256;

impl Workload for Handed {
    fn name(&self) -> &'static str {
        "handed"
    }

    fn about(&self) -> &'static str {
        "blocks are freed by the thread that allocated them, or handed to another one"
    }

    fn unit(&self) -> &'static str {
        "allocations of each thread"
    }

    /// The numbers are allocations of a thread, threads, blocks that each holds, and whether another thread frees (1).
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let (count, threads) = (number(numbers, 0, 0), number(numbers, 1, 8).max(1));
        let (live, is_handed) = (number(numbers, 2, 2_000).max(1), number(numbers, 3, 0) != 0);
        let (mut checksum, mut remote) = (0u64, 0u64);
        let (full, seen) = (Barrier::new(threads as usize + 1), Barrier::new(threads as usize + 1));
        watch.counts(count.saturating_mul(threads));
        watch.moment("baseline");
        thread::scope(|scope| {
            let start = |thread: u64| {
                let elsewhere = is_handed.then(|| {
                    let (sender, receiver) = sync_channel::<Vec<u8>>(ON_THE_WAY);
                    scope.spawn(move || receiver.into_iter().for_each(drop));
                    sender
                });
                let (full, seen) = (&full, &seen);
                scope.spawn(move || {
                    let (held, checksum, handed) = allocate(count, thread, live, elsewhere.as_ref());
                    full.wait();
                    seen.wait();
                    drop(held);
                    (checksum, handed)
                })
            };
            let handles: Vec<_> = (0..threads).map(start).collect();
            full.wait();
            watch.moment("full");
            seen.wait();
            for (sum, handed) in handles.into_iter().map(joined) {
                (checksum, remote) = (checksum.wrapping_add(sum), remote + handed);
            }
        });
        watch.moment("dropped");
        watch.measured("remote_frees", remote);
        checksum
    }
}

/// Blocks take the places of others in turn; the old one goes where it is to be freed. Returns those that are left, the checksum,
/// and how many were handed to another thread.
fn allocate(count: u64, thread: u64, live: u64, elsewhere: Option<&SyncSender<Vec<u8>>>) -> (Held, u64, u64) {
    let (mut random, mut checksum, mut handed) = (random_of(thread), 0, 0);
    let mut held: Held = (0..live).map(|_| None).collect();
    for at in 0..count {
        let old = held[(at % live) as usize].replace(block(&mut random, &SIZES, &mut checksum));
        if let (Some(old), Some(elsewhere)) = (old, elsewhere) {
            handed += u64::from(elsewhere.send(old).is_ok());
        }
    }
    (held, checksum, handed)
}
