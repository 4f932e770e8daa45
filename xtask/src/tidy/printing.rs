//! Libraries neither print nor end the process: they return what they found, and the program decides. Programs print through
//! `heapwise_report::escape::terminal` alone, which lets nothing through that could control a terminal.

use super::Problem;
use super::code::{has_word, only};
use super::tree::{Tree, is_in};

const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// Programs, and what is only there to be run by hand.
const ALLOWED: &[&str] = &[
    "crates/cli/cargo-heapwise/",
    "crates/cli/heapwise-cli/",
    "crates/trial/trial/src/bin/",
    "benches/",
    "examples/",
    "fleet/",
    "fuzz/",
    "tests/",
    "xtask/",
];

/// Programs that show names of others.
const ESCAPING: &[&str] = &["crates/cli/cargo-heapwise/src/", "crates/cli/heapwise-cli/src/", "fleet/src/"];

/// Files of theirs that write to a stream themselves.
const WRITING: &[&str] = &[
    // Formats that are not for terminals, and HTML.
    "crates/cli/heapwise-cli/src/export.rs",
    "crates/cli/heapwise-cli/src/result.rs",
    // A dialogue, which its tests hold with something else than a terminal.
    "crates/cli/heapwise-cli/src/fix.rs",
    // A picture, whose texts are escaped where they come in.
    "crates/cli/heapwise-cli/src/watch/screen.rs",
];

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
    problems.extend(unescaped(tree));
    problems
}

/// Finds what programs print without escaping. Querying the properties of a stream is allowed.
fn unescaped(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.with_extension(&["rs"]).filter(|(path, _)| is_in(path, ESCAPING)) {
        let code = only(text);
        let code = code.split_once("#[cfg(test)]\nmod tests").map_or(code.as_str(), |(before, _)| before);
        for (number, line) in code.lines().enumerate() {
            let prints = MACROS.iter().any(|name| line.contains(&format!("{name}!")) && has_word(line, name));
            let asks =
                ["is_terminal", "choice(", "Stdio::from("].iter().any(|question| line.contains(question));
            let writes = ["stdout()", "stderr()"].iter().any(|stream| line.contains(stream)) && !asks;
            if prints || (writes && !WRITING.contains(&path)) {
                problems.push(Problem::at(
                    path,
                    number,
                    "print with say!, print or print_error of heapwise_report::escape",
                ));
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
            ("crates/record/trace/src/lib.rs", library),
            ("crates/record/trace/src/event.rs", tested),
            ("crates/record/trace/examples/show.rs", "fn main() { println!(); }"),
            ("tests/src/main.rs", "fn main() { println!(); std::process::exit(2) }"),
        ]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "crates/record/trace/src/lib.rs:3: a library must not use eprintln!",
                "crates/record/trace/src/lib.rs:4: a library must not end the process",
            ]
        );
    }

    #[test]
    fn output_of_a_program_that_is_not_escaped_is_found() {
        let program = "fn f() {\n    say!(\"fine\");\n    anstream::eprintln!(\"{name}\");\n    let out = io::stdout();\n    \
                       if io::stderr().is_terminal() {}\n}\n";
        let tree = Tree::from([
            ("crates/cli/heapwise-cli/src/run.rs", program),
            ("crates/cli/heapwise-cli/src/fix.rs", "fn f() { write(&mut io::stderr(), \"x\") }"),
        ]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "crates/cli/heapwise-cli/src/run.rs:3: print with say!, print or print_error of heapwise_report::escape",
                "crates/cli/heapwise-cli/src/run.rs:4: print with say!, print or print_error of heapwise_report::escape",
            ]
        );
    }
}
