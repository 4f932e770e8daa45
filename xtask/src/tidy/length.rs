//! A file is one idea. One that has grown past this is two. And the README is what a newcomer reads to the end.

use super::Problem;
use super::tree::{Tree, is_in};

const MOST_LINES: usize = 700;

/// Tables: one shape, repeated. None so far.
const TABLES: &[&str] = &[];

/// Documents that are to be read in one go, and their most lines. What does not fit belongs into docs.
const DOCUMENTS: &[(&str, usize)] = &[("README.md", 220)];

/// Finds files that are too long.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sources = tree.with_extension(&["rs", "c", "cpp", "h", "py", "sh"]);
    let sources =
        sources.filter(|(path, _)| !is_in(path, TABLES)).map(|(path, text)| (path, text, MOST_LINES));
    let documents = DOCUMENTS.iter().filter_map(|&(path, most)| Some((path, tree.get(path)?, most)));
    let lengths = sources.chain(documents).map(|(path, text, most)| (path, text.lines().count(), most));
    let long = lengths.filter(|(_, lines, most)| lines > most);
    long.map(|(path, lines, most)| Problem::new(path, format!("has {lines} lines, more than {most}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn a_long_file_is_found() {
        let (fits, long) = ("x\n".repeat(700), "x\n".repeat(701));
        let tree = Tree::from([("a.rs", fits.as_str()), ("b.c", &long), ("Cargo.lock", &long)]);
        assert_eq!(lines(&check(&tree)), ["b.c: has 701 lines, more than 700"]);
    }

    #[test]
    fn a_long_readme_is_found_and_another_document_may_be_long() {
        let (fits, long) = ("x\n".repeat(220), "x\n".repeat(221));
        assert_eq!(check(&Tree::from([("README.md", &*fits), ("docs/README.md", &*long)])), []);
        let found = lines(&check(&Tree::from([("README.md", &*long)])));
        assert_eq!(found, ["README.md: has 221 lines, more than 220"]);
    }
}
