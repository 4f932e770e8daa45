//! Documents say what the command line has.

use crate::program::{ended, fleet, run};
use std::collections::BTreeSet;
use std::path::Path;

const COMMANDS: &[&[&str]] = &[
    &["query"],
    &["fleet", "ingest"],
    &["fleet", "compact"],
    &["fleet", "ask"],
    &["fleet", "serve"],
    &["fleet", "worker"],
];

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fleet.md");
    std::fs::read_to_string(path).expect("the document")
}

/// The words that begin with two hyphens.
fn flags(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c: char| !is_part(c)).filter(|word| word.len() > 3 && word.starts_with("--"));
    words.map(str::to_owned).collect()
}

#[test]
fn each_flag_is_in_the_document_and_each_flag_in_it_is_one() {
    // Those of heapwise and cargo, and what everything has.
    let others = ["--path", "--locked", "--to", "--help", "--version", "--quiet", "--verbose", "--color"];
    let others = others.map(str::to_owned);
    let mut all = BTreeSet::new();
    for command in COMMANDS {
        let (help, _) = run(&[*command, &["--help"]].concat());
        assert!(help.contains("Examples:\n  heapwise "), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 130), "{help}");
        all.extend(flags(&help));
    }
    let documented: BTreeSet<String> =
        flags(&document()).difference(&BTreeSet::from(others.clone())).cloned().collect();
    let all: BTreeSet<String> = all.difference(&BTreeSet::from(others)).cloned().collect();
    assert_eq!(documented, all);
}

#[test]
fn commands_in_documents_are_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut found = 0;
    for line in document().lines().filter_map(|line| line.strip_prefix("$ heapwise ")) {
        let words = words(line.split(" #").next().unwrap_or_default());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // The files are not there; a wrong flag would end with 2.
        let mut command = fleet(&words);
        let nowhere = [
            ("AWS_ENDPOINT", "http://127.0.0.1:1"),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
        ];
        let output = command.current_dir(folder.path()).envs(nowhere).output().expect("the program");
        assert_ne!(output.status.code(), Some(2), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        found += 1;
    }
    assert!(found >= 8, "{found}");
    ended(&fleet(&["fleet", "ask", "--nothing"]).output().expect("the program"), 2);
}

/// The words of a line, as a shell has them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("one at least").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
