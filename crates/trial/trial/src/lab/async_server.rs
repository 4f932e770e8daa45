//! The article's pattern of an asynchronous server: what jemalloc holds in proportion to what the program has.

use super::by_allocator::{
    ByAllocator, Claim, Found, Judgement, Shown, Unit, Variant, mib, processor_time, rss,
};
use super::worker::{Answer, Own};

const JEMALLOC: &str = "jemalloc";

pub(super) const ASYNC_SERVER: ByAllocator = ByAllocator {
    name: "async-server",
    about: "buffers of requests and of connections, then none",
    shows: "While a server is busy, resident memory stays in proportion to what it has. When the load ends, it stays where it was: \
            an allocator that is not called returns nothing, unless it has a thread for that.",
    workload: "connections",
    with: "jemalloc,jemalloc:background_thread=true:dirty_decay_ms=1000,mimalloc,mimalloc2,snmalloc",
    variants: &[Variant {
        name: "connections",
        about: "2 to 5 buffers of 128 bytes to 16 KiB in each step; 7 of 10 live for up to 20 steps, the others for up to 2,000",
        numbers: |sizes| vec![sizes.of(500_000), sizes.wait_ms],
    }],
    columns: &[
        bytes("busy_bytes", "busy", |answer| rss(answer, "all")),
        bytes("dropped_bytes", "dropped", |answer| rss(answer, "dropped")),
        bytes("later_bytes", "later", |answer| rss(answer, "later")),
        bytes("own_allocated_bytes", "its blocks", |answer| of(answer, "all", |own| own.allocated_bytes)),
        Shown {
            is_detail: true,
            ..bytes("own_active_bytes", "its active", |answer| of(answer, "all", |own| own.active_bytes))
        },
        Shown {
            is_detail: true,
            ..bytes("own_metadata_bytes", "its metadata", |answer| {
                of(answer, "all", |own| own.metadata_bytes)
            })
        },
        bytes("own_resident_bytes", "its resident", |answer| of(answer, "all", |own| own.resident_bytes)),
        bytes("own_later_bytes", "later", |answer| of(answer, "later", |own| own.resident_bytes)),
        Shown { unit: Unit::Ratio, ..bytes("excess", "excess", |answer| excess(answer, "all")) },
        Shown {
            unit: Unit::Ratio,
            is_detail: true,
            ..bytes("early_excess", "excess, early", |answer| excess(answer, "a tenth"))
        },
        Shown {
            unit: Unit::Time,
            is_detail: true,
            ..bytes("cpu_ns", "processor time", |answer| processor_time(answer, "baseline", "all"))
        },
    ],
    against: None,
    claims: &[
        Claim {
            what: "busy, jemalloc holds 1.4 times as much again as the program has",
            article: "excess 1.36 to 1.45",
            here: |found| {
                let excess = found.median(0, JEMALLOC, "excess")?;
                Some(Judgement::of(
                    (1.1..1.8).contains(&excess),
                    format!("excess {excess:.2}"),
                    "a large part of it is jemalloc's own data, which grows with the number of arenas, four for each core",
                ))
            },
        },
        Claim {
            what: "when all is dropped, it stays resident",
            article: "12.5 → 12.5 MB",
            here: |found| {
                let (busy, dropped) = two(found, "own_resident_bytes", "dropped_bytes")?;
                Some(Judgement::of(
                    dropped >= 0.7 * busy,
                    format!("{} → {}", mib(busy), mib(dropped)),
                    "the pages are free, and jemalloc waits before it returns them",
                ))
            },
        },
        Claim {
            what: "twelve seconds later half of it is gone",
            article: "12.5 → 6.7 MB",
            here: |found| {
                let (dropped, later) = two(found, "dropped_bytes", "later_bytes")?;
                Some(Judgement::of(
                    later <= 0.75 * dropped,
                    format!("{} → {}", mib(dropped), mib(later)),
                    "jemalloc looks at its clock when it is called, and a program that sleeps does not call it; with \
                     background_thread:true it does not have to be",
                ))
            },
        },
    ],
};

const fn bytes(id: &'static str, title: &'static str, of: fn(&Answer) -> Option<f64>) -> Shown {
    Shown { id, title, unit: Unit::Bytes, of, is_detail: false }
}

/// What the allocator says of itself at a moment.
fn of(answer: &Answer, moment: &str, number: fn(&Own) -> Option<u64>) -> Option<f64> {
    Some(number(&answer.moment(moment)?.own?)? as f64)
}

/// What is resident and in no block of the program's, in proportion to what is, as the allocator counts.
fn excess(answer: &Answer, moment: &str) -> Option<f64> {
    let allocated = of(answer, moment, |own| own.allocated_bytes).filter(|bytes| *bytes > 0.0)?;
    Some((of(answer, moment, |own| own.resident_bytes)? - allocated) / allocated)
}

/// Two numbers of jemalloc.
fn two(found: &Found, one: &str, other: &str) -> Option<(f64, f64)> {
    Some((found.median(0, JEMALLOC, one)?, found.median(0, JEMALLOC, other)?))
}
