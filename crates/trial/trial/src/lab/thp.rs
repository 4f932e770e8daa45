//! Huge pages: what they cost in memory and in single writes, and what they save.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Rows, Shown, Sizes, Unit, Variant, amount, faults,
    measured, processor_time, rss, time_of,
};
use super::worker::Answer;

const NEVER: usize = 0;
const ASKED: usize = 2;
const MIB: u64 = 256;

pub(super) const THP: ByAllocator = ByAllocator {
    name: "thp",
    about: "huge pages: never, as the system has them, and on request",
    shows: "A huge page has 2 MiB. With them, memory that is touched here and there becomes resident as a whole, and the one write that \
            makes such a page takes long; but there are few such writes, and memory is read faster.",
    variants: &[
        mode("never", "prctl(PR_SET_THP_DISABLE) in this process", |sizes| vec![sizes.of(MIB), 1]),
        mode("as the system has it", "nothing is set", |sizes| vec![sizes.of(MIB), 0]),
        mode("on request", "MADV_HUGEPAGE", |sizes| vec![sizes.of(MIB), 2]),
    ],
    rows: Rows::Variants,
    columns: &[
        Shown::new("fill_ns", "filling", Unit::Time, |answer| processor_time(answer, "empty", "full")),
        Shown::new("reads_ns", "reading", Unit::Time, |answer| time_of(answer, "reads")),
        Shown::new("sparse_bytes", "sparse", Unit::Bytes, sparse),
        Shown::new("huge_bytes", "in huge pages", Unit::Bytes, |answer| {
            Some(answer.moment("full")?.memory?.huge_bytes as f64)
        })
        .detail(),
        Shown::new("faults", "faults", Unit::Count, |answer| faults(answer, "empty", "full")),
        Shown::new("p999_ns", "a write, p99.9", Unit::Time, |answer| measured(answer, "p999_ns")),
        Shown::new("worst_ns", "worst write", Unit::Time, |answer| measured(answer, "worst_ns")).detail(),
    ],
    claims: &[
        Claim {
            what: "huge pages make memory resident that was never touched",
            article: "",
            here: |found| {
                let (never, asked) = two(found, "sparse_bytes")?;
                Some(Judgement::of(
                    asked > 10.0 * never,
                    format!("{} instead of {}", amount(asked), amount(never)),
                    "",
                ))
            },
        },
        Claim {
            what: "with huge pages the slowest writes take longer",
            article: "disable THP for latency-sensitive services",
            here: |found| {
                let (never, asked) = two(found, "p999_ns")?;
                let figures = format!("p99.9 of a write {:.1} times as long", asked / never);
                Some(Judgement::of(
                    asked > 2.0 * never,
                    figures,
                    "one write in 512 makes a whole huge page; all writes together take less time",
                ))
            },
        },
        Claim {
            what: "with huge pages memory is filled in less time",
            article: "",
            here: |found| {
                let (never, asked) = two(found, "fill_ns")?;
                Some(Judgement::of(asked < 0.8 * never, format!("{:.2} times the time", asked / never), ""))
            },
        },
        Claim {
            what: "with huge pages memory is read in less time",
            article: "less TLB pressure",
            here: |found| {
                let (never, asked) = two(found, "reads_ns")?;
                let figures = format!("{:.2} times the time", asked / never);
                let is_less = asked < 0.9 * never;
                let why = if is_less {
                    ""
                } else {
                    "a gain of less than a tenth does not count: runs differ as much"
                };
                Some(Judgement::of(is_less, figures, why))
            },
        },
    ],
    ..DEFAULTS
};

const fn mode(name: &'static str, about: &'static str, numbers: fn(&Sizes) -> Vec<u64>) -> Variant {
    Variant { name, about, workload: "huge", numbers }
}

/// What became resident when one page of each huge page was touched.
fn sparse(answer: &Answer) -> Option<f64> {
    Some((rss(answer, "sparse")? - rss(answer, "baseline")?).max(0.0))
}

/// Without huge pages, and with them.
fn two(found: &Found, column: &str) -> Option<(f64, f64)> {
    Some((found.median(NEVER, "default", column)?, found.median(ASKED, "default", column)?))
}
