//! Contests for the tests, and what the versions and an independent solution say about them.

use poetry_contest::VERSIONS;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Writes a contest with the given keywords of each category and the JSON text of the entries of each round.
#[allow(dead_code, reason = "each test file uses a part of this module")]
pub(crate) fn contest(categories: &[&[&str]], rounds: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (1..=rounds.len()).map(|number| format!("round_{number}.json")).collect();
    for (name, entries) in names.iter().zip(rounds) {
        fs::write(dir.path().join(name), format!("{{\"entries\": [{entries}]}}")).unwrap();
    }
    let categories: Vec<Value> = categories.iter().map(|keywords| json!({ "keywords": keywords })).collect();
    let manifest = json!({ "categories": categories, "rounds": names });
    fs::write(dir.path().join("manifest.json"), manifest.to_string()).unwrap();
    dir
}

/// Returns the one answer of all versions, and panics when they differ.
pub(crate) fn answer(data_dir: &Path) -> u64 {
    let answers: Vec<(&str, u64)> = VERSIONS.iter().map(|(name, solve)| (*name, solve(data_dir))).collect();
    assert!(answers.iter().all(|(_, answer)| *answer == answers[0].1), "the versions differ: {answers:?}");
    answers[0].1
}

/// Solves the contest in another way: category by category, with fractions instead of floating-point weights.
///
/// The versions descend from each other and would share a mistake; this solution shares nothing with them.
pub(crate) fn independent_answer(data_dir: &Path) -> u64 {
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(data_dir.join(name)).unwrap()).unwrap()
    };
    let manifest = read("manifest.json");
    let mut points = 0;
    for round in manifest["rounds"].as_array().unwrap() {
        let round = read(round.as_str().unwrap());
        let entries: Vec<Candidate<'_>> =
            round["entries"].as_array().unwrap().iter().filter_map(Candidate::new).collect();
        let mut entries_by_word: HashMap<&str, Vec<&Candidate<'_>>> = HashMap::new();
        for entry in &entries {
            for word in &entry.words {
                entries_by_word.entry(word).or_default().push(entry);
            }
        }
        for category in manifest["categories"].as_array().unwrap() {
            let keywords = category["keywords"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let rivals: Vec<_> = keywords.filter_map(|word| entries_by_word.get(word)).flatten().collect();
            let Some(best) = rivals.iter().max_by(|a, b| a.compare(b)) else { continue };
            let winners = rivals.iter().filter(|rival| rival.compare(best).is_eq());
            points += winners.map(|winner| winner.author).collect::<HashSet<_>>().len() as u64;
        }
    }
    points
}

struct Candidate<'round> {
    author: &'round str,
    words: HashSet<&'round str>,
    length: usize,
    count: usize,
}

impl<'round> Candidate<'round> {
    fn new(entry: &'round Value) -> Option<Candidate<'round>> {
        let field = |name: &str| entry[name].as_str().unwrap();
        let length = field("contents").len();
        let count = field("contents").split_whitespace().count();
        let words = field("title").split_whitespace().collect();
        (length <= 1000 && count > 0).then_some(Candidate { author: field("author"), words, length, count })
    }

    fn compare(&self, other: &Candidate<'_>) -> std::cmp::Ordering {
        (self.length * other.count).cmp(&(other.length * self.count))
    }
}
