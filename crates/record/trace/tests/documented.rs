//! docs/format.md says what the code does.

use heapwise_trace::event::Event;
use heapwise_trace::versions::{MAJOR, MINOR};

const FORMAT: &str = include_str!("../../../../docs/format.md");

/// The name of a kind as the document has it.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[test]
fn every_kind_of_event_is_in_the_table() {
    for (number, name) in Event::COLUMN_NUMBERS {
        let row = format!("| {number} | {}", in_words(name));
        assert!(FORMAT.lines().any(|line| line.starts_with(&row)), "no line begins with \"{row}\"");
    }
}

#[test]
fn the_version_is_the_one_that_is_written() {
    assert!(FORMAT.contains(&format!("It describes format version **{MAJOR}.{MINOR}**")));
    let header = format!("89 68 77 0d 0a 1a 0a 00  {MAJOR:02x} 00  {MINOR:02x} 00  00 00 00 00");
    assert!(FORMAT.contains(&header), "the header has other bytes than {header}");
    assert!(
        FORMAT.contains(&format!("| 8..10 | major version, {MAJOR} |\n| 10..12 | minor version, {MINOR} |"))
    );
}
