//! Who frees a block: the thread that allocated it, or another one.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Shown, Unit, Variant, measured, processor_time, rss,
};
use heapwise_analysis::units::percent;

const COUNT: u64 = 600_000;
const LIVE: u64 = 2_000;
/// Requests of a connection, of which there are 16 for each thread.
const REQUESTS: u64 = 1_000;
const SAME: usize = 0;
const OTHER: usize = 1;
const PER_CORE: usize = 2;
const STEALING: usize = 3;

pub(super) const CROSS_THREAD: ByAllocator = ByAllocator {
    name: "cross-thread",
    about: "blocks are freed by the same thread, or by another one",
    shows: "What it costs if another thread frees a block, as where tasks move between threads: memory at the peak and at the end, \
            and processor time, that of the channel between the threads included.",
    with: "jemalloc,mimalloc,mimalloc2,snmalloc,rpmalloc",
    variants: &[
        Variant {
            name: "same thread",
            about: "each thread frees what it allocated",
            workload: "handed",
            numbers: |sizes| vec![sizes.of(COUNT), sizes.threads, sizes.of(LIVE), 0],
        },
        Variant {
            name: "another thread",
            about: "each thread hands its blocks to another one, which frees them",
            workload: "handed",
            numbers: |sizes| vec![sizes.of(COUNT), sizes.threads, sizes.of(LIVE), 1],
        },
        Variant {
            name: "thread per core",
            about: "tasks of tokio, a runtime for each thread",
            workload: "tasks",
            numbers: |sizes| vec![sizes.of(REQUESTS), sizes.threads, 0],
        },
        Variant {
            name: "work stealing",
            about: "the same tasks in one runtime, whose threads take work from each other",
            workload: "tasks",
            numbers: |sizes| vec![sizes.of(REQUESTS), sizes.threads, 1],
        },
    ],
    columns: &[
        Shown::new("peak_bytes", "peak", Unit::Bytes, |answer| {
            Some(answer.moment("full")?.memory?.highest_bytes as f64)
        }),
        Shown::new("end_bytes", "end", Unit::Bytes, |answer| rss(answer, "dropped")),
        Shown::new("cpu_ns", "processor time", Unit::Time, |answer| {
            processor_time(answer, "baseline", "full")
        }),
        Shown::new("remote_frees", "by others", Unit::Share, |answer| {
            Some(measured(answer, "remote_frees")? / (answer.allocations? as f64).max(1.0))
        }),
    ],
    against: &[(SAME, OTHER), (PER_CORE, STEALING)],
    claims: &[
        Claim {
            what: "with jemalloc the peak is 1.39 times as high",
            article: "164.6 → 228.1 MB, 1.39 times",
            here: |found| {
                factor(
                    found,
                    "peak_bytes",
                    1.2,
                    "the article measures both in one process, with twice the threads for \
                 the second, and counts the blocks that are in its channels",
                )
            },
        },
        Claim {
            what: "with jemalloc 1.97 times as much is left at the end",
            article: "61.1 → 120.7 MB, 1.97 times",
            here: |found| {
                factor(
                    found,
                    "end_bytes",
                    1.5,
                    "the article measures the second way in the process that the first one \
                 has left its memory in",
                )
            },
        },
        Claim {
            what: "where threads steal work, nearly every block is freed by another one",
            article: "94 % with 16 threads, by calculation",
            here: |found| {
                let share = found.median(STEALING, "default", "remote_frees")?;
                Some(Judgement::of(
                    share > 0.5,
                    percent(share),
                    if share > 0.5 {
                        ""
                    } else {
                        "a task is not dealt out at random: the thread that has started it runs it next, unless another one is idle"
                    },
                ))
            },
        },
    ],
    ..DEFAULTS
};

/// Whether the second way needs so many times as much as the first.
fn factor(found: &Found, column: &str, least: f64, why: &'static str) -> Option<Judgement> {
    let (same, other) = (found.median(SAME, "jemalloc", column)?, found.median(OTHER, "jemalloc", column)?);
    let factor = other / same;
    Some(Judgement::of(factor >= least, format!("{factor:.2} times"), if factor >= least { "" } else { why }))
}
