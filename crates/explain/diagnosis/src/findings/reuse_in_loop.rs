//! `reuse-in-loop`: a line makes and drops a buffer again and again, one after another: one buffer would do for all.
//!
//! Seen is that many buffers that the line calls for in the same way were short-lived, or that at most a few of them were ever
//! live at one time, and that all were freed.

use super::{Occurrence, Rule, with_one_kept};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::{ONE_OBJECT, Purpose};
use crate::rule_input::{Language, Part, Place, RuleInput, Seen};
use crate::units::{bytes, count};
use heapwise_analysis::{Bytes, SiteId};

pub(crate) struct ReuseInLoop;

/// Buffers: what is kept and cleared, as opposed to a value in a box.
const BUFFERS: &[Purpose] = &[Purpose::Grow, Purpose::MapGrow, Purpose::Reserved, Purpose::Direct];
/// What makes a `std::string` larger. Calls of one another are often jumps, which leave no frame.
const TEXT: &[&str] = &[
    "append",
    "_M_append",
    "operator+=",
    "basic_string",
    "operator>>",
    "getline",
    "assign",
    "_M_mutate",
    "_M_replace",
    "_M_replace_aux",
];
/// One after another is a pattern from here on.
const LEAST: u64 = 100;
/// Of large buffers fewer are worth a change.
const LEAST_OF_LARGE: u64 = 8;
const LARGE: u64 = 64 << 10;
/// So many may be live at one time, one for each of many threads.
const MOST_BESIDE: u64 = 64;

/// Whether it is for a buffer. `new[]` is an unseen step on the way to `new`: what has many sizes is an array.
fn is_buffer(seen: &Seen<'_>) -> bool {
    BUFFERS.contains(&seen.call.what)
        || seen.call.what == Purpose::Boxed && seen.call.callee == ONE_OBJECT && !seen.site.sizes.is_uniform()
}

/// What a place calls for its buffers, where these come one after another.
pub(super) fn callees<'a>(place: &Place<'a>) -> Vec<&'a str> {
    parts_of(place).iter().map(|part| part.callee).collect()
}

/// The sites of these buffers.
pub(super) fn sites(place: &Place<'_>) -> Vec<SiteId> {
    parts_of(place).iter().flat_map(|part| part.ids()).collect()
}

fn parts_of<'a>(place: &Place<'a>) -> Vec<Part<'a>> {
    let mut parts = place.parts_where(is_buffer);
    parts.retain(|part| {
        let soon = part.thrown_away();
        // Where most are kept, the line is about these.
        let are_most = soon.saturating_mul(2) >= part.made();
        // Values of an interpreter, say, of which most are soon replaced: whoever makes them cannot know which.
        let are_values = !part.is_sequential() && part.most_blocks > MOST_BESIDE;
        are_most && !are_values && (soon >= LEAST || (soon >= LEAST_OF_LARGE && part.average() >= LARGE))
    });
    parts
}

impl Rule for ReuseInLoop {
    fn id(&self) -> &'static str {
        "reuse-in-loop"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        input.places.iter().filter_map(find).collect()
    }
}

fn find<'a>(place: &'a Place<'a>) -> Option<Occurrence<'a>> {
    let parts = parts_of(place);
    let are_sequential = parts.iter().all(Part::is_sequential);
    let (part, soon) = Part::together(parts)?;
    let largest = part.sites.iter().filter_map(|s| s.sizes.quantile(0.99)).max().unwrap_or(Bytes(0));
    let is_map = |seen: &&Seen<'a>| seen.call.what == Purpose::MapGrow;
    let map =
        place.seen.iter().filter(is_map).any(|seen| part.sites.iter().any(|site| site.id == seen.site.id));
    let what = if map { "map" } else { "buffer" };
    let mut evidence = vec![
        match are_sequential {
            true => format!(
                "{} {what}s were made here, and at most {} were live at one time",
                count(part.made()),
                count(part.most_blocks)
            ),
            false => format!(
                "{} {what}s were made here, and {} were freed within 15 more allocations of their thread",
                count(part.made()),
                count(part.short_lived.min(soon))
            ),
        },
        format!("nearly all of them took at most {}", bytes(largest.0)),
    ];
    let grew = part.reallocations.max(part.steps);
    if grew > 0 {
        evidence.push(format!("they grew {} times on the way", count(grew)));
    }
    let keep = match place.language {
        Language::Rust if map => "`let mut map = HashMap::new();` before the loop and `map.clear();` in it.",
        Language::Rust => "`let mut buffer = Vec::new();` before the loop and `buffer.clear();` in it.",
        Language::C => {
            "allocate it before the loop with the largest size and free it behind, or let a small one be an array on the stack."
        }
        Language::Cxx if map => "declare the map before the loop and `map.clear();` in it.",
        Language::Cxx if is_text(&part) => "`std::string text;` before the loop and `text.clear();` in it.",
        Language::Cxx => "`std::vector<T> buffer;` before the loop and `buffer.clear();` in it.",
    };
    Some(Occurrence {
        certainty: Certainty::Likely,
        title: format!("{} makes a new {what} {} times in a row", place.label(), count(soon)),
        place: Some(place),
        sites: part.ids(),
        evidence,
        estimate: with_one_kept(&part, soon),
        remedy: format!(
            "Keep one and clear it: {keep} If the line is in a function that is called in the loop, hand the {what} in."
        ),
    })
}

/// Whether it is a `std::string` by what the line calls.
pub(super) fn is_text(part: &Part<'_>) -> bool {
    TEXT.contains(&part.callee)
}

#[cfg(test)]
mod tests {
    use crate::testing::{MAP_INSERT, PUSH_AGAIN, PUSH_FIRST, Program, user};

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
        assert_eq!((found.estimate.allocations, found.estimate.reallocations), (500 - 1, 500 - 1));
        assert_eq!(p.found("growth"), [], "the line has one finding");
    }

    #[test]
    fn a_buffer_on_the_line_that_fills_a_map_is_no_map() {
        let mut p = Program::default();
        let line = "app::fill|/u/src/a.rs|7";
        let (buffer, map) = (p.stack(&user(PUSH_FIRST, line)), p.stack(&user(MAP_INSERT, line)));
        for step in 0..1000 {
            if step % 100 == 0 {
                p.alloc(map, 64 + step);
            }
            let block = p.alloc(buffer, 32);
            p.free(block);
        }
        let found = p.only("reuse-in-loop");
        assert_eq!(found.title, "fill (a.rs:7) makes a new buffer 1,000 times in a row");
        assert!(found.remedy.contains("buffer.clear()"), "{}", found.remedy);
    }

    #[test]
    fn values_of_which_many_are_kept_are_no_buffers() {
        for (kept, n_found) in [(10, 1), (200, 0)] {
            let mut p = Program::default();
            let line = p.stack(&user(PUSH_FIRST, "app::value|/u/src/a.rs|7"));
            for at in 0..2000 {
                let block = p.alloc(line, 32);
                if at >= kept {
                    p.free(block);
                }
            }
            assert_eq!(p.found("reuse-in-loop").len(), n_found, "{kept} are kept");
        }
    }
}
