//! Version 4: the lists in the manifest borrow too.
//!
//! Version 3 left the keywords and the names of the rounds owned, since `#[serde(borrow)]` does not reach the
//! `Cow` values inside of a `Vec`. `serde_with` has an adapter that does, `BorrowCow`, which is named as the
//! way to deserialize the elements. It knows strings but not paths, so the names of the rounds become
//! strings.
//!
//! There is one manifest and there are many entries, so this saves little; it shows that a small step can be
//! measured too.

use serde::Deserialize;
use serde_with::{BorrowCow, serde_as};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Longer contents than this many bytes disqualify an entry.
const MAX_CONTENTS_BYTES: usize = 1000;

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
    #[serde(borrow)]
    contents: Cow<'json, str>,
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

    let mut categories_by_keyword: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, category) in manifest.categories.iter().enumerate() {
        for keyword in &category.keywords {
            categories_by_keyword.entry(keyword.as_ref()).or_default().push(index);
        }
    }

    let mut points_by_author: HashMap<String, u64> = HashMap::new();
    for round in &manifest.rounds {
        let round_json =
            fs::read_to_string(data_dir.join(round.as_ref())).expect("a round should be readable");
        solve_round(&round_json, &categories_by_keyword, &mut points_by_author);
    }
    points_by_author.values().sum()
}

fn solve_round<'round>(
    round_json: &'round str,
    categories_by_keyword: &HashMap<&str, Vec<usize>>,
    points_by_author: &mut HashMap<String, u64>,
) {
    let round: Round<'round> = serde_json::from_str(round_json).expect("a round should be a list of entries");
    let entries = qualified_entries(round);

    // The heaviest weight of each category so far, with all authors who reached it.
    let mut best_by_category: HashMap<usize, (f64, Vec<Cow<'round, str>>)> = HashMap::new();
    for entry in &entries {
        let weight = weight_of(&entry.contents);

        let mut matched_categories = Vec::new();
        for word in entry.title.split_whitespace() {
            for &category in categories_by_keyword.get(word).into_iter().flatten() {
                if !matched_categories.contains(&category) {
                    matched_categories.push(category);
                }
            }
        }

        for category in matched_categories {
            let (best, authors) = best_by_category.entry(category).or_insert_with(|| (weight, Vec::new()));
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

/// Drops the entries that are too long or have no words.
fn qualified_entries<'round>(round: Round<'round>) -> Vec<Entry<'round>> {
    let qualifies = |entry: &Entry<'_>| {
        entry.contents.len() <= MAX_CONTENTS_BYTES && entry.contents.split_whitespace().next().is_some()
    };
    round.entries.into_iter().filter(qualifies).collect()
}

fn weight_of(contents: &str) -> f64 {
    contents.len() as f64 / contents.split_whitespace().count() as f64
}

#[cfg(test)]
mod tests {
    use super::{Manifest, Round};
    use heapwise::BorrowReport;

    const MANIFEST: &str = r#"{"categories":[{"keywords":["night"]}],"rounds":["round_1.json"]}"#;
    const ROUND: &str = r#"{"entries":[{"author":"Ana","title":"Night","contents":"one\ntwo"}]}"#;

    #[test]
    fn manifest_is_borrowed() {
        let manifest: Manifest<'_> = serde_json::from_str(MANIFEST).unwrap();
        let report = manifest.borrow_report(MANIFEST);
        report.assert_all_borrowed().assert_borrowed("categories[].keywords[]").assert_borrowed("rounds[]");
    }

    #[test]
    fn contents_are_owned_still() {
        let round: Round<'_> = serde_json::from_str(ROUND).unwrap();
        let report = round.borrow_report(ROUND);
        report.assert_borrowed("entries[].author").assert_borrowed("entries[].title");
        report.assert_owned("entries[].contents");
    }
}
