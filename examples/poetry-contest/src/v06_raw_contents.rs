//! Version 6: contents stay in the form in which they are stored.
//!
//! A profile of version 5 points at the contents, which cannot be borrowed as strings because they have to be
//! unescaped. But they are not needed as strings for long: the text serves to find the weight of an entry,
//! once. So the field becomes a `RawValue`, the JSON as it stands in the document, which can be borrowed
//! always; and the unescaping happens when the weight is computed, in a buffer that all entries share.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_with::{BorrowCow, serde_as};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Longer contents than this many bytes disqualify an entry.
const MAX_CONTENTS_BYTES: usize = 1000;

thread_local! {
    /// Holds the contents of one entry at a time. Longer contents are disqualified, so the buffer never
    /// grows.
    static UNESCAPED: RefCell<[u8; MAX_CONTENTS_BYTES]> = const { RefCell::new([0; MAX_CONTENTS_BYTES]) };
}

#[serde_as]
#[derive(Deserialize)]
#[cfg_attr(test, derive(heapwise::BorrowReport))]
struct Manifest<'json> {
    #[serde(borrow)]
    categories: Vec<Category<'json>>,
    #[serde_as(as = "Vec<BorrowCow>")]
    rounds: Vec<Cow<'json, str>>,
}

#[serde_as]
#[derive(Deserialize)]
#[cfg_attr(test, derive(heapwise::BorrowReport))]
struct Category<'json> {
    #[serde_as(as = "Vec<BorrowCow>")]
    keywords: Vec<Cow<'json, str>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(heapwise::BorrowReport))]
struct Round<'json> {
    #[serde(borrow)]
    entries: Vec<Entry<'json>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(heapwise::BorrowReport))]
struct Entry<'json> {
    #[serde(borrow)]
    author: Cow<'json, str>,
    #[serde(borrow)]
    title: Cow<'json, str>,
    /// A string in its JSON form, with quotes and escapes.
    #[serde(borrow)]
    #[cfg_attr(test, borrow_report(with = RawValue::get))]
    contents: &'json RawValue,
}

/// Returns the points that all authors win in the contest stored in `data_dir`.
///
/// # Panics
///
/// When a file of the contest cannot be read or is not in the expected format.
pub fn solve(data_dir: &Path) -> u64 {
    let manifest_json =
        fs::read_to_string(data_dir.join("manifest.json")).expect("manifest.json should be readable");
    solve_contest(data_dir, &manifest_json)
}

fn solve_contest(data_dir: &Path, manifest_json: &str) -> u64 {
    let manifest: Manifest<'_> =
        serde_json::from_str(manifest_json).expect("manifest.json should be a manifest");

    let keyword_count = manifest.categories.iter().map(|category| category.keywords.len()).sum();
    let mut category_counts: HashMap<&str, usize> = HashMap::with_capacity(keyword_count);
    for keyword in manifest.categories.iter().flat_map(|category| &category.keywords) {
        *category_counts.entry(keyword.as_ref()).or_default() += 1;
    }

    let mut categories_by_keyword: HashMap<&str, Vec<usize>> = HashMap::with_capacity(category_counts.len());
    for (index, category) in manifest.categories.iter().enumerate() {
        for keyword in &category.keywords {
            let keyword = keyword.as_ref();
            let categories = categories_by_keyword.entry(keyword);
            categories.or_insert_with(|| Vec::with_capacity(category_counts[keyword])).push(index);
        }
    }

    let mut points_by_author: HashMap<String, u64> = HashMap::new();
    for round in &manifest.rounds {
        let round_json =
            fs::read_to_string(data_dir.join(round.as_ref())).expect("a round should be readable");
        solve_round(&manifest, &round_json, &categories_by_keyword, &mut points_by_author);
    }
    points_by_author.values().sum()
}

fn solve_round<'round>(
    manifest: &Manifest<'_>,
    round_json: &'round str,
    categories_by_keyword: &HashMap<&str, Vec<usize>>,
    points_by_author: &mut HashMap<String, u64>,
) {
    let round: Round<'round> = serde_json::from_str(round_json).expect("a round should be a list of entries");

    // The heaviest weight of each category so far, with all authors who reached it.
    let mut best_by_category: HashMap<usize, (f64, Vec<Cow<'round, str>>)> =
        HashMap::with_capacity(manifest.categories.len());
    let mut matched_categories = Vec::new();
    for entry in &round.entries {
        let Some(weight) = weight_of(entry.contents) else {
            continue;
        };

        matched_categories.clear();
        for word in entry.title.split_whitespace() {
            for &category in categories_by_keyword.get(word).into_iter().flatten() {
                if !matched_categories.contains(&category) {
                    matched_categories.push(category);
                }
            }
        }

        for &category in &matched_categories {
            let (best, authors) =
                best_by_category.entry(category).or_insert_with(|| (weight, Vec::with_capacity(1)));
            if weight > *best {
                *best = weight;
                authors.clear();
            }
            if weight == *best && !authors.contains(&entry.author) {
                // A borrowed name is copied without its text, so this allocates only for an escaped name.
                authors.push(entry.author.clone());
            }
        }
    }

    for (_, authors) in best_by_category.into_values() {
        for author in authors {
            // The entry API would want an owned name even for authors who are in the tally already.
            match points_by_author.get_mut(author.as_ref()) {
                Some(points) => *points += 1,
                None => {
                    points_by_author.insert(author.into_owned(), 1);
                }
            }
        }
    }
}

/// Returns `None` for an entry that is disqualified, because it is too long or has no words.
fn weight_of(contents: &RawValue) -> Option<f64> {
    let quoted = contents.get();
    let escaped = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let escaped = escaped.expect("the contents should be a string");

    UNESCAPED.with_borrow_mut(|buffer| {
        let mut len = 0;
        for chunk in json_escape::unescape(escaped) {
            let chunk = chunk.expect("the contents should be a valid string");
            buffer.get_mut(len..len + chunk.len())?.copy_from_slice(chunk);
            len += chunk.len();
        }
        let text = str::from_utf8(&buffer[..len]).expect("unescaping should keep UTF-8 valid");
        match text.split_whitespace().count() {
            0 => None,
            words => Some(text.len() as f64 / words as f64),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Manifest, Round};
    use heapwise::BorrowReport;

    const MANIFEST: &str = r#"{"categories":[{"keywords":["night"]}],"rounds":["round_1.json"]}"#;
    const ROUND: &str = r#"{"entries":[{"author":"Ana","title":"Night","contents":"one\ntwo"}]}"#;

    #[test]
    fn everything_is_borrowed() {
        let manifest: Manifest<'_> = serde_json::from_str(MANIFEST).unwrap();
        manifest.borrow_report(MANIFEST).assert_all_borrowed();
        let round: Round<'_> = serde_json::from_str(ROUND).unwrap();
        round.borrow_report(ROUND).assert_all_borrowed().assert_borrowed("entries[].contents");
    }
}
