//! The contest program in eight versions, each of which allocates less: what that saves, and what heapwise says that it saves.

use super::by_allocator::{
    ByAllocator, Change, Claim, DEFAULTS, Found, Judgement, RIGHT, Rows, Shown, Sizes, Unit, Variant,
    processor_time,
};
use heapwise_analysis::units::signed_percent;

const V01: usize = 0;
const V02: usize = 1;
const V06: usize = 5;
const V07: usize = 6;
const V08: usize = 7;

/// Entries of a round, and rounds.
const ENTRIES: u64 = 12_000;
const ROUNDS: u64 = 50;

pub(super) const CONTEST: ByAllocator = ByAllocator {
    name: "contest",
    about: "a program in eight versions that allocate less and less",
    shows: "What each step of the article about memory allocation saves, in time, in allocations and in bytes, and what heapwise, which \
            has seen only the version before the step, says that it saves.",
    variants: &[
        version("v01", "as it is usually written first", |sizes| numbers(sizes, 1)),
        version("v02", "clones less", |sizes| numbers(sizes, 2)),
        version("v03", "borrows fields from the document", |sizes| numbers(sizes, 3)),
        version("v04", "borrows lists of fields, too", |sizes| numbers(sizes, 4)),
        version("v05", "reserves and uses collections again", |sizes| numbers(sizes, 5)),
        version("v06", "leaves contents as they are in the file", |sizes| numbers(sizes, 6)),
        version("v07", "has one buffer for all files", |sizes| numbers(sizes, 7)),
        version("v08", "has maps with another hash function", |sizes| numbers(sizes, 8)),
    ],
    // What a step saves is a few hundredths of the time.
    rounds: 7,
    rows: Rows::Variants,
    columns: &[Shown::new("cpu_ns", "processor time", Unit::Time, |answer| {
        processor_time(answer, "baseline", "full")
    })],
    claims: &[
        Claim {
            what: "to clone less saves time",
            article: "1.80 → 1.48 s, -17 %",
            here: |found| time(found, V01, V02, 0.95),
        },
        Claim {
            what: "to clone less saves three quarters of the allocations",
            article: "-73 %",
            here: |found| allocations(found, V02, 0.4),
        },
        Claim {
            what: "the first six versions leave hardly an allocation",
            article: "-99.6 %",
            here: |found| allocations(found, V06, 0.02),
        },
        Claim {
            what: "one buffer for all files leaves hardly a byte",
            article: "-94 %",
            here: |found| {
                let (first, last) = (found.recorded(V01)?, found.recorded(V07)?);
                let change = last.allocated_bytes as f64 / first.allocated_bytes.max(1) as f64;
                let why = "the files of the article's contest are not public; of ours the first version allocates less for each";
                let is_so = change < 0.1;
                Some(Judgement::of(is_so, signed_percent(change - 1.0, 0), if is_so { "" } else { why }))
            },
        },
        Claim {
            what: "all that saves a third of the time",
            article: "1.80 → 1.20 s, -33 %",
            here: |found| time(found, V01, V07, 0.75),
        },
        Claim {
            what: "another hash function saves a little more",
            article: "1.20 → 1.13 s, -6 %",
            here: |found| time(found, V07, V08, 0.98),
        },
        RIGHT,
    ],
    has_files: true,
    is_recorded: true,
    steps: &[
        step("clone less", V01, ""),
        step(
            "borrow fields",
            V02,
            "what was just copied is read from the cache; what is borrowed is read from the file's text, later, from memory",
        ),
        step("borrow lists", 2, "made once, in a manifest"),
        step("reserve and reuse", 3, ""),
        step("raw contents", 4, ""),
        step("one buffer for files", V06, "glibc keeps such blocks, so nothing is predicted"),
        step(
            "another hash function",
            V07,
            "no time is predicted: what a hash function takes is in no call of the allocator",
        ),
    ],
    ..DEFAULTS
};

const fn version(name: &'static str, about: &'static str, numbers: fn(&Sizes) -> Vec<u64>) -> Variant {
    Variant { name, about, workload: "contest", numbers }
}

fn numbers(sizes: &Sizes, version: u64) -> Vec<u64> {
    vec![sizes.of(ENTRIES), version, ROUNDS]
}

/// From a version to the next one.
const fn step(what: &'static str, before: usize, known: &'static str) -> Change {
    Change { what, before, after: before + 1, known }
}

/// That one version takes less time than another one.
fn time(found: &Found, before: usize, after: usize, most: f64) -> Option<Judgement> {
    let why = "the article measured on Windows, whose heap takes more time for each call than glibc does";
    let (before, after) =
        (found.median(before, "default", "cpu_ns")?, found.median(after, "default", "cpu_ns")?);
    let ratio = after / before;
    let is_so = ratio < most;
    Some(Judgement::of(is_so, signed_percent(ratio - 1.0, 0), if is_so { "" } else { why }))
}

/// That a version has at most this part of the allocations of the first one.
fn allocations(found: &Found, version: usize, most: f64) -> Option<Judgement> {
    let (first, last) = (found.recorded(V01)?.allocations, found.recorded(version)?.allocations);
    let ratio = last as f64 / first.max(1) as f64;
    Some(Judgement::of(ratio < most, signed_percent(ratio - 1.0, 1), ""))
}
