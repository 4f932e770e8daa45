//! Threads fill their heaps and drop most of it, or all; they end, or they stay as those of a service do.
//!
//! A thread that ends is an occasion for an allocator to tidy up, and one without a block left is the kindest case there is. With
//! a few blocks kept, or with threads that stay, the same allocator may give nothing back.

use super::{Held, Workload, churn, drop_most, joined, number, random_of, wait};
use crate::lab::worker::Stopwatch;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

pub(super) struct Threads;

/// What the threads do.
struct Plan {
    /// Allocations of each.
    count: u64,
    threads: u64,
    /// Blocks that each holds at a time.
    live: u64,
    keep_per_mille: u64,
    stay: bool,
    /// Milliseconds after the drop.
    after: u64,
}

impl Workload for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn about(&self) -> &'static str {
        "threads that hold blocks of 128 bytes to 8 KiB, and drop them"
    }

    fn unit(&self) -> &'static str {
        "allocations of each thread"
    }

    /// The numbers are allocations of a thread, threads, blocks that each holds, how many of a thousand are kept, whether threads
    /// stay (1) or end (0), and milliseconds after the drop.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let plan = Plan {
            count: number(numbers, 0, 0),
            threads: number(numbers, 1, 8).max(1),
            live: number(numbers, 2, 5_000).max(1),
            keep_per_mille: number(numbers, 3, 0),
            stay: number(numbers, 4, 0) != 0,
            after: number(numbers, 5, 0),
        };
        run(&plan, watch)
    }
}

fn run(plan: &Plan, watch: &mut Stopwatch) -> u64 {
    let barrier = || Barrier::new(plan.threads as usize + 1);
    // At the first all blocks are there, and none is dropped before the second, when memory was looked at. With one barrier the
    // threads run on while it is looked at, and the peak is whatever they have left by then.
    let (full, seen, dropped, end) = (barrier(), barrier(), barrier(), barrier());
    let job = |thread: u64| {
        let mut checksum = 0;
        let mut held = churn(plan.count, plan.live, &mut random_of(thread), &mut checksum);
        full.wait();
        seen.wait();
        drop_most(&mut held, plan.keep_per_mille);
        // The list of slots itself goes as well, unless something is left in it.
        if plan.keep_per_mille == 0 {
            held = Vec::new();
        }
        dropped.wait();
        if plan.stay {
            end.wait();
        }
        (held, checksum)
    };
    let mut checksum = 0u64;
    let mut kept: Vec<Held> = Vec::with_capacity(plan.threads as usize);
    watch.counts(plan.count.saturating_mul(plan.threads));
    watch.moment("baseline");
    thread::scope(|scope| {
        let start = |thread: u64| {
            let job = &job;
            scope.spawn(move || job(thread))
        };
        let handles: Vec<_> = (0..plan.threads).map(start).collect();
        full.wait();
        watch.moment("full");
        seen.wait();
        dropped.wait();
        let began = Instant::now();
        let mut handles = handles.into_iter();
        let mut take = |handle| {
            let (held, sum) = joined(handle);
            kept.push(held);
            checksum = checksum.wrapping_add(sum);
        };
        if !plan.stay {
            handles.by_ref().for_each(&mut take);
        }
        watch.moment("dropped");
        wait(began, plan.after);
        watch.moment("later");
        if plan.stay {
            end.wait();
        }
        handles.for_each(take);
    });
    drop(kept);
    checksum
}
