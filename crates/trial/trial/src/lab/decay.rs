//! How long jemalloc keeps free pages: what the wait costs in memory, and what returning them at once costs in time.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Shown, Unit, Variant, amount, processor_time, rss,
};
use super::worker::Answer;
use heapwise_analysis::units::signed_percent;

const AT_ONCE: &str = "jemalloc:dirty_decay_ms=0";
const SECOND: &str = "jemalloc:dirty_decay_ms=1000";
const USUAL: &str = "jemalloc:dirty_decay_ms=10000";
const BACKGROUND: &str = "jemalloc:background_thread=true:dirty_decay_ms=1000";
const SHORTEST_WAIT_NS: u64 = 100_000_000;
const ENDS: usize = 0;
const STAYS: usize = 1;

pub(super) const DECAY: ByAllocator = ByAllocator {
    name: "decay",
    about: "jemalloc's dirty_decay_ms, muzzy_decay_ms and background_thread",
    shows: "A short decay returns memory only if something looks at the clock: allocations do, and jemalloc's background thread \
            does. A program that has become idle keeps all of it, whatever the decay is.",
    with: "jemalloc:dirty_decay_ms=0,jemalloc:dirty_decay_ms=1000,jemalloc:dirty_decay_ms=10000,\
           jemalloc:dirty_decay_ms=1000:muzzy_decay_ms=1000,jemalloc:background_thread=true:dirty_decay_ms=1000",
    variants: &[
        Variant {
            name: "threads end",
            about: "threads fill their heaps, drop all and end",
            workload: "threads",
            // Nothing is waited for: how long free pages stay is shown by the other variant.
            numbers: |sizes| vec![sizes.of(500_000), sizes.threads, sizes.of(10_000), 0, 0, 0],
        },
        Variant {
            name: "threads stay",
            about: "threads fill their heaps, drop 99 % and stay idle",
            workload: "threads",
            numbers: |sizes| vec![sizes.of(500_000), sizes.threads, sizes.of(10_000), 10, 1, sizes.wait_ms],
        },
    ],
    columns: &[
        Shown::new("cpu_ns", "load", Unit::Time, |answer| processor_time(answer, "baseline", "full")),
        Shown::new("full_bytes", "full", Unit::Bytes, |answer| rss(answer, "full")),
        Shown::new("dropped_bytes", "dropped", Unit::Bytes, |answer| rss(answer, "dropped")),
        Shown::new("later_bytes", "12 s later", Unit::Bytes, later),
    ],
    claims: &[
        Claim {
            what: "to return pages at once costs time",
            article: "17 %",
            here: |found| {
                let (at_once, usual) =
                    (found.median(ENDS, AT_ONCE, "cpu_ns")?, found.median(ENDS, USUAL, "cpu_ns")?);
                let more = at_once / usual - 1.0;
                Some(Judgement::of(
                    more > 0.05,
                    signed_percent(more, 0),
                    "it returns each run of pages that becomes empty, and not each block",
                ))
            },
        },
        Claim {
            what: "the longer the decay, the more is left when all is dropped",
            article: "14.7, 83.3 and 129.4 MB",
            here: |found| {
                let left =
                    [AT_ONCE, SECOND, USUAL].map(|allocator| found.median(ENDS, allocator, "dropped_bytes"));
                let [Some(at_once), Some(second), Some(usual)] = left else { return None };
                Some(Judgement::of(
                    at_once < second && second < 1.05 * usual,
                    format!("{}, {} and {}", amount(at_once), amount(second), amount(usual)),
                    "these pages are empty: a purge, or the background thread, returns all of them",
                ))
            },
        },
        Claim {
            what: "a decay of a second returns nothing in the twelve that follow",
            article: "83.3 → 83.2 MB",
            here: |found| {
                let (dropped, later) = two(found, SECOND)?;
                Some(Judgement::of(
                    later > 0.9 * dropped,
                    format!("{} → {}", amount(dropped), amount(later)),
                    "without a background thread jemalloc looks at the clock only when it is called",
                ))
            },
        },
        Claim {
            what: "with a background thread it returns nearly all",
            article: "",
            here: |found| {
                let (dropped, later) = two(found, BACKGROUND)?;
                Some(Judgement::of(
                    later < 0.5 * dropped,
                    format!("{} → {}", amount(dropped), amount(later)),
                    "",
                ))
            },
        },
    ],
    ..DEFAULTS
};

/// What is resident later, if it was waited for.
fn later(answer: &Answer) -> Option<f64> {
    let is_later = answer.moment("later")?.wall_ns > answer.moment("dropped")?.wall_ns + SHORTEST_WAIT_NS;
    is_later.then(|| rss(answer, "later")).flatten()
}

/// What is left after the drop and later, where threads stay.
fn two(found: &Found, allocator: &str) -> Option<(f64, f64)> {
    Some((found.median(STAYS, allocator, "dropped_bytes")?, found.median(STAYS, allocator, "later_bytes")?))
}
