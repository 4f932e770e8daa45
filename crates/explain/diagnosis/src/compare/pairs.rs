//! Which call sites and places of two recordings are the same.
//!
//! Sites are paired by their full names first. What is left is paired by bare names, which finds the sites whose
//! functions were inlined differently or moved; several with the same bare names cannot be distinguished and are taken
//! together. Places are paired in the same two ways by function and file, and what is left by the sites that they have
//! in common, which finds functions that moved to another file.

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

/// Pairs the places, given the pairs of sites.
pub(super) fn of_places(old: &Side, new: &Side, sites: &[Pair], symbols: &Symbols<'_>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut left: BTreeMap<_, Pair> = BTreeMap::new();
    let mut is_left = [vec![true; old.places.len()], vec![true; new.places.len()]];
    let mut take = |pair: Pair| {
        pair.old.iter().for_each(|&i| is_left[0][i] = false);
        pair.new.iter().for_each(|&j| is_left[1][j] = false);
        pairs.push(pair);
    };
    let by_key: HashMap<_, usize> = new.places.iter().map(|p| &p.key).zip(0..).collect();
    let mut is_taken = vec![false; new.places.len()];
    for (i, place) in old.places.iter().enumerate() {
        match by_key.get(&place.key) {
            Some(&j) => {
                is_taken[j] = true;
                take(Pair { old: vec![i], new: vec![j] });
            }
            None => left.entry(place.key.bare(symbols)).or_default().old.push(i),
        }
    }
    for (j, place) in new.places.iter().enumerate().filter(|(j, _)| !is_taken[*j]) {
        left.entry(place.key.bare(symbols)).or_default().new.push(j);
    }
    left.into_values().filter(|pair| !pair.old.is_empty() && !pair.new.is_empty()).for_each(&mut take);

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
        if is_left[0][i] && is_left[1][j] {
            (is_left[0][i], is_left[1][j]) = (false, false);
            pairs.push(Pair { old: vec![i], new: vec![j] });
        }
    }
    let alone = |is_left: &[bool]| -> Vec<usize> { (0..is_left.len()).filter(|&i| is_left[i]).collect() };
    pairs.extend(alone(&is_left[0]).into_iter().map(|i| Pair { old: vec![i], new: Vec::new() }));
    pairs.extend(alone(&is_left[1]).into_iter().map(|j| Pair { old: Vec::new(), new: vec![j] }));
    pairs
}
