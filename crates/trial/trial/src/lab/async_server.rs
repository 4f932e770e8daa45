//! The article's pattern of an asynchronous server: what jemalloc holds in proportion to what the program has.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Shown, Unit, Variant, amount, processor_time, rss,
};
use super::worker::{Answer, Own};

const JEMALLOC: &str = "jemalloc";

pub(super) const ASYNC_SERVER: ByAllocator = ByAllocator {
    name: "async-server",
    about: "buffers of requests and of connections, then none",
    shows: "While a server is busy, resident memory stays in proportion to what it has. When the load ends, it stays where it was: \
            an allocator that is not called returns nothing, unless it has a thread for that.",
    with: "jemalloc,jemalloc:background_thread=true:dirty_decay_ms=1000,mimalloc,mimalloc2,snmalloc",
    variants: &[Variant {
        name: "connections",
        about: "2 to 5 buffers of 128 bytes to 16 KiB in each step; 7 of 10 live for up to 20 steps, the others for up to 2,000",
        workload: "connections",
        numbers: |sizes| vec![sizes.of(500_000), sizes.wait_ms],
    }],
    columns: &[
        Shown::new("busy_bytes", "busy", Unit::Bytes, |answer| rss(answer, "all")),
        Shown::new("dropped_bytes", "dropped", Unit::Bytes, |answer| rss(answer, "dropped")),
        Shown::new("later_bytes", "later", Unit::Bytes, |answer| rss(answer, "later")),
        Shown::new("own_allocated_bytes", "its blocks", Unit::Bytes, |answer| {
            of(answer, "all", |own| own.allocated_bytes)
        }),
        Shown::new("own_active_bytes", "its active", Unit::Bytes, |answer| {
            of(answer, "all", |own| own.active_bytes)
        })
        .detail(),
        Shown::new("own_metadata_bytes", "its metadata", Unit::Bytes, |answer| {
            of(answer, "all", |own| own.metadata_bytes)
        })
        .detail(),
        Shown::new("own_resident_bytes", "its resident", Unit::Bytes, |answer| {
            of(answer, "all", |own| own.resident_bytes)
        }),
        Shown::new("own_later_bytes", "later", Unit::Bytes, |answer| {
            of(answer, "later", |own| own.resident_bytes)
        }),
        Shown::new("excess", "excess", Unit::Ratio, |answer| excess(answer, "all")),
        Shown::new("early_excess", "excess, early", Unit::Ratio, |answer| excess(answer, "a tenth")).detail(),
        Shown::new("cpu_ns", "processor time", Unit::Time, |answer| {
            processor_time(answer, "baseline", "all")
        })
        .detail(),
    ],
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
                    format!("{} → {}", amount(busy), amount(dropped)),
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
                    format!("{} → {}", amount(dropped), amount(later)),
                    "jemalloc looks at its clock when it is called, and a program that sleeps does not call it; with \
                     background_thread:true it does not have to be",
                ))
            },
        },
    ],
    ..DEFAULTS
};

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
