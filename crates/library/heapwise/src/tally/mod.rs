//! What each thread has allocated since counting began.
//!
//! Each thread counts for itself, in a [`slot`] that only it writes to, so counting does not get slower with threads. The counts
//! of a thread are the difference of two readings; those of the process are the sum over all slots, also of threads that have
//! ended.

mod counts;
mod level;
mod peak;
mod slot;

pub use counts::Counts;
pub(crate) use level::SMALL;
pub(crate) use peak::{ProcessPeak, ThreadPeak};
#[cfg(feature = "budgets")]
pub(crate) use slot::is_ignoring;
pub(crate) use slot::{Ignore, allocated, deallocated, reallocated};
pub(crate) use slot::{count_allocation, count_deallocation, count_reallocation, process, thread};

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alignments up to a page are given like any other; larger ones are refused long before memory is short.
pub(crate) const SMALL_ALIGN: usize = 4096;

/// Why nothing can be counted, recorded or profiled in a program, and what to do.
pub(crate) const NOT_INSTALLED: &str = "heapwise::Allocator is not the global allocator of this program; add to it: \
     #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();";

/// Whether [`Allocator`](crate::Allocator) is the global allocator of this program. Counting is on from then on.
pub(crate) fn is_installed() -> bool {
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    if IS_KNOWN.load(Ordering::Relaxed) {
        return true;
    }
    // Existing watches must not count this. What is ignored goes into one slot for all threads, where one of them may overwrite
    // what another has just counted; hence more than one attempt.
    let _ignore = Ignore::begin();
    let is_installed = (0..1000).any(|_| {
        let before = thread();
        drop(black_box(Box::new(black_box(0u64))));
        thread().allocations != before.allocations
    });
    IS_KNOWN.store(is_installed, Ordering::Relaxed);
    is_installed
}

/// Panics with the remedy if nothing can be counted: zeroes would look like success. Counting is on from then on.
#[track_caller]
pub(crate) fn ensure_installed() {
    assert!(is_installed(), "heapwise counts nothing: {NOT_INSTALLED}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Use;

    fn buffer(bytes: usize) -> Vec<u8> {
        black_box(Vec::with_capacity(bytes))
    }

    #[test]
    fn a_thread_counts_its_own_calls() {
        let _use = Use::counting();
        ensure_installed();
        let before = thread();
        let mut block = buffer(100);
        std::thread::spawn(|| drop(buffer(5000))).join().expect("it does not panic");
        block.reserve_exact(300);
        drop(block);
        let counts = thread() - before;
        assert_eq!(counts.reallocations, 1);
        // What std allocates for a thread is this thread's, too; but not what that thread does.
        assert!(counts.allocated_bytes >= 400 && counts.allocated_bytes < 5000, "{counts:?}");
    }

    #[test]
    fn the_process_counts_threads_that_have_ended() {
        let _use = Use::counting();
        let before = process();
        for _ in 0..40 {
            std::thread::spawn(|| drop(buffer(1 << 20))).join().expect("it does not panic");
        }
        let counts = process() - before;
        assert!(counts.allocated_bytes >= 40 << 20, "{counts:?}");
        assert!(counts.allocations >= 40 && counts.deallocations >= 40);
    }

    #[test]
    fn what_is_ignored_is_not_counted() {
        let _use = Use::counting();
        let before = thread();
        {
            let _ignore = Ignore::begin();
            drop(buffer(100));
        }
        assert_eq!(thread() - before, Counts::default());
    }

    #[test]
    fn peaks_of_watchers_that_nest_and_overlap() {
        let _use = Use::counting();
        let outer = ThreadPeak::begin();
        let first = buffer(1000);
        let a = ThreadPeak::begin();
        drop(buffer(500));
        let b = ThreadPeak::begin();
        drop(first);
        drop(buffer(1200));
        // The first to begin ends first: they overlap.
        assert_eq!(a.end(), 500);
        drop(buffer(2000));
        assert_eq!(b.end(), 1000, "it began a thousand bytes higher");
        assert_eq!(outer.end(), 2000);
        let after = ThreadPeak::begin();
        assert_eq!(after.end(), 0);
    }

    #[test]
    fn counts_and_peak_are_those_of_a_sum() {
        let _use = Use::counting();
        // Sizes around what the level of a thread moves by before the process hears of it.
        let sizes = [1, 17, 100, 4 << 10, 32 << 10, (32 << 10) + 1, 64 << 10, 100 << 10];
        let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(64);
        let (before, peak) = (thread(), ThreadPeak::begin());
        let (mut expected, mut live, mut highest, mut random) = (Counts::default(), 0, 0, 1_u64);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (choice, at) = (random >> 61, (random >> 32) as usize);
            let size = sizes[at % sizes.len()];
            if choice < 3 && blocks.len() < 64 {
                blocks.push(buffer(size));
                expected.allocations += 1;
                expected.allocated_bytes += size as u64;
                live += size;
            } else if choice < 5 && !blocks.is_empty() {
                let chosen = at % blocks.len();
                let block = &mut blocks[chosen];
                let old = block.capacity();
                if size == old {
                    continue;
                }
                match size > old {
                    true => block.reserve_exact(size),
                    false => block.shrink_to(size),
                }
                expected.reallocations += 1;
                expected.allocated_bytes += size as u64;
                expected.freed_bytes += old as u64;
                live = live + size - old;
            } else if !blocks.is_empty() {
                let old = blocks.swap_remove(at % blocks.len()).capacity();
                expected.deallocations += 1;
                expected.freed_bytes += old as u64;
                live -= old;
            }
            highest = highest.max(live);
        }
        assert_eq!((thread() - before, peak.end()), (expected, highest as u64));
        assert!(expected.reallocations > 1000 && expected.deallocations > 1000, "{expected:?}");
    }

    #[test]
    fn more_watchers_than_there_is_room_for() {
        let _use = Use::counting();
        let watchers: [ThreadPeak; 40] = std::array::from_fn(|_| ThreadPeak::begin());
        drop(buffer(700));
        for watcher in watchers.into_iter().rev() {
            assert_eq!(watcher.end(), 700);
        }
    }

    #[test]
    fn a_block_that_shrinks_is_no_part_of_the_processs_peak_any_more() {
        let _use = Use::counting();
        let mut large = buffer(256 << 20);
        let peak = ProcessPeak::begin();
        large.shrink_to(1 << 10);
        // Another thread has it then, or this one: counts of so many bytes reach the process at once.
        std::thread::spawn(|| drop(buffer(200 << 20))).join().expect("it does not panic");
        let peak = peak.end();
        assert!(peak < 100 << 20, "{peak}");
        drop(large);
    }

    #[test]
    fn the_peak_of_the_process_holds_all_threads() {
        let _use = Use::counting();
        let peak = ProcessPeak::begin();
        let both = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let block = buffer(64 << 20);
                    both.wait();
                    drop(block);
                });
            }
        });
        let peak = peak.end();
        // Other tests free in the meantime what they had before.
        assert!(peak >= (128 << 20) - (48 << 20), "{peak}");
    }
}
