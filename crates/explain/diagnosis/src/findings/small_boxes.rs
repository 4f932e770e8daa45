//! `small-boxes`: many small values, each in a separate block.
//!
//! The rule detects many small blocks of one size from one line, of which many are live at one time. Each costs a call, a header
//! and a cache line.

use super::{Occurrence, Rule};
use crate::cost::{Work, of_work};
use crate::finding::{Certainty, Estimate};
use crate::purpose::Purpose;
use crate::rule_input::{Language, RuleInput};
use crate::units::{bytes, count};
use heapwise_analysis::Bytes;

pub(crate) struct SmallBoxes;

/// What is called small.
const MOST_BYTES: u64 = 128;
/// Fewer boxes than this are no problem.
const LEAST: u64 = 10_000;
/// At least so many of them have to be live at one time.
const LEAST_AT_ONCE: u64 = 1_000;
/// What an allocator takes beside a small block, on average, where it is not known: a header, or the rest of its size class.
const BESIDE: u64 = 12;

impl Rule for SmallBoxes {
    fn id(&self) -> &'static str {
        "small-boxes"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let part = place.part_where(|seen| {
                let boxed = match seen.call.what {
                    Purpose::Boxed | Purpose::Direct => true,
                    // A node of Rust's trees holds a dozen values.
                    Purpose::Node => place.language != Language::Rust,
                    _ => false,
                };
                boxed && seen.site.sizes.is_uniform() && seen.site.largest_bytes.0 <= MOST_BYTES
            })?;
            if part.allocations < LEAST || part.most_blocks < LEAST_AT_ONCE || part.reallocations > 0 {
                return None;
            }
            let size = part.sites.iter().map(|s| s.largest_bytes.0).max().unwrap_or(0);
            let nodes = place.has(Purpose::Node);
            let beside = |id| input.analysis.beside(id).map(|known| known.0);
            let taken = part.sites.iter().map(|s| s.peak_blocks * beside(s.id).unwrap_or(BESIDE)).sum::<u64>();
            // In an arena with pages of 4 KiB one call serves for a page of them.
            let left = part.bytes / 4096 + 1;
            let saved = part.allocations.saturating_sub(left);
            Some(Occurrence {
                certainty: Certainty::Likely,
                title: format!("{} puts {} values of {} in separate blocks", place.label(), count(part.allocations), bytes(size)),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!("{} blocks of {}, up to {} live at one time", count(part.allocations), bytes(size), count(part.most_blocks)),
                    match part.sites.iter().map(|s| beside(s.id)).max().flatten() {
                        Some(0) => "the allocator takes nothing beside each".into(),
                        Some(known) => format!("the allocator takes up to {} beside each, {} at the peak", bytes(known), bytes(taken)),
                        None => format!("the allocator takes about {BESIDE} bytes beside each, {} at the peak", bytes(taken)),
                    },
                ],
                estimate: Estimate {
                    allocations: saved,
                    peak_bytes: Bytes(taken),
                    time: of_work(&Work { pairs: saved, ..Work::default() }),
                    ..Estimate::default()
                },
                remedy: match place.language {
                    Language::Rust => "Keep the values in one `Vec<T>` and refer to them by index, or in an arena that is \
                        freed as a whole: `let node = arena.alloc(Node { … });` (typed-arena, bumpalo)."
                        .into(),
                    Language::Cxx if nodes => "A node of `std::map`, `std::list` or `std::unordered_map` is a block each. A flat map \
                        (`boost::unordered_flat_map`, `std::flat_map`) or a sorted `std::vector` keeps them together; so does \
                        `std::pmr::monotonic_buffer_resource` below the same container."
                        .into(),
                    Language::C => "Take them from a pool that allocates many at a time: `node = &pool[used++];`.".into(),
                    Language::Cxx => "Use a container that keeps values together (`std::vector`, `std::deque`), or a pool: \
                        `std::pmr::monotonic_buffer_resource`."
                        .into(),
                },
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{BOXED, Program, user};

    #[test]
    fn many_small_boxes_are_reported_and_few_or_large_ones_are_not() {
        let mut p = Program::default();
        let small = p.stack(&user(BOXED, "app::list|/u/src/a.rs|7"));
        let large = p.stack(&user(BOXED, "app::pages|/u/src/a.rs|17"));
        for _ in 0..12_000 {
            p.alloc(small, 24);
            p.alloc(large, 4096);
        }
        let found = p.only("small-boxes");
        assert_eq!(found.title, "list (a.rs:7) puts 12,000 values of 24 B in separate blocks");
        assert_eq!(found.estimate.peak_bytes.0, 12_000 * 12);
    }
}
