//! `temporary-box`: one value is put on the heap and freed soon after.
//!
//! The rule detects boxes of one small size (`Box`, `Rc`, `std::make_shared`, `new T`) that were short-lived. What is needed for
//! a moment has a place on the stack, or in what owns it.

use super::{Occurrence, Rule, without};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, RuleInput};
use crate::units::{bytes, count};

pub(crate) struct TemporaryBox;

/// What a line calls for a box. Other functions have boxes inside of them.
const MAKERS: [&str; 9] = [
    "new",
    "pin",
    "from",
    "exchange_malloc",
    "box_new",
    "make_unique",
    "make_shared",
    "allocate_shared",
    "operator new",
];
/// Fewer are no pattern.
const LEAST: u64 = 100;
/// What is larger may be too much for a stack.
const MOST_BYTES: u64 = 1 << 10;

impl Rule for TemporaryBox {
    fn id(&self) -> &'static str {
        "temporary-box"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let mut parts = place.parts(&[Purpose::Boxed]);
            parts.retain(|part| {
                let is_value = |site: &&heapwise_analysis::Site| site.sizes.is_uniform() && site.largest_bytes.0 <= MOST_BYTES;
                MAKERS.contains(&part.callee) && part.thrown_away() >= LEAST && part.sites.iter().all(is_value)
            });
            let (part, soon) = Part::together(parts)?;
            let size = part.sites.iter().map(|s| s.largest_bytes.0).max().unwrap_or(0);
            Some(Occurrence {
                certainty: Certainty::Likely,
                title: format!("{} puts {} values on the heap that are soon dropped", place.label(), count(soon)),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!("`{}` allocated {} blocks here, of at most {}", part.callee, count(part.allocations), bytes(size)),
                    match part.is_sequential() {
                        true => format!("at most {} of them were live at one time", count(part.most_blocks)),
                        false => format!("{} of them were freed within 15 more allocations of their thread", count(part.short_lived)),
                    },
                ],
                estimate: without(&part, part.allocations.saturating_sub(soon), part.reallocations),
                remedy: match place.language {
                    Language::Rust => "Keep the value in a variable and pass `&value` or `&mut value`: `&mut dyn Trait` needs no box. \
                        A type that holds it can own it directly, or as a variant of an enum."
                        .into(),
                    Language::Cxx => "Make it a local variable (`T value;`, an array `T values[n];`) and pass `T &`, or a member of what owns it; \
                        `std::optional<T>` where it may be missing."
                        .into(),
                    Language::C => "Make it a local variable, and pass its address.".into(),
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
    fn values_that_are_dropped_soon_are_reported_and_kept_ones_are_not() {
        let mut p = Program::default();
        let soon = p.stack(&user(BOXED, "app::each|/u/src/a.rs|7"));
        let kept = p.stack(&user(BOXED, "app::all|/u/src/a.rs|17"));
        for _ in 0..400 {
            let block = p.alloc(soon, 40);
            p.alloc(kept, 40);
            p.free(block);
        }
        let found = p.only("temporary-box");
        assert_eq!(found.title, "each (a.rs:7) puts 400 values on the heap that are soon dropped");
        assert_eq!(found.estimate.allocations, 400);
    }
}
