//! `slow-hasher`: maps use the hash function that withstands attacks, SipHash.
//!
//! How often a map is searched is not known, only that it grew, and with which hash function: its type is in the names of the
//! functions, unless these were mangled in the older way of Rust. So it is one hint for the whole program, and a low one.

use super::Finding;
use super::Rule;
use crate::insight::{Certainty, Estimate};
use crate::rule_input::{Part, Place, RuleInput};
use crate::units::{bytes, count};

pub(crate) struct SlowHasher;

/// A table below this size is not hot, or not slow.
const LEAST_BYTES: u64 = 4 << 10;

impl Rule for SlowHasher {
    fn id(&self) -> &'static str {
        "slow-hasher"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        let own = input.places.iter().filter(|place| place.foreign.is_none());
        let maps = own.filter_map(|place| {
            let part = place.part_where(|seen| seen.call.sip_hash)?;
            let largest = part.sites.iter().map(|s| s.largest_bytes.0).max()?;
            (largest >= LEAST_BYTES).then_some((place, part, largest))
        });
        let mut maps: Vec<(&Place<'_>, Part<'_>, u64)> = maps.collect();
        maps.sort_by_key(|(_, part, _)| std::cmp::Reverse(part.bytes));
        let Some((place, _, _)) = maps.first() else { return Vec::new() };
        let bytes_of_maps: u64 = maps.iter().map(|(_, part, _)| part.bytes).sum();
        let places: Vec<String> = maps
            .iter()
            .take(3)
            .map(|(p, _, largest)| format!("{} with up to {}", p.label(), bytes(*largest)))
            .collect();
        vec![Finding {
            certainty: Certainty::Hint,
            title: match maps.len() {
                1 => "a map with the default hash function, SipHash".into(),
                n => format!("{} maps with the default hash function, SipHash", count(n as u64)),
            },
            place: Some(place),
            sites: maps.iter().flat_map(|(_, part, _)| part.ids()).collect(),
            evidence: vec![
                format!("tables of maps: {}", places.join("; ")),
                "how often they are asked is not seen; SipHash takes several times as long as other functions".into(),
            ],
            estimate: Estimate { allocated_bytes: heapwise_analysis::Bytes(bytes_of_maps), ..Estimate::default() },
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
