//! The first program of the article about fragmentation, and what would have shown it.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Shown, Unit, Variant, amount, rss,
};

const SMALL_GO: usize = 0;
const LARGE_GO: usize = 1;

pub(super) const FRAGMENTATION: ByAllocator = ByAllocator {
    name: "fragmentation",
    about: "small and large blocks in turn; one kind is dropped first",
    shows: "Where blocks of one kind pin the pages that the other kind leaves, resident memory is many times what the program has: \
            that is fragmentation. What stays when all is dropped is none: it is free pages that the allocator keeps.",
    with: "jemalloc,mimalloc,mimalloc2,snmalloc,rpmalloc",
    variants: &[
        Variant {
            name: "small first",
            about: "blocks of 64 bytes and of 4 KiB in turn; all small ones go, then the large ones",
            workload: "alternating",
            numbers: |sizes| vec![sizes.of(10_000), 0],
        },
        Variant {
            name: "large first",
            about: "the same blocks; all large ones go, and the small ones between them stay",
            workload: "alternating",
            numbers: |sizes| vec![sizes.of(10_000), 1],
        },
    ],
    columns: &[
        Shown::new("baseline_bytes", "before", Unit::Bytes, |answer| rss(answer, "baseline")),
        Shown::new("allocated_bytes", "allocated", Unit::Bytes, |answer| rss(answer, "allocated")),
        Shown::new("one_dropped_bytes", "one kind gone", Unit::Bytes, |answer| {
            rss(answer, "one kind dropped")
        }),
        Shown::new("one_purged_bytes", "purged", Unit::Bytes, |answer| rss(answer, "one kind purged")),
        Shown::new("all_dropped_bytes", "all gone", Unit::Bytes, |answer| rss(answer, "all dropped")),
    ],
    claims: &[
        Claim {
            what: "resident memory barely moves when the small blocks are dropped",
            article: "25,600 → 25,600 KiB",
            here: |found| {
                let (before, after) = two(found, SMALL_GO, "one_dropped_bytes")?;
                Some(Judgement::of(
                    after >= 0.95 * before,
                    format!("{} → {}", amount(before), amount(after)),
                    "they are 2 % of the bytes, so there is nothing to be returned: this is no fragmentation",
                ))
            },
        },
        Claim {
            what: "it is still there when all is dropped",
            article: "25,600 → 25,600 KiB",
            here: |found| {
                let (before, after) = two(found, SMALL_GO, "all_dropped_bytes")?;
                Some(Judgement::of(
                    after >= 0.8 * before,
                    format!("{} → {}", amount(before), amount(after)),
                    "no page has a block left: glibc keeps them for the next requests",
                ))
            },
        },
        Claim {
            what: "with glibc the small blocks keep the memory of the large ones, even through a malloc_trim",
            article: "",
            here: |found| {
                let (before, after) = two(found, LARGE_GO, "one_purged_bytes")?;
                Some(Judgement::of(
                    after >= 0.8 * before,
                    format!("{} → {}", amount(before), amount(after)),
                    "each page has a small block and cannot be returned: that is fragmentation",
                ))
            },
        },
        Claim {
            what: "jemalloc returns the memory of the large ones when it is asked to",
            article: "",
            here: |found| {
                let found = |column| found.median(LARGE_GO, "jemalloc", column);
                let (before, after) = (found("allocated_bytes")?, found("one_purged_bytes")?);
                Some(Judgement::of(
                    after <= 0.5 * before,
                    format!("{} → {}", amount(before), amount(after)),
                    "each size has pages for itself, so those of the large blocks have none of the small ones",
                ))
            },
        },
    ],
    ..DEFAULTS
};

/// What is resident with all blocks, and at another moment, with the system's allocator.
fn two(found: &Found, variant: usize, then: &str) -> Option<(f64, f64)> {
    Some((found.median(variant, "default", "allocated_bytes")?, found.median(variant, "default", then)?))
}
