//! How free pages are returned to the kernel: what that costs, and what is seen of it.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Rows, Shown, Sizes, Unit, Variant, faults, lazily_free,
    processor_time, rss,
};
use super::worker::Answer;

const KEEP: usize = 0;
const DONTNEED: usize = 1;
const FREE: usize = 2;
const PAGEOUT: usize = 4;
const CYCLES: u64 = 10_000;

pub(super) const MADVISE: ByAllocator = ByAllocator {
    name: "madvise",
    about: "ways to return pages to the kernel: DONTNEED, FREE, COLD, PAGEOUT, munmap",
    shows: "An allocator returns free pages in one of these ways. With MADV_FREE they stay in the resident memory that is shown until the \
            kernel needs them, and are cheap to have again; with MADV_DONTNEED they are gone at once, and each has to be made anew.",
    variants: &[
        way("kept", "the pages are written again, and the kernel gets no advice", |sizes| numbers(sizes, 0)),
        way("DONTNEED", "MADV_DONTNEED", |sizes| numbers(sizes, 1)),
        way("FREE", "MADV_FREE", |sizes| numbers(sizes, 2)),
        way("COLD", "MADV_COLD", |sizes| numbers(sizes, 3)),
        way("PAGEOUT", "MADV_PAGEOUT", |sizes| numbers(sizes, 4)),
        way("munmap", "munmap, and mmap for the next pages", |sizes| numbers(sizes, 5)),
    ],
    rows: Rows::Variants,
    columns: &[
        Shown::new("cycle_ns", "a cycle of 1 MiB", Unit::Time, |answer| {
            per_cycle(answer, processor_time(answer, "baseline", "cycled")?)
        }),
        Shown::new("faults", "faults", Unit::Count, |answer| {
            per_cycle(answer, faults(answer, "baseline", "cycled")?)
        }),
        Shown::new("written_bytes", "64 MiB written", Unit::Bytes, |answer| rss(answer, "written")).detail(),
        Shown::new("advised_bytes", "after it", Unit::Bytes, |answer| rss(answer, "advised")),
        Shown::new("lazily_free_bytes", "lazily free", Unit::Bytes, |answer| lazily_free(answer, "advised")),
    ],
    claims: &[
        Claim {
            what: "MADV_DONTNEED costs three times as much as MADV_FREE",
            article: "38.8 and 12.3 µs, 3.15 times",
            here: |found| {
                let ratio = ratio(found, DONTNEED, FREE)?;
                Some(Judgement::of(
                    ratio >= 1.5,
                    format!("{ratio:.2} times"),
                    if ratio >= 1.5 {
                        ""
                    } else {
                        "a fault costs more or less with the processor and with virtual machines"
                    },
                ))
            },
        },
        Claim {
            what: "after MADV_FREE resident memory is as it was",
            article: "it stays elevated",
            here: |found| {
                let (written, after) = (
                    found.median(FREE, "default", "written_bytes")?,
                    found.median(FREE, "default", "advised_bytes")?,
                );
                Some(Judgement::of(
                    after > 0.9 * written,
                    format!("{:.0} % of it", 100.0 * after / written),
                    "the kernel counts it as LazyFree, in /proc/PID/smaps_rollup",
                ))
            },
        },
        Claim {
            what: "to keep the pages costs least",
            article: "",
            here: |found| {
                let ratio = ratio(found, FREE, KEEP)?;
                Some(Judgement::of(ratio > 1.5, format!("MADV_FREE {ratio:.1} times as much"), ""))
            },
        },
        Claim {
            what: "MADV_PAGEOUT takes pages out of memory",
            article: "",
            here: |found| {
                let (written, after) = (
                    found.median(PAGEOUT, "default", "written_bytes")?,
                    found.median(PAGEOUT, "default", "advised_bytes")?,
                );
                let left = format!("{:.0} % are left", 100.0 * after / written);
                Some(match has_swap() {
                    true => {
                        Judgement::of(after < 0.5 * written, left, "they are in swap, until they are used")
                    }
                    false => Judgement::cannot(
                        left,
                        "there is no swap, and without it pages of a heap have nowhere to go",
                    ),
                })
            },
        },
    ],
    ..DEFAULTS
};

/// Whether the system has swap: a line below the title in its list.
fn has_swap() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|list| list.lines().count() > 1)
}

const fn way(name: &'static str, about: &'static str, numbers: fn(&Sizes) -> Vec<u64>) -> Variant {
    Variant { name, about, workload: "advised", numbers }
}

fn numbers(sizes: &Sizes, way: u64) -> Vec<u64> {
    vec![sizes.of(CYCLES), way]
}

fn per_cycle(answer: &Answer, number: f64) -> Option<f64> {
    (answer.n > 0).then(|| number / answer.n as f64)
}

/// What a cycle costs in one way, in proportion to another one.
fn ratio(found: &Found, one: usize, other: usize) -> Option<f64> {
    Some(found.median(one, "default", "cycle_ns")? / found.median(other, "default", "cycle_ns")?)
}
