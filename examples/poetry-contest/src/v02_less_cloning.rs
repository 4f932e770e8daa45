//! Version 2: authors are borrowed while a round is scored.
//!
//! A profile of version 1 points at the copy of the author's name that is made for every category an entry
//! takes part in. Nearly all of these copies are thrown away at once, because the entry does not lead the
//! category. The entries outlive the scoring of their round, so the leaders can refer to the names inside of
//! them. A name is copied only when its author enters the final tally for the first time.

use serde::Deserialize;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer contents than this many bytes disqualify an entry.
const MAX_CONTENTS_BYTES: usize = 1000;

#[derive(Deserialize)]
struct Manifest {
    categories: Vec<Category>,
    rounds: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Category {
    keywords: Vec<String>,
}

#[derive(Deserialize)]
struct Round {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    author: String,
    title: String,
    contents: String,
}

/// Returns the points that all authors win in the contest stored in `data_dir`.
///
/// # Panics
///
/// When a file of the contest cannot be read or is not in the expected format.
pub fn solve(data_dir: &Path) -> u64 {
    let manifest_json =
        fs::read_to_string(data_dir.join("manifest.json")).expect("manifest.json should be readable");
    solve_contest(data_dir, manifest_json)
}

fn solve_contest(data_dir: &Path, manifest_json: String) -> u64 {
    let manifest: Manifest =
        serde_json::from_str(&manifest_json).expect("manifest.json should be a manifest");

    let mut categories_by_keyword: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, category) in manifest.categories.iter().enumerate() {
        for keyword in &category.keywords {
            categories_by_keyword.entry(keyword).or_default().push(index);
        }
    }

    let mut points_by_author: HashMap<String, u64> = HashMap::new();
    for round in &manifest.rounds {
        let round_json = fs::read_to_string(data_dir.join(round)).expect("a round should be readable");
        solve_round(round_json, &categories_by_keyword, &mut points_by_author);
    }
    points_by_author.values().sum()
}

fn solve_round(
    round_json: String,
    categories_by_keyword: &HashMap<&str, Vec<usize>>,
    points_by_author: &mut HashMap<String, u64>,
) {
    let round: Round = serde_json::from_str(&round_json).expect("a round should be a list of entries");
    let entries = qualified_entries(round);

    // The heaviest weight of each category so far, with all authors who reached it.
    let mut best_by_category: HashMap<usize, (f64, Vec<&str>)> = HashMap::new();
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
            let author: &str = &entry.author;
            let (best, authors) = best_by_category.entry(category).or_insert_with(|| (weight, Vec::new()));
            if weight > *best {
                *best = weight;
                authors.clear();
            }
            if weight == *best && !authors.contains(&author) {
                authors.push(author);
            }
        }
    }

    for (_, authors) in best_by_category.into_values() {
        for author in authors {
            // The entry API would want an owned name even for authors who are in the tally already.
            match points_by_author.get_mut(author) {
                Some(points) => *points += 1,
                None => {
                    points_by_author.insert(author.to_owned(), 1);
                }
            }
        }
    }
}

/// Drops the entries that are too long or have no words.
fn qualified_entries(round: Round) -> Vec<Entry> {
    let qualifies = |entry: &Entry| {
        entry.contents.len() <= MAX_CONTENTS_BYTES && entry.contents.split_whitespace().next().is_some()
    };
    round.entries.into_iter().filter(qualifies).collect()
}

fn weight_of(contents: &str) -> f64 {
    contents.len() as f64 / contents.split_whitespace().count() as f64
}
