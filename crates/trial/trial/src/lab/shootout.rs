//! The article's shootout: peak, speed, and what is returned when threads drop all that they have.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Judgement, Shown, Unit, Variant, lazily_free, processor_time, returned, rss,
};
use super::worker::Answer;
use heapwise_analysis::units::percent;

/// Allocations of a thread, and blocks that it holds.
const COUNT: u64 = 200_000;
const LIVE: u64 = 5_000;
/// The variants.
const ENDS: usize = 0;
const KEEPS: usize = 1;
const STAYS: usize = 2;

pub(super) const SHOOTOUT: ByAllocator = ByAllocator {
    name: "shootout",
    about: "threads fill their heaps and drop all: what is returned",
    shows: "How much an allocator returns when all is dropped depends less on the allocator than on what is left: with one block in \
            a hundred kept, or with threads that stay, those that returned nearly all return nearly nothing.",
    with: "jemalloc,mimalloc,mimalloc2,snmalloc,rpmalloc",
    variants: &[
        Variant {
            name: "threads end",
            about: "all is dropped, and the threads end",
            workload: "threads",
            numbers: |sizes| vec![sizes.of(COUNT), sizes.threads, sizes.of(LIVE), 0, 0, 0],
        },
        Variant {
            name: "1 % kept",
            about: "one block in a hundred is kept, and the threads end",
            workload: "threads",
            numbers: |sizes| vec![sizes.of(COUNT), sizes.threads, sizes.of(LIVE), 10, 0, 0],
        },
        Variant {
            name: "threads stay",
            about: "one block in a hundred is kept, and the threads stay, as those of a service do",
            workload: "threads",
            numbers: |sizes| vec![sizes.of(COUNT), sizes.threads, sizes.of(LIVE), 10, 1, 0],
        },
    ],
    columns: &[
        Shown::new("peak_bytes", "peak", Unit::Bytes, |answer| rss(answer, "full")),
        Shown::new("per_cpu_second", "per CPU s", Unit::PerSecond, allocations_per_second),
        Shown::new("dropped_bytes", "dropped", Unit::Bytes, |answer| rss(answer, "dropped")),
        Shown::new("lazily_free_bytes", "lazily free", Unit::Bytes, |answer| lazily_free(answer, "dropped")),
        Shown::new("returned", "returned", Unit::Share, |answer| returned(answer, "full", "dropped")),
    ],
    claims: &[
        Claim {
            what: "glibc returns nearly all",
            article: "99 %",
            here: |found| {
                let figures = found.median(ENDS, "default", "returned")?;
                Some(Judgement::of(
                    figures >= 0.9,
                    percent(figures),
                    "only since the threads end without a block left",
                ))
            },
        },
        Claim {
            what: "with one block in a hundred kept glibc returns nearly nothing",
            article: "",
            here: |found| {
                let figures = found.median(KEEPS, "default", "returned")?;
                Some(Judgement::of(
                    figures <= 0.2,
                    percent(figures),
                    "an arena is returned from its end, and one block in a hundred is everywhere",
                ))
            },
        },
        Claim {
            what: "where threads stay no allocator returns much",
            article: "",
            here: |found| {
                let names = ["default", "jemalloc", "mimalloc", "snmalloc"];
                let shares = names.map(|name| found.median(STAYS, name, "returned"));
                let most = shares.into_iter().flatten().reduce(f64::max)?;
                Some(Judgement::of(
                    most <= 0.2,
                    format!("at most {}", percent(most)),
                    "no thread ends and none allocates, so no allocator has an occasion to tidy up",
                ))
            },
        },
        Claim {
            what: "jemalloc returns three quarters",
            article: "78 %",
            here: |found| {
                let figures = found.median(ENDS, "jemalloc", "returned")?;
                Some(Judgement::of(
                    (0.6..0.95).contains(&figures),
                    percent(figures),
                    "the last thread of an arena that ends has it return all, and not the decay of ten seconds",
                ))
            },
        },
        Claim {
            what: "mimalloc returns nothing",
            article: "1 %",
            here: |found| {
                let figures = found.median(ENDS, "mimalloc", "returned")?;
                Some(Judgement::of(
                    figures <= 0.1,
                    percent(figures),
                    "it returns pages after a delay, and only when it is called again",
                ))
            },
        },
        Claim {
            what: "jemalloc allocates faster than glibc",
            article: "more operations per second",
            here: |found| {
                let (jemalloc, glibc) = (
                    found.median(ENDS, "jemalloc", "per_cpu_second")?,
                    found.median(ENDS, "default", "per_cpu_second")?,
                );
                Some(Judgement::of(
                    jemalloc > 1.05 * glibc,
                    format!("{:.2} times as many", jemalloc / glibc),
                    "",
                ))
            },
        },
    ],
    ..DEFAULTS
};

/// Allocations for each second of processor time, that of all threads together.
fn allocations_per_second(answer: &Answer) -> Option<f64> {
    let ns = processor_time(answer, "baseline", "full").filter(|ns| *ns > 0.0)?;
    Some(answer.allocations? as f64 / ns * 1e9)
}
