//! Libraries neither print nor end the process: they return what they found, and the program decides.

use super::Problem;
use super::code::{has_word, only};
use super::tree::{Tree, is_in};

const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// Programs, and what is only there to be run by hand.
const ALLOWED: &[&str] =
    &["crates/cargo-heapwise/", "crates/heapwise-cli/", "benches/", "examples/", "fuzz/", "tests/", "xtask/"];

fn may_print(path: &str) -> bool {
    let special = ["/tests/", "/examples/", "/build.rs"];
    is_in(path, ALLOWED) || special.iter().any(|part| path.contains(part))
}

/// Finds output and exits in libraries. The tests at the end of a file may print.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.with_extension(&["rs"]).filter(|(path, _)| !may_print(path)) {
        let code = only(text);
        let code = code.split_once("#[cfg(test)]\nmod tests").map_or(code.as_str(), |(before, _)| before);
        for (number, line) in code.lines().enumerate() {
            let prints = |name: &&&str| line.contains(&format!("{name}!")) && has_word(line, name);
            if let Some(name) = MACROS.iter().find(prints) {
                problems.push(Problem::at(path, number, format!("a library must not use {name}!")));
            }
            if line.contains("process::exit(") {
                problems.push(Problem::at(path, number, "a library must not end the process"));
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
    fn output_of_a_library_is_found() {
        let library =
            "//! println!(\"example\");\nfn f() {\n    eprintln!(\"no\");\n    std::process::exit(1);\n}\n";
        let tested = "fn print() {}\n\n#[cfg(test)]\nmod tests {\n    fn t() { println!(); }\n}\n";
        let tree = Tree::from([
            ("crates/heapwise-trace/src/lib.rs", library),
            ("crates/heapwise-trace/src/event.rs", tested),
            ("crates/heapwise-trace/examples/show.rs", "fn main() { println!(); }"),
            ("crates/heapwise-cli/src/main.rs", "fn main() { println!(); std::process::exit(2) }"),
        ]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "crates/heapwise-trace/src/lib.rs:3: a library must not use eprintln!",
                "crates/heapwise-trace/src/lib.rs:4: a library must not end the process",
            ]
        );
    }
}
