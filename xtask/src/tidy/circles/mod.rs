//! No file of a crate takes something from a file that takes something from it, directly or around a few corners: then the
//! files are one idea, or one of them names what is above it.
//!
//! What is taken is read from `use` declarations and from paths in the code. A name that a module only passes on is taken from
//! where it is defined, so a module may pass on what is in its children. What a module takes from those around it is no reason
//! for a circle: a registry has its trait and its table in one file. Code for tests does not count.

mod graph;
mod modules;
mod names;

use super::Problem;
use super::tree::Tree;
use std::collections::BTreeSet;

/// Crates with one circle that is known, and why it is still there.
const KNOWN: &[&str] = &[];

/// Finds circles of files in each crate.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    check_but(tree, KNOWN)
}

fn check_but(tree: &Tree, known: &[&str]) -> Vec<Problem> {
    let sources = |path: &str| path.find("/src/").map(|at| path[..at + "/src/".len()].to_owned());
    let folders: BTreeSet<String> =
        tree.with_extension(&["rs"]).filter_map(|(path, _)| sources(path)).collect();
    let of_folder = |folder: &String| {
        let mut problems = of_crate(tree, folder);
        match (known.contains(&folder.as_str()), problems.len()) {
            (true, 0) => {
                vec![Problem::new(folder, "has no circle any more: strike it off xtask/src/tidy/circles")]
            }
            (true, _) => problems.split_off(1),
            (false, _) => problems,
        }
    };
    folders.iter().flat_map(of_folder).collect()
}

fn of_crate(tree: &Tree, folder: &str) -> Vec<Problem> {
    let files =
        tree.with_extension(&["rs"]).filter_map(|(path, text)| Some((path.strip_prefix(folder)?, text)));
    let modules = modules::read(files);
    let edges = names::edges(&modules);
    let circles = graph::circles(modules.len(), edges.keys().copied());
    circles
        .into_iter()
        .map(|circle| {
            let files: Vec<&str> = circle.iter().map(|&at| modules[at].file.as_str()).collect();
            let ties = edges.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
            let ties: Vec<String> = ties
                .map(|((from, to), name)| {
                    format!("{} takes {name} from {}", modules[*from].file, modules[*to].file)
                })
                .collect();
            Problem::new(folder, format!("a circle of {}: {}", files.join(", "), ties.join("; ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn circles_are_found_and_what_is_passed_on_is_none() {
        let tree = Tree::from([
            (
                "crates/w/a/src/lib.rs",
                "mod up; mod down; pub mod folder; pub use up::Up; fn f() { down::go() }",
            ),
            ("crates/w/a/src/up.rs", "use crate::down::go; pub struct Up;"),
            ("crates/w/a/src/down.rs", "pub fn go() { let _ = super::Up; }"),
            (
                "crates/w/a/src/folder/mod.rs",
                "mod part; pub use part::Part; #[cfg(test)] mod tests { use super::*; }",
            ),
            ("crates/w/a/src/folder/part.rs", "use super::Part as Own; pub struct Part;"),
        ]);
        let found = lines(&check(&tree));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/w/a/src/: a circle of down.rs, up.rs: "), "{found:?}");
        assert_eq!(check_but(&tree, &["crates/w/a/src/"]), []);
    }

    #[test]
    fn a_module_and_what_is_around_it_are_no_circle() {
        let tree = Tree::from([
            ("crates/w/a/src/main.rs", "mod child; pub const N: u32 = 1; fn main() { child::run(); }"),
            ("crates/w/a/src/child.rs", "use crate::N; pub fn run() { let _ = N; }"),
        ]);
        assert_eq!(check(&tree), []);
        assert_eq!(
            lines(&check_but(&tree, &["crates/w/a/src/"])).len(),
            1,
            "it is known for one that it has not"
        );
    }
}
