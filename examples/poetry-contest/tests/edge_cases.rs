//! The rules at their edges, with answers worked out by hand.
//!
//! The later versions read the text of an entry in another form than the earlier ones, so what matters most
//! here is everything that JSON can write in more than one way.

mod common;

use common::{answer, contest, independent_answer};

/// Checks the points of a contest with one round and the given categories.
fn check(categories: &[&[&str]], entries: &str, points: u64) {
    let dir = contest(categories, &[entries]);
    assert_eq!(answer(dir.path()), points);
    assert_eq!(independent_answer(dir.path()), points);
}

/// Writes the text of one entry, whose strings are in JSON form already.
fn entry(author: &str, title: &str, contents: &str) -> String {
    format!(r#"{{"author": "{author}", "title": "{title}", "contents": "{contents}"}}"#)
}

fn entries(list: &[String]) -> String {
    list.join(", ")
}

#[test]
fn the_heaviest_entry_wins_each_category() {
    let list =
        [entry("A", "night sea", "longest words"), entry("B", "night", "a b c"), entry("C", "ice", "x")];
    check(&[&["night"], &["sea", "ice"], &["fire"]], &entries(&list), 2);
}

#[test]
fn ties_give_a_point_to_each_author() {
    let list = [entry("A", "night", "ab cd"), entry("B", "night", "wx yz"), entry("C", "night", "a b")];
    check(&[&["night"]], &entries(&list), 2);
}

#[test]
fn ties_of_an_author_with_themselves_give_one_point() {
    let list = [entry("A", "night", "ab cd"), entry("A", "night", "wx yz"), entry("B", "night", "no no")];
    check(&[&["night"]], &entries(&list), 2);
}

#[test]
fn several_keywords_of_a_category_give_one_point() {
    check(&[&["night", "sea", "sea"]], &entry("A", "sea night sea", "words"), 1);
}

#[test]
fn only_whole_words_of_the_title_count() {
    check(&[&["night"]], &entry("A", "nightly Night night-sea", "words"), 0);
    check(&[&["night"]], &entry("A", "the\\tnight\\n", "words"), 1);
}

#[test]
fn entries_without_words_are_disqualified() {
    for empty in ["", "   ", "\\n\\t \\r", "\\u0020", "\\u3000", "\u{2003}"] {
        check(&[&["night"]], &entry("A", "night", empty), 0);
    }
    check(&[&["night"]], &entries(&[entry("A", "night", " "), entry("B", "night", "x")]), 1);
}

#[test]
fn a_thousand_bytes_are_allowed_and_no_more() {
    let check_length =
        |contents: String, points| check(&[&["night"]], &entry("A", "night", &contents), points);
    check_length("x".repeat(1000), 1);
    check_length("x".repeat(1001), 0);
    // The limit is about the text and not about its JSON form, which is longer here.
    check_length("\\n".repeat(999) + "x", 1);
    check_length("\\n".repeat(1000) + "x", 0);
    check_length("\\u00e9".repeat(500), 1);
    check_length("x".to_owned() + &"\\u00e9".repeat(500), 0);
    check_length("\\ud83c\\udf19".repeat(250), 1);
    check_length("\\ud83c\\udf19".repeat(250) + "\\n", 0);
}

#[test]
fn escapes_weigh_what_they_stand_for() {
    // Two bytes, four bytes and one byte: each pair ties only if the escape is resolved.
    for (escaped, plain) in
        [("\\u00e9", "ab"), ("\\ud83c\\udf19", "🌙"), ("\\\"", "a"), ("\\/", "b"), ("\\\\", "c")]
    {
        check(&[&["night"]], &entries(&[entry("A", "night", escaped), entry("B", "night", plain)]), 2);
    }
    // A line break separates words: 7 bytes in 2 words are less than 4 bytes in 1.
    check(&[&["night"]], &entries(&[entry("A", "night", "abc\\ndef"), entry("B", "night", "abcd")]), 1);
    check(&[&["night"]], &entries(&[entry("A", "night", "ab\\ncd"), entry("B", "night", "ab cd")]), 2);
}

#[test]
fn escaped_names_are_the_same_author() {
    let list = [
        entry("Ana \\\"Ink\\\" Rey", "night", "abc"),
        entry("Ren\\u00e9e", "night", "abc"),
        entry("Renée", "night", "abc"),
        entry("\\ud83c\\udf19", "night", "abc"),
    ];
    check(&[&["night"]], &entries(&list), 3);
    let dir = contest(&[&["night"]], &[&list[0], &list[0], &list[1], &list[2]]);
    assert_eq!(answer(dir.path()), 4);
}

#[test]
fn escaped_titles_and_keywords_match() {
    check(&[&["été"]], &entry("A", "\\u00e9t\\u00e9", "x"), 1);
    check(&[&["a\"b"]], &entry("A", "a\\\"b", "x"), 1);
}

#[test]
fn rounds_are_scored_on_their_own() {
    let (light, heavy) = (entry("A", "night", "a b"), entry("B", "night", "heavier"));
    let dir = contest(&[&["night"]], &[&light, &heavy, &entries(&[light.clone(), heavy.clone()])]);
    assert_eq!(answer(dir.path()), 3);
    assert_eq!(independent_answer(dir.path()), 3);
}
