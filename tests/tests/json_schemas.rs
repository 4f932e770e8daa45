//! Whether what heapwise writes for machines is what docs/schema says: real output of every command, against the schema that
//! it names. A schema allows no other fields, so that one without a description fails.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, private_folder};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema")
}

/// What does not agree with the schema that a document names.
fn problems(document: &Value) -> Vec<String> {
    let name = document["schema"].as_str().expect("the name of a schema").replace('/', "-");
    let text = fs::read_to_string(schemas().join(format!("{name}.json")))
        .unwrap_or_else(|e| panic!("docs/schema has no {name}: {e}"));
    let schema = serde_json::from_str(&text).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Runs a command for machines; its options come before `--`.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let at = arguments.iter().position(|a| *a == "--").unwrap_or(arguments.len());
    let (options, program) = arguments.split_at(at);
    let mut command = run::command(heapwise(), folder);
    command.args(options).args(["--format", "json"]).args(program);
    let outcome = run::finish(&mut command, folder, "json");
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}\n{}", outcome.text(), outcome.stderr))
}

#[test]
fn what_every_command_writes_is_what_its_schema_says() {
    let folder = private_folder();
    let folder = folder.path();
    let record = |name: &str, file: &str| {
        let at = folder.join(file);
        fs::create_dir(&at).expect("a folder");
        let program = build(&Victim::named(name), FlagSet::Release);
        let recorded = Recording::new(&at).record(&program, &[]);
        let path = |path: &Path| path.to_str().expect("a path").to_owned();
        (path(&recorded.file), path(&program))
    };
    let (burst, program) = record("free_pages_burst", "burst");
    let (marked, _) = record("marks_and_spans", "marked");
    let with = ["--with", "glibc,jemalloc:dirty_decay_ms=0,/no/such.so"];
    let beside = |arguments: &[&str], program: &[&str]| json(folder, &[arguments, &with, program].concat());
    let server = ["--ready", "sleep 0.1", "--load", "true", "--settle", "10ms", "--runs", "1"];
    let documents = [
        json(folder, &["report", &burst]),
        json(folder, &["report", &marked]),
        json(folder, &["annotate", &burst]),
        json(folder, &["annotate", &burst, "free_pages_burst.c"]),
        json(folder, &["diff", &burst, &marked, "--fail-on", "allocations>1"]),
        json(folder, &["diff", &burst, &burst]),
        json(folder, &["doctor"]),
        json(folder, &["doctor", "--", &program]),
        beside(&["compare", "--runs", "3"], &["--", &program]),
        beside(&[&["compare"][..], &server].concat(), &["--", "/bin/sleep", "100"]),
        beside(&["compare", "--runs", "1"], &["--", "/bin/sh", "-c", "test -z \"$LD_PRELOAD\""]),
        beside(&["replay", &burst, "--runs", "1", "--timed"], &[]),
        beside(&["replay", &burst, "--runs", "1"], &[]),
        beside(&["tune", &burst, "--goal", "rss-after", "--longest", "1s"], &["--", &program]),
        beside(&["tune", &burst, "--goal", "cpu", "--longest", "1s", "--confirm", "0"], &[]),
        json(folder, &["lab"]),
        json(folder, &["lab", "debug-heap", "--quick", "--size", "4000", "--runs", "1"]),
        json(folder, &["allocators"]),
        json(folder, &["allocators", "glibc,jemalloc:dirty_decay_ms=0,/no/such.so"]),
    ];
    let mut seen = BTreeSet::new();
    for document in &documents {
        let problems = problems(document);
        assert!(problems.is_empty(), "{}: {problems:#?}", document["schema"]);
        seen.insert(document["schema"].as_str().expect("a name").replace('/', "-") + ".json");
    }
    // What cargo heapwise and the library write is for their own tests.
    let others = ["heapwise.bench-1.json", "heapwise.bench-diff-1.json", "heapwise.operations-1.json"];
    seen.extend(others.map(str::to_owned));
    let there = fs::read_dir(schemas())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "check.rs");
    assert_eq!(there.collect::<BTreeSet<_>>(), seen, "each schema is one that a command writes");
}

#[test]
fn what_no_schema_knows_is_found() {
    let folder = private_folder();
    let mut document = json(folder.path(), &["lab"]);
    assert_eq!(problems(&document), Vec::<String>::new());
    document["experiments"][0]["new"] = 1.into();
    assert_eq!(problems(&document).len(), 1, "a field without a description");
    let mut document = json(folder.path(), &["doctor"]);
    document["clean"] = "yes".into();
    document["subject"]["pid"].take();
    assert_eq!(problems(&document).len(), 1, "another type; null is one of two");
    document["subject"].as_object_mut().expect("an object").remove("pid");
    assert_eq!(problems(&document).len(), 2, "a field that is missing");
}
