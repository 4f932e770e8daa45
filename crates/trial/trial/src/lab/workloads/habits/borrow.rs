//! Words are counted: with an owned key for each word, or for each new word.

use rustc_hash::FxHashMap;

pub(super) fn before(texts: &[String]) -> u64 {
    let mut counts: FxHashMap<String, u64> = FxHashMap::default();
    for word in texts.iter().flat_map(|text| text.split(' ')) {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    sum(&counts)
}

pub(super) fn after(texts: &[String]) -> u64 {
    let mut counts: FxHashMap<String, u64> = FxHashMap::default();
    for word in texts.iter().flat_map(|text| text.split(' ')) {
        match counts.get_mut(word) {
            Some(count) => *count += 1,
            None => _ = counts.insert(word.to_owned(), 1),
        }
    }
    sum(&counts)
}

fn sum(counts: &FxHashMap<String, u64>) -> u64 {
    counts.iter().map(|(word, count)| word.len() as u64 * count * count).fold(0, u64::wrapping_add)
}
