//! What all rounds of a contest share: the words, the categories, and the authors.
//!
//! The sizes here decide how many categories an entry matches, and with that how often the first version
//! copies an author's name. They are constants and not options, because the proportions between the versions
//! are what the data set is for.

use super::rng::Rng;
use std::collections::HashSet;

/// The number of categories of a contest.
const CATEGORIES: usize = 500;

/// The fewest and the most keywords of a category.
const KEYWORDS_PER_CATEGORY: (usize, usize) = (20, 35);

/// The number of words that titles and keywords are drawn from: each is a keyword of about three categories.
const LEXICON_WORDS: usize = 4600;

/// The number of first names; with as many last names they make ten thousand authors.
const NAMES: usize = 100;

/// Of a thousand authors, this many write with a nickname in quotation marks, which JSON has to escape.
const NICKNAMED_PER_MILLE: usize = 2;

const CONSONANTS: &[&str] =
    &["b", "br", "c", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v"];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u"];
const ENDINGS: &[&str] = &["", "", "n", "r", "l", "th"];

/// The words, categories and authors of one contest.
#[derive(Debug)]
pub(super) struct World {
    /// Made-up words, all different.
    pub(super) lexicon: Vec<String>,
    /// For each category the places of its keywords in the lexicon, all different.
    pub(super) categories: Vec<Vec<usize>>,
    /// The names of the authors.
    pub(super) authors: Vec<String>,
}

impl World {
    /// Makes the world of a seed.
    pub(super) fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed, u64::MAX);
        let lexicon = distinct_words(&mut rng, LEXICON_WORDS, 2, 4);
        let categories = (0..CATEGORIES).map(|_| category(&mut rng)).collect();
        let authors = authors(&mut rng);
        World { lexicon, categories, authors }
    }
}

fn category(rng: &mut Rng) -> Vec<usize> {
    let count = rng.between(KEYWORDS_PER_CATEGORY.0, KEYWORDS_PER_CATEGORY.1);
    let mut keywords = Vec::with_capacity(count);
    while keywords.len() < count {
        let word = rng.below(LEXICON_WORDS);
        if !keywords.contains(&word) {
            keywords.push(word);
        }
    }
    keywords
}

fn authors(rng: &mut Rng) -> Vec<String> {
    let first_names = distinct_words(rng, NAMES, 1, 2);
    let last_names = distinct_words(rng, NAMES, 1, 3);
    let mut authors = Vec::with_capacity(NAMES * NAMES);
    for first in &first_names {
        for last in &last_names {
            let (first, last) = (capitalized(first), capitalized(last));
            authors.push(if rng.chance(NICKNAMED_PER_MILLE) {
                format!("{first} \"{}\" {last}", capitalized(&word(rng, 2)))
            } else {
                format!("{first} {last}")
            });
        }
    }
    authors
}

fn distinct_words(rng: &mut Rng, count: usize, fewest: usize, most: usize) -> Vec<String> {
    let mut seen = HashSet::with_capacity(count);
    let mut words = Vec::with_capacity(count);
    while words.len() < count {
        let syllables = rng.between(fewest, most);
        let word = word(rng, syllables);
        if seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

fn word(rng: &mut Rng, syllables: usize) -> String {
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(rng.pick(CONSONANTS));
        word.push_str(rng.pick(VOWELS));
    }
    word.push_str(rng.pick(ENDINGS));
    word
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
