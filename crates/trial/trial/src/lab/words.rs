//! Tables that count words, from two blocks for each word to one for all: a program is as slow as it allocates.

use super::by_allocator::{
    ByAllocator, Claim, DEFAULTS, Found, Judgement, Rows, Shown, Sizes, Unit, Variant, time_of,
};

const CHAINED: usize = 0;
const STD: usize = 2;
const ARENA: usize = 4;
const WORDS: u64 = 1_000_000;

pub(super) const WORDS_COUNTED: ByAllocator = ByAllocator {
    name: "words",
    about: "hash tables that count words, by how much they allocate",
    shows: "Five tables count the same words. What they allocate goes from two blocks for each word to one block for all of them, and \
            so does the time to drop them; the better the allocator is, the less it matters.",
    with: "jemalloc,mimalloc",
    variants: &[
        table("boxes", "a box for each node, and a text in it", "words-chained"),
        table("BTreeMap", "BTreeMap<String, u64>", "words-btree"),
        table("HashMap", "HashMap<String, u64>", "words-std"),
        table("FxHash", "hashbrown's map with a faster hash function", "words-fx"),
        table("one block", "all words behind each other in one block", "words-arena"),
    ],
    rows: Rows::Variants,
    columns: &[
        Shown::new("count_ns", "counting", Unit::Time, |answer| time_of(answer, "construct")),
        Shown::new("drop_ns", "dropping", Unit::Time, |answer| time_of(answer, "drop")),
    ],
    claims: &[
        Claim {
            what: "without a block for each word, counting takes less time",
            article: "",
            here: |found| compared(found, "count_ns", 0.95),
        },
        Claim {
            what: "without a block for each word, dropping takes a fifth of the time at most",
            article: "",
            here: |found| compared(found, "drop_ns", 0.2),
        },
        Claim {
            what: "another allocator drops a box for each word in less time than glibc",
            article: "",
            here: |found| {
                let (glibc, other) = (
                    found.median(CHAINED, "default", "drop_ns")?,
                    found.median(CHAINED, "mimalloc", "drop_ns")?,
                );
                let figures = format!("mimalloc {:.2} times the time", other / glibc);
                Some(Judgement::of(other < 0.95 * glibc, figures, ""))
            },
        },
    ],
    is_recorded: true,
    ..DEFAULTS
};

const fn table(name: &'static str, about: &'static str, workload: &'static str) -> Variant {
    let numbers: fn(&Sizes) -> Vec<u64> = |sizes| vec![sizes.of(WORDS)];
    Variant { name, about, workload, numbers }
}

/// What the table with one block needs in proportion to the usual one.
fn compared(found: &Found, column: &str, most: f64) -> Option<Judgement> {
    let (usual, one) = (found.median(STD, "default", column)?, found.median(ARENA, "default", column)?);
    Some(Judgement::of(one < most * usual, format!("{:.2} times the time of a HashMap", one / usual), ""))
}
