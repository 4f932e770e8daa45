//! A text that is generated, so that it needs no file and is the same everywhere.
//!
//! Of the words a quarter is different, whatever the length, so that a table grows in proportion with the text; common words
//! come often and rare ones seldom, as in a language.

use crate::statistics::random::{Random, mixed};

/// A text of so many words, with a space between each two.
pub(super) fn text(words: u64) -> String {
    let mut random = Random::new(words);
    let vocabulary = (words / 4).max(1);
    let mut text = String::with_capacity(usize::try_from(words * 12).unwrap_or(0));
    for i in 0..words {
        if i > 0 {
            text.push(' ');
        }
        // The square of a number between 0 and 1 is mostly small.
        let chance = random.below(1 << 32) as f64 / (1u64 << 32) as f64;
        push_word(&mut text, (chance * chance * vocabulary as f64) as u64);
    }
    text
}

/// The word of a number: five letters that spell it, and up to twelve that make it longer.
fn push_word(text: &mut String, number: u64) {
    let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
    let mut rest = number;
    for _ in 0..5 {
        text.push(letter(rest));
        rest /= 26;
    }
    let tail = mixed(number);
    for i in 0..tail % 13 {
        text.push(letter(tail >> (4 * i)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn counts(text: &str) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        text.split(' ').for_each(|word| *counts.entry(word).or_default() += 1);
        counts
    }

    #[test]
    fn the_text_stays_the_same() {
        // From another program, written after the description above.
        assert!(text(40).starts_with("aaaaa aaaaa baaaaxgtwdgcfxz aaaaa daaaacf aaaaa "), "{}", text(40));
        assert_eq!(text(1000).split(' ').count(), 1000);
        assert!(text(1000).bytes().all(|b| b == b' ' || b.is_ascii_lowercase()));
    }

    #[test]
    fn different_words_are_a_fixed_part_of_it() {
        for words in [4000, 16_000] {
            let different = counts(&text(words)).len() as f64 / words as f64;
            assert!((0.2..0.26).contains(&different), "{different}");
        }
    }

    #[test]
    fn some_words_are_common_and_most_are_rare() {
        let text = text(20_000);
        let counts = counts(&text);
        let most = counts.values().max().copied().unwrap();
        assert!(most > 100, "{most}");
        assert!(counts.values().filter(|n| **n <= 4).count() > counts.len() / 2);
    }
}
