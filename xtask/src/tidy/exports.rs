//! C symbols come from the preload library alone: any other crate that had one would put it into each program that links it, in
//! the place of that program's own.

use super::Problem;
use super::code::{has_word, only};
use super::tree::{Tree, is_in};

const ALLOWED: &[&str] = &[
    "crates/record/preload/",
    // The macro that the preload library makes its functions with.
    "crates/record/recorder/src/arch/x86_64/entry.rs",
    // Allocators to be preloaded: each is a separate library.
    "allocators/",
    // Programs that are recorded, or measured.
    "tests/victims/",
    "benches/workloads/",
];

/// Finds functions that are exported elsewhere.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.with_extension(&["rs"]).filter(|(path, _)| !is_in(path, ALLOWED)) {
        for (number, line) in only(text).lines().enumerate() {
            if has_word(line, "no_mangle") || has_word(line, "export_name") {
                problems.push(Problem::at(path, number, "only heapwise-preload exports C symbols"));
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
    fn an_export_elsewhere_is_found() {
        let tree = Tree::from([
            ("crates/record/preload/src/lib.rs", "#[unsafe(no_mangle)]"),
            ("crates/record/trace/src/lib.rs", "// no_mangle\n#[unsafe(no_mangle)]\nfn malloc() {}"),
            ("crates/cli/heapwise-cli/src/main.rs", "#[unsafe(export_name = \"free\")]"),
        ]);
        let found = lines(&check(&tree));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/cli/heapwise-cli/src/main.rs:1: "));
        assert!(found[1].starts_with("crates/record/trace/src/lib.rs:2: "));
    }
}
