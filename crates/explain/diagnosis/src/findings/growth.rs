//! `growth`: buffers and maps that grow step by step although their size is about the same each time.
//!
//! The rule detects chains: a block that was resized again and again, or succeeded by larger ones. Buffers of one line that come
//! one after another are not reported here: they should be reused (`reuse-in-loop`).

use super::{Occurrence, Rule};
use crate::cost::{Work, of_work};
use crate::finding::{Certainty, Estimate};
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, Place, RuleInput};
use crate::units::{bytes, count};
use heapwise_analysis::{Bytes, SizeSpread};

/// If the largest buffers are more than so many times the usual one, no single size is right for all.
const MOST_APART: u64 = 4;

pub(crate) struct Growth;

impl Rule for Growth {
    fn id(&self) -> &'static str {
        "growth"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        // A line may fill the buffers in a map and the map itself.
        input
            .places
            .iter()
            .flat_map(|place| [false, true].into_iter().filter_map(|map| find(place, map)))
            .collect()
    }
}

fn find<'a>(place: &'a Place<'a>, map: bool) -> Option<Occurrence<'a>> {
    let reusable = super::reuse_in_loop::callees(place);
    let part = place.part_where(|seen| match seen.call.what {
        _ if reusable.contains(&seen.call.callee) => false,
        Purpose::MapGrow => map,
        Purpose::Grow => !map,
        // A block of the program's own making: only if it was seen to grow.
        Purpose::Direct | Purpose::Boxed => {
            !map && (seen.site.growth.steps > 0 || seen.site.reallocations > 0)
        }
        _ => false,
    })?;
    // One step is not step by step.
    if part.buffers == 0 || part.steps < 2 * part.buffers {
        return None;
    }
    let sizes = final_sizes(&part);
    let (half, most) = (sizes.quantile(0.5)?.0, sizes.quantile(0.99)?.0);
    let each = part.steps as f64 / part.buffers as f64;
    // Bytes that were requested on the way to the last size.
    let last = half.saturating_mul(part.buffers);
    let wasted = part.bytes.saturating_sub(last);
    // Blocks that took the place of smaller ones; many buffers may never have grown.
    let pairs = part.steps.saturating_sub(part.reallocations);
    // A map that has grown is between half full and full.
    let entries = capacity(place, &part, map, half).filter(|_| map).map_or(0, |n| n * 3 / 4);
    let reallocations = part.reallocations.min(part.steps);
    let work = Work {
        pairs,
        rehashed: entries.saturating_mul(part.buffers),
        reallocations,
        copied_bytes: part.copied_bytes,
        ..Work::default()
    };
    let what = if map { "map" } else { "buffer" };
    let whats = if part.buffers == 1 {
        format!("a {what} grows")
    } else {
        format!("{} {what}s grow", count(part.buffers))
    };
    Some(Occurrence {
        certainty: Certainty::Certain,
        title: format!("{}: {whats} step by step", place.label()),
        place: Some(place),
        sites: part.ids(),
        evidence: vec![
            format!("{} steps of growth, {each:.1} for each {what}", count(part.steps)),
            if half == most {
                format!("they ended with {}", bytes(most))
            } else {
                format!(
                    "they ended with {} at the median and {} at the 99th percentile",
                    bytes(half),
                    bytes(most)
                )
            },
            format!("{} were copied to larger places on the way", bytes(part.copied_bytes)),
        ],
        estimate: Estimate {
            allocations: (part.steps - reallocations).min(part.allocations),
            reallocations,
            allocated_bytes: Bytes(wasted),
            peak_bytes: Bytes(0),
            time: of_work(&work),
        },
        remedy: if most / MOST_APART > half {
            remedy_without_size(place.language, kind(&part, map), map)
        } else {
            remedy(place.language, kind(&part, map), capacity(place, &part, map, most), most, each)
        },
    })
}

fn final_sizes(part: &Part<'_>) -> SizeSpread {
    let mut sizes = SizeSpread::default();
    part.sites.iter().for_each(|site| sizes.merge(&site.growth.final_sizes));
    sizes
}

/// How many elements the buffer had room for in the end, where that follows from its first block: `Vec` begins with
/// room for four elements and a table of hashbrown with four buckets, of which it fills seven eighths when it grows.
fn capacity(place: &Place<'_>, part: &Part<'_>, map: bool, last: u64) -> Option<u64> {
    if place.language != Language::Rust {
        return None;
    }
    let begins = part.sites.iter().filter(|s| s.allocations > 0);
    let first = begins.max_by_key(|s| s.allocations)?.sizes.smallest()?.0;
    if map {
        let buckets = 4 * (last / first.max(1)).next_power_of_two();
        return Some(buckets * 7 / 8);
    }
    match part.callee {
        "push_str" | "write_str" => Some(last),
        "push" | "push_mut" if first >= 16 => Some(last / (first / 4).max(1)),
        _ => None,
    }
}

/// What it is, by the name that Rust has for it.
fn kind(part: &Part<'_>, map: bool) -> &'static str {
    match part.callee {
        _ if map => "HashMap",
        "push_str" | "write_str" => "String",
        _ if super::reuse_in_loop::is_text(part) => "String",
        _ => "Vec",
    }
}

fn remedy(language: Language, kind: &str, capacity: Option<u64>, last: u64, steps: f64) -> String {
    match language {
        Language::Rust => match capacity {
            Some(n) => format!(
                "Reserve once, with the number that is known or the size that was seen: `{kind}::with_capacity({n})`."
            ),
            None => format!(
                "Reserve once, with the number that is known or the size that was seen ({}): \
                     `{kind}::with_capacity(n)`.",
                bytes(last)
            ),
        },
        Language::C if steps > 30.0 => DOUBLE.into(),
        Language::C => format!("Allocate the size that it ends with at once: `malloc({last})`."),
        Language::Cxx if kind == "HashMap" => {
            "Reserve once: `map.reserve(n);` with the number that is known.".into()
        }
        Language::Cxx if kind == "String" => {
            format!("Reserve once: `text.reserve({last});`, or what is known beforehand.")
        }
        Language::Cxx => format!("Reserve once: `v.reserve(n);` with room for {}.", bytes(last)),
    }
}

const DOUBLE: &str = "Double the capacity when it is full instead of adding a constant: `capacity *= 2; p = realloc(p, capacity);`.";

fn remedy_without_size(language: Language, kind: &str, map: bool) -> String {
    let call = match (language, map) {
        (Language::Rust, _) => format!("{kind}::with_capacity(n)"),
        (Language::C, _) => return DOUBLE.into(),
        (Language::Cxx, true) => "map.reserve(n);".into(),
        (Language::Cxx, false) if kind == "String" => "text.reserve(n);".into(),
        (Language::Cxx, false) => "v.reserve(n);".into(),
    };
    format!("Their sizes differ widely. Reserve once where the number is known beforehand: `{call}`.")
}

#[cfg(test)]
mod tests {
    use crate::testing::{MAP_INSERT, PUSH_AGAIN, PUSH_FIRST, Program, user};

    fn vectors(p: &mut Program, line: &str, steps: u32) {
        let (first, again) = (p.stack(&user(PUSH_FIRST, line)), p.stack(&user(PUSH_AGAIN, line)));
        for _ in 0..200 {
            let begun = p.alloc(first, 32);
            (1..=steps).fold(begun, |block, step| p.resize(block, again, 32 << step));
        }
    }

    #[test]
    fn vectors_that_grow_again_and_again_are_reported_with_their_size() {
        let mut p = Program::default();
        vectors(&mut p, "app::fill|/u/src/a.rs|7", 5);
        vectors(&mut p, "app::fine|/u/src/a.rs|17", 1);
        let found = p.only("growth");
        assert_eq!(found.title, "fill (a.rs:7): 200 buffers grow step by step");
        assert_eq!((found.estimate.allocations, found.estimate.reallocations), (0, 1000));
        // 32 << 5 bytes, and a vector begins with room for four.
        assert!(found.remedy.contains("`Vec::with_capacity(128)`"), "{}", found.remedy);
    }

    #[test]
    fn no_size_is_advised_where_sizes_differ_widely() {
        let mut p = Program::default();
        let line = "app::fill|/u/src/a.rs|7";
        let (first, again) = (p.stack(&user(PUSH_FIRST, line)), p.stack(&user(PUSH_AGAIN, line)));
        for steps in [4, 16, 4, 16] {
            let begun = p.alloc(first, 32);
            (1..=steps).fold(begun, |block, step| p.resize(block, again, 32 << step));
        }
        let found = p.only("growth");
        assert_eq!(
            found.evidence[1],
            "they ended with 512 B at the median and 2.00 MiB at the 99th percentile"
        );
        assert!(found.remedy.contains("`Vec::with_capacity(n)`"), "{}", found.remedy);
    }

    #[test]
    fn maps_grow_by_larger_blocks() {
        let mut p = Program::default();
        let insert = p.stack(&user(MAP_INSERT, "app::fill|/u/src/a.rs|7"));
        let mut kept = Vec::new();
        for _ in 0..100 {
            let mut block = p.alloc(insert, 100);
            for step in 1..=4 {
                let larger = p.alloc(insert, 100 << step);
                p.free(block);
                block = larger;
            }
            kept.push(block);
        }
        let found = p.only("growth");
        assert_eq!(found.title, "fill (a.rs:7): 100 maps grow step by step");
        assert!(found.remedy.contains("`HashMap::with_capacity(56)`"), "{}", found.remedy);
    }
}
