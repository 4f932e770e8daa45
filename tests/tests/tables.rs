//! Tables of many recordings: DuckDB and pandas read them, and find the numbers of the reports in them.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run::Outcome;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn record(victim: &str, folder: &Path) -> Recorded {
    let recorded = Recording::new(folder).record(build(&Victim::named(victim), FlagSet::Debug), &[]);
    assert!(recorded.report().totals.allocations > 0, "{}", recorded.outcome.stderr);
    recorded
}

/// Adds a recording to a folder of tables.
fn add(recording: &Path, tables: &Path, options: &[&str]) -> Outcome {
    let folder = recording.parent().expect("a folder");
    let mut command = run::command(tool::heapwise(), folder);
    command.arg("export").arg(recording).args(["--to", "parquet", "-o"]).arg(tables).args(options);
    run::finish(&mut command, folder, "heapwise export")
}

/// Runs a script of tests/python on a folder of tables, if Python has what it needs.
fn python(script: &str, tables: &Path, arguments: &[&Path]) -> Option<Outcome> {
    let python = programs::python_with_packages()?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(script);
    let mut command = run::command(&python, tables);
    let outcome = run::finish(command.arg(path).arg(tables).args(arguments), tables, script);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    Some(outcome)
}

/// What two engines find in a folder of tables, if they are there.
fn read(tables: &Path) -> Option<Value> {
    let outcome = python("tables.py", tables, &[])?;
    Some(serde_json::from_slice(&outcome.stdout).expect("JSON"))
}

#[test]
fn each_question_has_the_answer_that_is_known() {
    let folder = run::private_folder();
    let recorded = record("rust_hash_map", folder.path());
    let tables = folder.path().join("fleet");
    assert_eq!(add(&recorded.file, &tables, &[]).code(), 0);
    let questions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/fleet/tables/questions");
    python("questions.py", &tables, &[&questions]);
}

#[test]
fn engines_find_the_numbers_of_the_reports() {
    let folder = run::private_folder();
    let tables = folder.path().join("fleet");
    let victims = ["all_allocation_functions", "fork_child_allocates", "leak_known", "rust_hash_map"];
    let mut expected = serde_json::Map::new();
    for victim in victims {
        let own = run::private_folder();
        let recorded = record(victim, own.path());
        let outcome = add(&recorded.file, &tables, &["--service", victim, "--release", "1.0"]);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&format!("service {victim}")), "{}", outcome.stderr);
        let totals = recorded.report().totals;
        let sums = json!({
            "allocations": totals.allocations,
            "reallocations": totals.reallocations,
            "allocated_bytes": totals.allocated_bytes,
            "temporary_allocations": totals.temporary_allocations,
            "peak_bytes": totals.peak_live_bytes,
            "peak_blocks": totals.peak_live_blocks,
            "live_at_exit_bytes": totals.never_freed_bytes,
            "live_at_exit_blocks": totals.never_freed_blocks,
        });
        expected.insert(victim.to_owned(), sums);
    }
    let Some(found) = read(&tables) else { return };
    assert_eq!(found["sums"], Value::Object(expected));
    let releases = found["releases"].as_array().expect("rows");
    assert_eq!(releases.len(), victims.len());
    for (row, victim) in releases.iter().zip(victims) {
        assert_eq!((&row[0], &row[1], &row[2]), (&json!(victim), &json!("1.0"), &json!(true)));
        assert!(row[3].as_str().expect("a command").contains(victim), "{row}");
    }
    let functions = found["functions"].as_array().expect("a list");
    assert!(functions.contains(&json!("main")), "{functions:?}");
    let highest = found["highest"].as_array().expect("rows");
    assert_eq!(highest.len(), victims.len());
    for row in highest {
        let victim = row[0].as_str().expect("a service");
        // The peak lies in one of the spans.
        assert_eq!(row[1], found["sums"][victim]["peak_bytes"], "{victim}");
    }
    let followed = found["followed"].as_array().expect("rows");
    assert_eq!(followed.len(), victims.len());
    assert!(followed.iter().all(|row| row[2].as_u64() > Some(0)), "{followed:?}");
}

#[test]
fn two_releases_share_the_stacks_that_both_have() {
    let folder = run::private_folder();
    let tables = folder.path().join("fleet");
    for release in ["1.0", "2.0"] {
        let own = run::private_folder();
        let recorded = record("leak_known", own.path());
        assert_eq!(add(&recorded.file, &tables, &["--release", release]).code(), 0);
    }
    let Some(found) = read(&tables) else { return };
    assert!(found["shared_stacks"].as_u64().expect("a number") > 0, "{found}");
    assert_eq!(found["sums"].as_object().expect("by service").len(), 1, "the program's name is the service");
}

#[test]
fn a_recording_is_there_once_and_for_its_owner_only() {
    let folder = run::private_folder();
    let recorded = record("leak_known", folder.path());
    let tables = folder.path().join("fleet");
    let hostile = "../../../escaped\u{1b}[31m";
    let outcome = add(&recorded.file, &tables, &["--service", hostile]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains('\u{1b}'), "{:?}", outcome.stderr);
    let again = add(&recorded.file, &tables, &["--service", hostile]);
    assert_eq!(again.code(), 1, "{}", again.stderr);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let other = add(&recorded.file, &tables, &["--service", "other", "--force"]);
    assert_eq!(other.code(), 1, "{}", other.stderr);
    assert!(other.stderr.contains("under another service"), "{}", other.stderr);
    assert_eq!(add(&recorded.file, &tables, &["--service", hostile, "--force"]).code(), 0);
    // What is left of an export that was broken off does not stop the next one.
    std::fs::remove_dir_all(tables.join("recordings")).expect("it is there");
    assert_eq!(add(&recorded.file, &tables, &["--service", hostile]).code(), 0);
    let mut files = 0;
    let mut folders = vec![tables.clone()];
    while let Some(at) = folders.pop() {
        assert_eq!(at.metadata().expect("a folder").permissions().mode() & 0o77, 0, "{}", at.display());
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o77, 0, "{}", path.display());
            let below = path.strip_prefix(&tables).expect("it is below").components().count();
            assert_eq!(below, 4, "{}", path.display());
        }
    }
    assert_eq!(files, 9, "one for each table");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let folder = run::private_folder();
    let recorded = record("leak_known", folder.path());
    let file = recorded.file.to_str().expect("a plain name");
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "text").expect("a file can be written");
    let plain = plain.to_str().expect("a plain name");
    let missing = folder.path().join("missing.hw");
    let missing = missing.to_str().expect("a plain name");
    let cases: [(&[&str], i32, &str); 6] = [
        (&[file, "--to", "parquet"], 2, "-o FOLDER"),
        (&[file, "--to", "parquet", "-o", plain], 1, "no folder"),
        (&[file, "--to", "parquet", "-o", "t", "--measure", "allocations"], 2, "--measure"),
        (&[file, "--to", "folded", "--service", "a"], 2, "--service"),
        (&[file, "--to", "pprof", "-o", "p", "--release", "a"], 2, "--release"),
        (&[missing, "--to", "parquet", "-o", "t"], 4, "No such file"),
    ];
    for (arguments, code, expected) in cases {
        let mut command = run::command(tool::heapwise(), folder.path());
        let outcome = run::finish(command.arg("export").args(arguments), folder.path(), "heapwise export");
        assert_eq!(outcome.code(), code, "{arguments:?}: {}", outcome.stderr);
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].contains(expected), "{arguments:?}: {lines:?}");
    }
    assert!(!folder.path().join("t").exists(), "nothing was begun");
}
