//! Words that have a plainer one: readers are engineers in a hurry, and many of them are no native speakers.
//!
//! The list has only words that are never right. docs/glossary.md explains those that are right in one sense only.

use super::Problem;
use super::code::has_word;
use super::tree::{Tree, is_in};

/// What is not written, and what is written instead. Each is put together here, or this file would be the first one to be found.
const PLAIN: &[(&str, &str)] = &[
    (concat!("no", "body"), "what does it, or the passive"),
    (concat!("some", "body"), "what does it, or the passive"),
    (concat!("any", "body"), "what does it, or the passive"),
    (concat!("every", "body"), "all"),
    (concat!("given", " back"), "freed, or returned to the system"),
    (concat!("give", " back"), "free, or return to the system"),
    (concat!("gives", " back"), "frees, or returns to the system"),
    (concat!("gave", " back"), "freed, or returned to the system"),
    (concat!("giving", " back"), "freeing, or returning to the system"),
    (concat!("held", " against"), "compared with"),
    (concat!("put", " up with"), "accepted"),
    (concat!("to", "ld"), "reported, said or distinguished"),
    (concat!("in", "sight"), "finding"),
    (concat!("in", "sights"), "findings"),
    (concat!("con", "tender"), "candidate"),
    (concat!("con", "tenders"), "candidates"),
    (concat!("program as", " it is"), "baseline"),
    (concat!("otherwise", " than"), "differently from"),
    (concat!("without", " a word"), "silently"),
    (concat!("a process of", " its own"), "a separate process"),
    (concat!("a file of", " its own"), "a separate file"),
    (concat!("an allocator of", " its own"), "its own allocator"),
    (concat!("pages of", " its own"), "separate pages"),
    (concat!("died", " of"), "killed by"),
    (concat!("numbers of no", " great worth"), "indicative only"),
    (concat!("fare", "well"), "exit handshake"),
    (concat!("sh", "elf"), "registry"),
    (concat!("rounding", "-waste"), "internal-fragmentation"),
    (concat!("holes", "_bytes"), "external_fragmentation_bytes"),
    (concat!("rounding", "_bytes"), "internal_fragmentation_bytes"),
];

const EXTENSIONS: &[&str] = &["rs", "md", "ts", "c", "toml"];

/// What has happened is as it was called then, and these tests are about the user of that name.
const EXEMPT: &[&str] =
    &["CHANGELOG.md", "tests/tests/hostile.rs", "tests/tests/surroundings.rs", "tests/victims/"];

/// Finds such words in code, comments and documents.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let files = tree.with_extension(EXTENSIONS).filter(|(path, _)| !is_in(path, EXEMPT));
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for (word, instead) in PLAIN.iter().filter(|(word, _)| has_word(&line, word)) {
                problems.push(Problem::at(path, number, format!("instead of {word:?}, say {instead}")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn a_word_with_a_plainer_one_is_found() {
        let code = format!("// {}'s\nlet {}_else = 1;\n", PLAIN[1].0, PLAIN[1].0);
        let document = format!("Memory that was {}.\n", PLAIN[4].0.replacen('g', "G", 1));
        let tree = Tree::from([
            ("crates/doctor/doctor/src/lib.rs", code.as_str()),
            ("docs/format.md", &document),
            ("web/src/parts/threads.ts", &document),
            ("CHANGELOG.md", &document),
            ("Cargo.lock", &document),
        ]);
        let found = lines(&check(&tree));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/doctor/doctor/src/lib.rs:1: instead of "), "{found:?}");
        assert!(found[1].starts_with("docs/format.md:1: instead of "), "{found:?}");
        assert!(found[2].starts_with("web/src/parts/threads.ts:1: instead of "), "{found:?}");
    }
}
