//! ARCHITECTURE.md says something about every crate.

use super::Problem;
use super::packages::Packages;
use super::tree::Tree;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// Finds crates that the document does not mention.
pub(super) fn check(tree: &Tree, packages: &Packages) -> Vec<Problem> {
    let Some(text) = tree.get(DOCUMENT) else { return vec![Problem::new(DOCUMENT, "is missing")] };
    let unknown = packages.members().filter(|member| !text.contains(&member.name));
    unknown.map(|member| Problem::new(DOCUMENT, format!("does not mention {}", member.name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;
    use crate::tidy::packages::Package;

    #[test]
    fn a_crate_without_a_word_is_found() {
        let member = |name: &str| Package { name: name.to_owned(), is_member: true, ..Package::default() };
        let packages = Packages { all: vec![member("heapwise-trace"), member("xtask"), Package::default()] };
        let tree = Tree::from([(DOCUMENT, "`heapwise-trace` has the formats.")]);
        assert_eq!(lines(&check(&tree, &packages)), ["ARCHITECTURE.md: does not mention xtask"]);
        assert_eq!(lines(&check(&Tree::default(), &packages)), ["ARCHITECTURE.md: is missing"]);
    }
}
