//! `slow-hasher`: maps use the hash function that withstands attacks, SipHash.
//!
//! How often a map is searched is not known, only that it grew, and with which hash function: its type is in the names of the
//! functions, unless these were mangled in the older way of Rust. So it is one hint for the whole program, and a low one.

use super::{Occurrence, Rule};
use crate::finding::{Certainty, Estimate, Severity};
use crate::rule_input::{Part, Place, RuleInput};
use crate::units::{bytes, count};

pub(crate) struct SlowHasher;

/// A table below this size is that of a small map, or of one that fits into the processor's first cache. The map that is worth
/// another hash function in the contest program has 41 KiB.
const LEAST_BYTES: u64 = 32 << 10;
/// Together the tables were asked for so many bytes, and for one part in so many of all.
const LEAST_OF_ALL: u64 = 256 << 10;
const PART_OF_ALL: u64 = 50;

impl Rule for SlowHasher {
    fn id(&self) -> &'static str {
        "slow-hasher"
    }

    /// What it saves is not in the events: it is worth a line where maps are a part of what the program does.
    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        let of_maps = input.analysis.sites().iter().filter(|site| occurrence.sites.contains(&site.id));
        let tables: u64 = of_maps.map(|site| site.allocated_bytes.0).sum();
        let is_part = tables.saturating_mul(PART_OF_ALL) >= input.analysis.totals.allocated_bytes.0;
        (tables >= LEAST_OF_ALL && is_part).then_some(Severity::Low)
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let own = input.places.iter().filter(|place| place.foreign.is_none());
        let maps = own.filter_map(|place| {
            let part = place.part_where(|seen| seen.call.sip_hash)?;
            let largest = part.sites.iter().map(|s| s.largest_bytes.0).max()?;
            (largest >= LEAST_BYTES).then_some((place, part, largest))
        });
        let mut maps: Vec<(&Place<'_>, Part<'_>, u64)> = maps.collect();
        maps.sort_by_key(|(_, part, _)| std::cmp::Reverse(part.bytes));
        let Some((place, _, _)) = maps.first() else { return Vec::new() };
        let places: Vec<String> = maps
            .iter()
            .take(3)
            .map(|(p, _, largest)| format!("{} with up to {}", p.label(), bytes(*largest)))
            .collect();
        vec![Occurrence {
            certainty: Certainty::Hint,
            title: match maps.len() {
                1 => "a map with the default hash function, SipHash".into(),
                n => format!("{} maps with the default hash function, SipHash", count(n as u64)),
            },
            place: Some(place),
            sites: maps.iter().flat_map(|(_, part, _)| part.ids()).collect(),
            evidence: vec![
                format!("tables of maps: {}", places.join("; ")),
                "how often they are used is not recorded; SipHash takes several times as long as other functions".into(),
            ],
            estimate: Estimate::default(),
            remedy: "Where keys do not come from attackers, use a faster one: `use foldhash::{HashMap, HashMapExt};` in place \
                of `std::collections::HashMap`."
                .into(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MAP_INSERT, Program, user};

    #[test]
    fn the_default_hash_function_is_reported_once_and_others_are_not() {
        let mut p = Program::default();
        let sip: Vec<_> = [7, 8]
            .iter()
            .map(|n| p.stack(&user(MAP_INSERT, ["app::a|/u/src/a.rs|7", "app::b|/u/src/a.rs|8"][n - 7])))
            .collect();
        sip.iter().for_each(|stack| _ = p.alloc(*stack, 300_000));
        let found = p.only("slow-hasher");
        assert_eq!((found.sites.len(), found.certainty), (2, Certainty::Hint));
        // Many small maps, and some that are hardly large.
        for (bytes, n_found) in [(20_000, 0), (41_000, 1)] {
            let mut p = Program::default();
            let stack = p.stack(&user(MAP_INSERT, "app::a|/u/src/a.rs|7"));
            (0..20).for_each(|_| _ = p.alloc(stack, bytes));
            assert_eq!(p.found("slow-hasher").len(), n_found, "{bytes}");
        }
        let mut twin = Program::default();
        let fold = MAP_INSERT
            .iter()
            .map(|f| f.replace("std::hash::random::RandomState", "foldhash::fast::RandomState"));
        let fold: Vec<String> = fold.collect();
        let fold: Vec<&str> = fold.iter().map(String::as_str).collect();
        let stack = twin.stack(&user(&fold, "app::a|/u/src/a.rs|7"));
        twin.alloc(stack, 300_000);
        assert_eq!(twin.found("slow-hasher"), []);
    }
}
