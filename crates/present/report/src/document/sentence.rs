//! Titles as sentences: they are in capitals for terminals, which have nothing else to set them off.

/// Words that have capitals in a sentence too, and those that are all of them.
const NAMES: [&str; 10] = ["RSS", "CPU", "JSON", "HTML", "Rust", "Cargo.toml", "C", "C++", "Python", "Linux"];

/// A title with only those capitals that a sentence has. What is not in capitals stays as it is.
pub(super) fn sentence(title: &str) -> String {
    if !is_in_capitals(title) {
        return title.to_owned();
    }
    let words: Vec<String> = title.split(' ').map(word).collect();
    let sentence = words.join(" ");
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Whether most words are: what is to be pasted somewhere is written there as it is.
fn is_in_capitals(title: &str) -> bool {
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
    let is_capital = |word: &&str| !word.chars().any(char::is_lowercase);
    let words: Vec<&str> = title.split(' ').filter(is_word).collect();
    words.iter().filter(|word| is_capital(word)).count() * 2 > words.len()
}

fn word(word: &str) -> String {
    if word.chars().any(char::is_lowercase) {
        return word.to_owned();
    }
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '+');
    let name = NAMES.into_iter().find(|name| name.to_uppercase() == bare);
    match name {
        Some(name) => word.replace(bare, name),
        None => word.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_are_for_names() {
        let cases = [
            ("CANDIDATES", "Candidates"),
            ("PEAK RSS OF ALL", "Peak RSS of all"),
            ("RUST: IN CARGO.TOML, UNDER [dependencies]", "Rust: in Cargo.toml, under [dependencies]"),
            ("AND AT THE END, WITH PAUSES", "And at the end, with pauses"),
            ("WITH THAT, MIND", "With that, mind"),
            ("hash-map: drop", "hash-map: drop"),
            ("Every size", "Every size"),
            ("CPU time of <b>", "CPU time of <b>"),
            ("", ""),
        ];
        for (title, expected) in cases {
            assert_eq!(sentence(title), expected);
        }
    }
}
