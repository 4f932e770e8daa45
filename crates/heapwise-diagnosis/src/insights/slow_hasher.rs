//! `slow-hasher`: maps use the hash function that withstands attacks, SipHash.
//!
//! How often a map is asked is not seen, only that it grew, and with which hash function: its type is in the names of the
//! functions. So it is one hint for the whole program, and a low one.

use super::Finding;
use super::Rule;
use crate::case::{Case, Part, Place};
use crate::insight::{Certainty, Estimate};
use crate::units::{bytes, count};

pub(crate) struct SlowHasher;

/// A table below this size is not hot, or not slow.
const LEAST_BYTES: u64 = 4 << 10;

impl Rule for SlowHasher {
    fn id(&self) -> &'static str {
        "slow-hasher"
    }

    fn find<'a>(&self, case: &'a Case<'a>) -> Vec<Finding<'a>> {
        let maps = case.places.iter().filter_map(|place| {
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
            title: format!("{} maps with the default hash function, SipHash", count(maps.len() as u64)),
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
