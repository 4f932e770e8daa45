//! A file is one idea. One that has grown past this is two.

use super::Problem;
use super::tree::{Tree, is_in};

const MOST_LINES: usize = 700;

/// Tables: one shape, repeated. None so far.
const TABLES: &[&str] = &[];

/// Finds files that are too long.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sources = tree.with_extension(&["rs", "c", "cpp", "h", "py", "sh"]);
    let lengths = sources.map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|&(path, lines)| lines > MOST_LINES && !is_in(path, TABLES));
    long.map(|(path, lines)| Problem::new(path, format!("has {lines} lines, more than {MOST_LINES}")))
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
}
