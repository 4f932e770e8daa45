//! The habits of the article about memory allocation: the same work before and after, on one screen each.

use super::by_allocator::{
    ByAllocator, Change, Claim, DEFAULTS, Judgement, RIGHT, Rows, Shown, Sizes, Unit, Variant,
    processor_time, rss,
};
use heapwise_analysis::units::signed_percent;

const BEFORE: usize = 0;
const AFTER: usize = 1;

pub(super) const CLONE: ByAllocator = ByAllocator {
    name: "clone",
    about: "what it costs to copy what is only looked at",
    shows: "A name is copied to be compared with others, and nearly always thrown away. Borrowed, it is not copied: the article's \
            first and largest step.",
    variants: &[
        before("clone", |sizes| vec![sizes.of(50_000), 0]),
        after("clone", |sizes| vec![sizes.of(50_000), 1]),
    ],
    claims: &[faster("to borrow in place of cloning saves time", "1.80 → 1.48 s of a whole program"), RIGHT],
    ..HABIT
};

pub(super) const CAPACITY: ByAllocator = ByAllocator {
    name: "capacity",
    about: "what it costs to let a list grow",
    shows: "A list of a hundred values is allocated six times if it begins with nothing, and once with Vec::with_capacity.",
    variants: &[
        before("capacity", |sizes| vec![sizes.of(500_000), 0]),
        after("capacity", |sizes| vec![sizes.of(500_000), 1]),
    ],
    claims: &[faster("to reserve the capacity saves time", ""), RIGHT],
    ..HABIT
};

pub(super) const REUSE: ByAllocator = ByAllocator {
    name: "reuse",
    about: "what it costs to make a list anew in a loop",
    shows: "A list for the fields of a line is made and freed for each line. Kept and cleared, it is allocated once.",
    variants: &[
        before("reuse", |sizes| vec![sizes.of(50_000), 0]),
        after("reuse", |sizes| vec![sizes.of(50_000), 1]),
    ],
    claims: &[faster("to use a list again saves time", ""), RIGHT],
    ..HABIT
};

pub(super) const BORROW: ByAllocator = ByAllocator {
    name: "borrow",
    about: "what it costs to make an owned key for each lookup",
    shows: "Words are counted in a map. With entry(word.to_owned()) each word is copied, with get_mut(word) only each new one.",
    variants: &[
        before("borrow", |sizes| vec![sizes.of(50_000), 0]),
        after("borrow", |sizes| vec![sizes.of(50_000), 1]),
    ],
    claims: &[faster("to copy only new keys saves time", ""), RIGHT],
    ..HABIT
};

/// What they have in common.
const HABIT: ByAllocator = ByAllocator {
    with: "jemalloc,mimalloc",
    columns: &[
        Shown::new("cpu_ns", "processor time", Unit::Time, |answer| {
            processor_time(answer, "baseline", "full")
        }),
        Shown::new("full_bytes", "resident", Unit::Bytes, |answer| rss(answer, "full")).detail(),
    ],
    rows: Rows::Variants,
    is_recorded: true,
    steps: &[Change { what: "without the habit", before: BEFORE, after: AFTER, known: "" }],
    ..DEFAULTS
};

const fn before(workload: &'static str, numbers: fn(&Sizes) -> Vec<u64>) -> Variant {
    Variant { name: "before", about: "as it is usually written first", workload, numbers }
}

const fn after(workload: &'static str, numbers: fn(&Sizes) -> Vec<u64>) -> Variant {
    Variant { name: "after", about: "the same work without the habit", workload, numbers }
}

/// That it takes less time, with the system's allocator.
const fn faster(what: &'static str, article: &'static str) -> Claim {
    Claim {
        what,
        article,
        here: |found| {
            let (before, after) =
                (found.median(BEFORE, "default", "cpu_ns")?, found.median(AFTER, "default", "cpu_ns")?);
            Some(Judgement::of(after < 0.95 * before, signed_percent(after / before - 1.0, 0), ""))
        },
    }
}
