//! `reuse-in-loop`: a line makes and drops a buffer again and again, one after another: one buffer would do for all.
//!
//! Seen is that of many buffers of this line at most a few were ever live at one time, and that all were freed.

use super::{Finding, Rule, without};
use crate::foreign::InForeignCode;
use crate::insight::Certainty;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, Place, RuleInput};
use crate::units::{bytes, count};
use heapwise_analysis::Bytes;

pub(crate) struct ReuseInLoop;

/// Buffers: what is kept and cleared, as opposed to a value in a box.
const BUFFERS: &[Purpose] = &[Purpose::Grow, Purpose::MapGrow, Purpose::Reserved, Purpose::Direct];
/// One after another is a pattern from here on.
const LEAST: u64 = 100;
/// Of large buffers fewer are worth a change.
const LEAST_OF_LARGE: u64 = 8;
const LARGE: u64 = 64 << 10;

/// Whether a place's buffers come one after another.
pub(super) fn applies(place: &Place<'_>) -> bool {
    part_of(place).is_some()
}

fn part_of<'a>(place: &'a Place<'a>) -> Option<Part<'a>> {
    let part = place.part(BUFFERS)?;
    let many = part.allocations >= LEAST || (part.allocations >= LEAST_OF_LARGE && part.average() >= LARGE);
    (many && part.is_sequential()).then_some(part)
}

impl Rule for ReuseInLoop {
    fn id(&self) -> &'static str {
        "reuse-in-loop"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        input.places.iter().filter_map(find).collect()
    }
}

fn find<'a>(place: &'a Place<'a>) -> Option<Finding<'a>> {
    let part = part_of(place)?;
    let largest = part.sites.iter().filter_map(|s| s.sizes.quantile(0.99)).max().unwrap_or(Bytes(0));
    let map = place.has(Purpose::MapGrow);
    let what = if map { "map" } else { "buffer" };
    let mut evidence = vec![
        format!(
            "{} {what}s were made here, and at most {} were live at one time",
            count(part.allocations),
            count(part.most_blocks)
        ),
        format!("nearly all of them took at most {}", bytes(largest.0)),
    ];
    if part.resizes > 0 {
        evidence.push(format!("they grew {} times on the way", count(part.resizes)));
    }
    let keep = match place.language {
        Language::Rust if map => "`let mut map = HashMap::new();` before the loop and `map.clear();` in it.",
        Language::Rust => "`let mut buffer = Vec::new();` before the loop and `buffer.clear();` in it.",
        Language::C => "allocate it before the loop with the largest size and free it behind.",
        Language::Cxx => "`std::vector<T> buffer;` before the loop and `buffer.clear();` in it.",
    };
    Some(Finding {
        certainty: Certainty::Likely,
        title: format!("{} makes a new {what} {} times in a row", place.label(), count(part.allocations)),
        place: Some(place),
        sites: part.ids(),
        evidence,
        // The one that is kept grows to the largest size.
        estimate: without(&part, 1 + part.resizes / part.allocations.max(1)),
        remedy: format!(
            "Keep one and clear it: {keep} If the line is in a function that is called in the loop, hand the {what} in."
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{PUSH_AGAIN, PUSH_FIRST, Program, user};

    #[test]
    fn buffers_one_after_another_are_reported_and_buffers_side_by_side_are_not() {
        let mut p = Program::default();
        let line = "app::each|/u/src/a.rs|7";
        let (first, again) = (p.stack(&user(PUSH_FIRST, line)), p.stack(&user(PUSH_AGAIN, line)));
        let beside = p.stack(&user(PUSH_FIRST, "app::beside|/u/src/a.rs|17"));
        let mut kept = Vec::new();
        for _ in 0..500 {
            let block = p.alloc(first, 32);
            let block = p.resize(block, again, 64);
            p.free(block);
            kept.push(p.alloc(beside, 32));
        }
        kept.into_iter().for_each(|block| p.free(block));
        let found = p.only("reuse-in-loop");
        assert_eq!(found.title, "each (a.rs:7) makes a new buffer 500 times in a row");
        assert_eq!(found.estimate.allocations, 1000 - 2);
        assert_eq!(p.found("growth"), [], "the line has one finding");
    }
}
