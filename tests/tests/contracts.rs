//! Whether documents have the fields of JSON that there are: each that is documented is in a real output, and each of a real output
//! is documented. Names are compared and not where they are, for tables tell that in words.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, private_folder};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Objects whose names are data: settings, measures, goals.
const MAPS: [&str; 5] = ["settings", "weights", "measures", "against_baseline", "least"];

type Names = BTreeSet<String>;

/// The names of all fields, however deep.
fn fields(value: &Value, names: &mut Names) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| fields(value, names)),
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                match value.as_object().filter(|_| MAPS.contains(&name.as_str())) {
                    Some(map) => map.values().for_each(|value| fields(value, names)),
                    None => fields(value, names),
                }
            }
        }
        _ => {}
    }
}

/// What is in backticks, taken apart into names: `a{b, c}_bytes` is `a`, `b_bytes` and `c_bytes`.
fn names(cell: &str, found: &mut Names) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for code in cell.split('`').skip(1).step_by(2) {
        let mut rest = code;
        while let Some(from) = rest.find(is_of_name) {
            let end = rest[from..].find(|c| !is_of_name(c)).map_or(rest.len(), |n| from + n);
            let behind = &rest[end..];
            // Behind a list's last brace; the name before its first one has no part in that.
            let suffix = behind
                .find('}')
                .filter(|_| !behind.starts_with('{'))
                .map(|at| &behind[at + 1..])
                .filter(|s| s.starts_with('_'));
            let suffix = suffix.map_or("", |s| &s[..s.find(|c| !is_of_name(c)).unwrap_or(s.len())]);
            let name = &rest[from..end];
            if !name.starts_with('_') {
                found.insert(format!("{name}{suffix}"));
            }
            rest = behind;
        }
    }
}

/// The names in the left column of the table behind a heading, and those in all of it.
fn documented(document: &str, schema: &str) -> (Names, Names) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(document);
    let text = fs::read_to_string(path).expect("a document");
    let from =
        text.find(&format!("## JSON: `{schema}`")).unwrap_or_else(|| panic!("{document} has no {schema}"));
    let (mut left, mut all) = (Names::new(), Names::new());
    for row in text[from..].lines().filter(|line| line.starts_with("| `")) {
        names(row.split('|').nth(1).expect("a cell"), &mut left);
        names(row, &mut all);
    }
    assert!(left.len() > 5, "{document}: {left:?}");
    // What spreads are made of is documented above the tables.
    names(&text[from..], &mut all);
    (left, all)
}

fn check(document: &str, schema: &str, outputs: &[Value]) {
    let (left, all) = documented(document, schema);
    let mut real = Names::new();
    outputs.iter().for_each(|output| fields(output, &mut real));
    assert_eq!(outputs[0]["schema"], schema);
    let missing: Vec<_> = left.difference(&real).collect();
    assert!(missing.is_empty(), "{document} has fields that no output has: {missing:?}");
    let undocumented: Vec<_> = real.difference(&all).collect();
    assert!(undocumented.is_empty(), "{document} does not mention {undocumented:?}");
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = run::command(heapwise(), folder);
    let (options, program) =
        arguments.split_at(arguments.iter().position(|a| *a == "--").unwrap_or(arguments.len()));
    command.args(options).args(["--format", "json"]).args(program);
    let outcome = run::finish(&mut command, folder, "json");
    assert!([0, 3].contains(&outcome.code()), "{arguments:?}: {}", outcome.stderr);
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}", outcome.text()))
}

#[test]
fn fields_are_documented_and_documented_fields_are_there() {
    let folder = private_folder();
    let folder = folder.path();
    let program = build(&Victim::named("free_pages_burst"), FlagSet::Release);
    let recorded = Recording::new(folder).record(&program, &[]);
    let (file, program) = (recorded.file.to_str().expect("a path"), program.to_str().expect("a path"));
    let with = ["--with", "jemalloc:dirty_decay_ms=0,/no/such.so"];

    let replay = ["replay", file, "--with", "glibc,/no/such.so", "--runs", "1", "--timed"];
    check("replay.md", "heapwise.replay/1", &[json(folder, &replay)]);

    // Confirmed is a comparison, whose fields are documented there.
    let tuned = |goal| {
        let mut tuned =
            json(folder, &[&["tune", file, "--goal", goal, "--longest", "1s"][..], &with].concat());
        assert_eq!(tuned["confirmed"].take(), Value::Null);
        tuned
    };
    check("tune.md", "heapwise.tune/1", &[tuned("rss-after"), tuned("rss")]);

    let plain = json(folder, &[&["compare", "--runs", "3"][..], &with, &["--", program]].concat());
    let server = ["compare", "--runs", "1", "--ready", "sleep 0.1", "--load", "true", "--settle", "10ms"];
    let server = json(folder, &[&server[..], &["--with", "jemalloc", "--", "/bin/sleep", "100"]].concat());
    // It runs only where nothing is preloaded, so that something is found.
    let picky = ["--", "/bin/sh", "-c", "test -z \"$LD_PRELOAD\""];
    let found = json(folder, &[&["compare", "--runs", "1", "--with", "jemalloc"][..], &picky].concat());
    check("compare.md", "heapwise.compare/1", &[plain, server, found]);

    let checked = json(folder, &["allocators", "glibc,jemalloc:dirty_decay_ms=0,/no/such.so"]);
    check("allocators.md", "heapwise.allocators/1", &[json(folder, &["allocators"]), checked]);
}

#[test]
fn names_are_found_in_tables() {
    let mut found = Names::new();
    names("| `a.b[]{c, d}`, `{e, f}_bytes` and `.g` | not h |", &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "e_bytes", "f_bytes", "g"]);
}
