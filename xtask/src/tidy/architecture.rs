//! ARCHITECTURE.md has the list of wings and crates that the rule about layers goes by.

use super::Problem;
use super::layers;
use super::tree::Tree;

pub(super) const DOCUMENT: &str = "ARCHITECTURE.md";

const BEGIN: &str = "<!-- layers -->\n";
const END: &str = "<!-- /layers -->";

/// The document with this list in its place; `None` if there is none.
pub(super) fn with_list(text: &str, list: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{list}{END}{after}"))
}

/// Finds a list that is not that of the table.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(text) = tree.get(DOCUMENT) else { return vec![Problem::new(DOCUMENT, "is missing")] };
    let is_right = with_list(text, &layers::list()).is_some_and(|right| right == text);
    let what = "the list of crates is not that of xtask/src/tidy/layers.rs: run `cargo xtask layers`";
    if is_right { Vec::new() } else { vec![Problem::new(DOCUMENT, what)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn a_list_that_is_not_that_of_the_table_is_found() {
        let old = format!("# It\n{BEGIN}heapwise-trace\n{END}\nmore\n");
        assert_eq!(lines(&check(&Tree::from([(DOCUMENT, &*old)]))).len(), 1);
        let new = with_list(&old, &layers::list()).expect("it has a place");
        assert!(
            new.starts_with("# It\n") && new.ends_with("\nmore\n") && !new.contains("\nheapwise-trace\n")
        );
        assert_eq!(check(&Tree::from([(DOCUMENT, &*new)])), []);
        assert_eq!(lines(&check(&Tree::default())), ["ARCHITECTURE.md: is missing"]);
    }
}
