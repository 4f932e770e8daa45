//! Which call sites and places of two recordings are the same.
//!
//! Sites are paired by their full names first. What is left is paired by bare names, which finds the sites whose
//! functions were inlined differently or moved; several with the same bare names cannot be told apart and are taken
//! together. Places are paired by function and file, and what is left by the sites that they have in common.

use super::key::{StackKey, Symbols};
use super::side::Side;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Indices of what is the same in the older and in the newer recording. One of them may be empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) old: Vec<usize>,
    pub(super) new: Vec<usize>,
}

/// Pairs the groups of sites.
pub(super) fn of_sites(old: &Side, new: &Side, symbols: &Symbols<'_>) -> Vec<Pair> {
    let by_key: HashMap<&StackKey, usize> = new.groups.iter().map(|g| &g.key).zip(0..).collect();
    let mut pairs = Vec::new();
    // Ordered, so that the same two recordings give the same result.
    let mut left: BTreeMap<StackKey, Pair> = BTreeMap::new();
    let mut is_taken = vec![false; new.groups.len()];
    let bare = |key: &StackKey| key.map(|id| symbols.bare(id));
    for (i, group) in old.groups.iter().enumerate() {
        match by_key.get(&group.key) {
            Some(&j) => {
                is_taken[j] = true;
                pairs.push(Pair { old: vec![i], new: vec![j] });
            }
            None => left.entry(bare(&group.key)).or_default().old.push(i),
        }
    }
    for (j, group) in new.groups.iter().enumerate().filter(|(j, _)| !is_taken[*j]) {
        left.entry(bare(&group.key)).or_default().new.push(j);
    }
    for pair in left.into_values() {
        if pair.old.is_empty() || pair.new.is_empty() {
            pairs.extend(pair.old.into_iter().map(|i| Pair { old: vec![i], new: Vec::new() }));
            pairs.extend(pair.new.into_iter().map(|j| Pair { old: Vec::new(), new: vec![j] }));
        } else {
            pairs.push(pair);
        }
    }
    pairs
}

/// Pairs the places, given the pairs of sites. Each pair has at most one of each side.
pub(super) fn of_places(old: &Side, new: &Side, sites: &[Pair]) -> Vec<Pair> {
    let by_key: HashMap<_, usize> = new.places.iter().map(|p| &p.key).zip(0..).collect();
    let mut partner: Vec<Option<usize>> = old.places.iter().map(|p| by_key.get(&p.key).copied()).collect();
    let mut is_taken = vec![false; new.places.len()];
    partner.iter().flatten().for_each(|&j| is_taken[j] = true);
    let mut common: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for pair in sites {
        for &i in &pair.old {
            for &j in &pair.new {
                *common.entry((old.groups[i].place, new.groups[j].place)).or_default() += 1;
            }
        }
    }
    let mut common: Vec<_> = common.into_iter().collect();
    common.sort_by_key(|&(places, n)| (Reverse(n), places));
    for ((i, j), _) in common {
        if partner[i].is_none() && !is_taken[j] {
            partner[i] = Some(j);
            is_taken[j] = true;
        }
    }
    let both =
        partner.iter().enumerate().map(|(i, j)| Pair { old: vec![i], new: j.iter().copied().collect() });
    let alone = (0..new.places.len()).filter(|&j| !is_taken[j]);
    both.chain(alone.map(|j| Pair { old: Vec::new(), new: vec![j] })).collect()
}
