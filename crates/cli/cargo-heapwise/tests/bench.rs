//! `cargo heapwise bench` in real use: cargo builds and runs a benchmark, whose numbers are made up.

mod fixture;

use fixture::{FAIL, Fixture, LEAVE, Outcome, command};
use serde_json::Value;
use std::fs;

const TWO: &str = "parse|31|4096|1024\nsum|0|0|0";

/// What was written for machines, which is what docs/schema says.
fn result(outcome: &Outcome) -> Value {
    let result: Value = serde_json::from_str(&outcome.stdout).expect("JSON and nothing else");
    let schema = include_str!("../../../../docs/schema/heapwise.bench-diff-1.json");
    if let Err(error) = jsonschema::validate(&serde_json::from_str(schema).expect("JSON"), &result) {
        panic!("{}: {error}", error.instance_path());
    }
    result
}

#[test]
fn a_table_has_what_benchmarks_of_this_run_left() {
    let fixture = Fixture::new();
    let outcome = fixture.bench(TWO, &["--bench", "first"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let rows: Vec<Vec<_>> = outcome.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [vec!["first:"], vec!["parse", "31", "4,096", "1,024"], vec!["sum", "0", "0", "0"]] {
        assert!(rows.contains(&row), "{row:?}: {}", outcome.stdout);
    }
    // The file of the second benchmark is of this run, those of the first are not any more.
    let outcome =
        fixture.bench("other|1|1|1", &["--bench", "second", "--iterations", "3", "--format", "json"]);
    let result = result(&outcome);
    let benchmarks = result["benchmarks"].as_array().expect("benchmarks");
    assert_eq!(benchmarks.len(), 1, "{result:#}");
    assert_eq!((&benchmarks[0]["id"], &benchmarks[0]["iterations"]["new"]), (&"other".into(), &3.into()));
    assert_eq!((&result["baseline"], &benchmarks[0]["verdict"]), (&Value::Null, &"measured".into()));
    assert!(
        outcome.stderr.contains("second ran with []"),
        "what benchmarks print is kept apart: {outcome:#?}"
    );
}

#[test]
fn a_benchmark_that_needs_more_ends_with_3() {
    let fixture = Fixture::new();
    let only = ["--bench", "first"];
    let with = |words: &[&'static str]| [&only[..], words].concat();
    let outcome = fixture.bench(TWO, &with(&["--save-baseline", "main"]));
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stderr.contains("baseline main has 2 benchmarks"), "{outcome:#?}");
    let compared = |leave: &str, words: &[&'static str]| {
        fixture.bench(leave, &with(&[&["--baseline", "main"], words].concat()))
    };

    let outcome = compared(TWO, &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.ends_with("2 benchmarks: 2 the same\n"), "{outcome:#?}");

    let outcome = compared("parse|32|4096|1024\nsum|0|0|0", &[]);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    assert!(outcome.stdout.contains("31 → 32"), "{outcome:#?}");
    assert!(
        outcome.stderr.contains("heapwise: exceeded: 1 benchmark needs more than in baseline main\n"),
        "{outcome:#?}"
    );

    let outcome = compared("parse|31|4096|1024\nsum|1|8|8", &["--format", "json"]);
    assert_eq!(outcome.code, Some(3), "a rise from zero: {outcome:#?}");
    let result = result(&outcome);
    assert_eq!(result["benchmarks"][1]["requests"]["share"], Value::Null);

    assert_eq!(compared("parse|31|4136|1024\nsum|0|0|0", &[]).code, Some(0), "less than 1 % of the bytes");
    assert_eq!(compared("parse|31|4138|1024\nsum|0|0|0", &[]).code, Some(3), "more than that");
    assert_eq!(compared("parse|31|4138|1024\nsum|0|0|0", &["--fail-on", "allocated_bytes+2%"]).code, Some(0));
    assert_eq!(
        compared(
            "parse|33|4096|1024\nsum|0|0|0",
            &["--fail-on", "requests+10%,allocated_bytes+10%,peak_bytes+10%"]
        )
        .code,
        Some(0)
    );
    let outcome = compared("parse|1|8|8\nsum|0|0|0", &[]);
    assert_eq!(outcome.code, Some(0), "less is no regression: {outcome:#?}");
    assert!(outcome.stdout.contains("1 better, 1 the same"), "{outcome:#?}");

    let outcome = compared("parse|31|4096|1024\nnewer|9|9|9", &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("1 the same, 1 new, 1 only in the baseline"), "{outcome:#?}");
}

#[test]
fn some_benchmarks_take_the_place_of_their_own_and_all_of_all() {
    let fixture = Fixture::new();
    let save = ["--save-baseline", "main"];
    let run = |first: &str, second: &str, words: &[&str]| {
        let mut command = fixture.command();
        command.args(["heapwise", "bench", "--offline"]).args(save).args(words);
        command.env("FIXTURE_LEAVE_first", first).env("FIXTURE_LEAVE_second", second);
        assert_eq!(Outcome::of(&mut command).code, Some(0));
        let mut files = Vec::new();
        for folder in
            fs::read_dir(fixture.path("target/heapwise/baseline/main")).expect("a baseline").flatten()
        {
            for file in fs::read_dir(folder.path()).expect("a folder").flatten() {
                let value: Value =
                    serde_json::from_slice(&fs::read(file.path()).expect("a file")).expect("JSON");
                files.push(format!(
                    "{} {}",
                    value["id"].as_str().expect("an id"),
                    value["mean"]["allocations"]
                ));
            }
        }
        files.sort();
        files
    };
    assert_eq!(run("a|1|1|1", "b|2|2|2", &[]), ["a 1", "b 2"]);
    assert_eq!(run("a|3|3|3", "", &["--bench", "first"]), ["a 3", "b 2"]);
    assert_eq!(run("a|4|4|4", "", &["--", "a"]), ["a 4", "b 2"], "arguments may choose");
    assert_eq!(run("c|5|5|5", "", &[]), ["c 5"]);
}

#[test]
fn a_baseline_that_cannot_be_read_is_said_before_benchmarks_run() {
    let fixture = Fixture::new();
    let outcome = fixture.bench(TWO, &["--baseline", "main"]);
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(outcome.error().contains("cargo heapwise bench --save-baseline main"), "{outcome:#?}");
    assert!(!outcome.stdout.contains("ran with"), "{outcome:#?}");
    let place = fixture.path("target/heapwise/baseline/main/first");
    fs::create_dir_all(&place).expect("a folder");
    for (text, words) in [
        ("", "it is damaged"),
        ("{\"schema\": \"heapwise.bench/2\"}", "belong together"),
        ("{\"schema\": \"heapwise.bench/1\"}", "it is damaged: missing field"),
    ] {
        fs::write(place.join("0.json"), text).expect("a file");
        let outcome = fixture.bench(TWO, &["--baseline", "main"]);
        assert_eq!(outcome.code, Some(4), "{text}: {outcome:#?}");
        let error = outcome.error();
        assert!(
            error.contains("0.json") && error.contains(words) && error.contains("--save-baseline main"),
            "{error}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_wrong_usage() {
    let fixture = Fixture::new();
    let cases: [&[&str]; 7] = [
        &["--save-baseline", "../main"],
        &["--baseline", "feature/x"],
        &["--baseline", "main", "--fail-on", "size+1%"],
        &["--baseline", "main", "--fail-on", "allocated_bytes+-1%"],
        &["--fail-on", "requests+1%"],
        &["--iterations", "0"],
        &["--no-such-option"],
    ];
    for words in cases {
        let outcome = fixture.bench(TWO, words);
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:#?}");
        assert!(!outcome.stdout.contains("ran with"), "{outcome:#?}");
    }
    assert!(fixture.bench(TWO, &["--baseline", "feature/x"]).error().contains("invalid name of a baseline"));
}

#[test]
fn what_cargo_ends_with_is_passed_on_and_nothing_is_kept() {
    let fixture = Fixture::new();
    let mut failing = fixture.command();
    failing.args(["bench", "--offline", "--save-baseline", "main"]).env(LEAVE, TWO).env(FAIL, "1");
    let outcome = Outcome::of(&mut failing);
    assert_eq!(outcome.code, Some(101), "{outcome:#?}");
    assert!(!fixture.path("target/heapwise/baseline").exists());
    fs::write(fixture.path("src/lib.rs"), "fn f() -> u8 {}").expect("a file");
    let outcome = fixture.bench(TWO, &[]);
    assert_eq!(outcome.code, Some(101), "{outcome:#?}");
    assert!(outcome.stderr.contains("mismatched types"), "{outcome:#?}");
    let nowhere = tempfile::tempdir().expect("a folder");
    let outcome = Outcome::of(command(nowhere.path()).args(["bench", "--offline"]));
    assert_eq!(outcome.code, Some(101), "{outcome:#?}");
    assert!(
        outcome.stderr.contains("Cargo.toml") && outcome.error().contains("cargo cannot describe"),
        "{outcome:#?}"
    );
    let outcome = Outcome::of(fixture.command().args(["bench", "--offline"]).env("CARGO", "/no/such/cargo"));
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    assert!(outcome.error().contains("cannot start cargo"), "{outcome:#?}");
}

#[test]
fn benchmarks_that_measure_nothing_get_an_explanation() {
    let fixture = Fixture::new();
    let outcome = fixture.bench("", &[]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let error = outcome.error();
    assert!(error.contains("heapwise::bench::measure") && error.contains("heapwise/bench;"), "{error}");
}

#[test]
fn a_file_of_this_run_that_cannot_be_read_is_said() {
    let fixture = Fixture::new();
    let place = fixture.path("target/heapwise/bench/first");
    fs::create_dir_all(&place).expect("a folder");
    fs::write(place.join("broken.json"), "{\"schema\": \"\\u001b[31m\"}").expect("a file");
    let outcome = fixture.bench(TWO, &["--bench", "first"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stderr.contains("heapwise: warning: cannot read"), "{outcome:#?}");
    assert!(!outcome.stderr.contains('\x1b') && !outcome.stdout.contains('\x1b'), "{outcome:#?}");
}

#[test]
fn a_result_goes_where_it_is_to_go() {
    let fixture = Fixture::new();
    assert_eq!(fixture.bench(r"a\u001b[31m <b>|0|0|0", &["--save-baseline", "main"]).code, Some(0));
    let words = ["--baseline", "main", "--format", "markdown", "-o", "heap.md"];
    let outcome = fixture.bench(r"a\u001b[31m <b>|1|8|8", &words);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    let text = fs::read_to_string(fixture.path("heap.md")).expect("a file");
    assert!(text.contains("`a\\u{1b}[31m <b>` | 0 → **1** |"), "{text}");
    let outcome = fixture.bench(TWO, &["-o", "no/such/folder"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.error().contains("cannot write no/such/folder"), "{outcome:#?}");
    assert!(!outcome.stdout.contains("ran with"), "{outcome:#?}");
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    let fixture = Fixture::new();
    assert_eq!(fixture.bench(TWO, &["--save-baseline", "main"]).code, Some(0));
    let has_colours = |variables: &[(&str, &str)]| {
        let mut command = fixture.command();
        command
            .args(["bench", "--offline", "--baseline", "main", "--color", "never"])
            .env(LEAVE, "parse|99|4096|1024");
        let outcome = Outcome::of(command.envs(variables.iter().copied()));
        assert_eq!(outcome.code, Some(3), "{outcome:#?}");
        outcome.stdout.contains('\x1b')
    };
    assert!(!has_colours(&[]));
    assert!(has_colours(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&[("NO_COLOR", "1")]));
}

#[test]
fn folders_of_the_user_are_cargos_too() {
    let fixture = Fixture::new();
    let elsewhere = |words: &[&str], variable: Option<&str>| {
        let mut command = fixture.command();
        command.args(["bench", "--offline", "--save-baseline", "main"]).args(words).env(LEAVE, TWO);
        variable.map(|folder| command.env("CARGO_TARGET_DIR", folder));
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    };
    elsewhere(&[], Some("a relative folder"));
    assert!(fixture.path("a relative folder/heapwise/baseline/main/first/0.json").exists());
    elsewhere(&["--target-dir", "another"], Some("a relative folder"));
    assert!(fixture.path("another/heapwise/baseline/main/second/1.json").exists());
    elsewhere(&["--config", "build.target-dir='third'"], None);
    assert!(fixture.path("third/heapwise/baseline/main/second/1.json").exists());
    assert!(!fixture.path("target").exists());
}

/// The steps of docs/heap.yml are done in a shell, as GitHub does them.
#[test]
fn the_example_of_a_workflow_does_what_it_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/heap.yml");
    let workflow = fs::read_to_string(path).expect("the example");
    let workflow: Value = serde_saphyr::from_str(&workflow).expect("a workflow");
    let step = |name: &str| {
        let steps = workflow["jobs"]["heap"]["steps"].as_array().expect("steps");
        let step = steps.iter().find(|step| step["name"] == name);
        step.and_then(|step| step["run"].as_str()).unwrap_or_else(|| panic!("no step {name}")).to_owned()
    };
    let fixture = Fixture::new();
    let tools = fixture.path("tools");
    fs::create_dir_all(&tools).expect("a folder");
    let program = env!("CARGO_BIN_EXE_cargo-heapwise");
    std::os::unix::fs::symlink(program, tools.join("cargo-heapwise")).expect("a link");
    fs::write(tools.join("gh"), "#!/bin/sh\necho \"$@\" > commented\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("gh"), mode).expect("it is ours");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).expect("a path");
    let shell = |script: &str, leave: &str| {
        let mut command = fixture::without_cargo(std::process::Command::new("bash"));
        command.args(["-e", "-c", script]).current_dir(fixture.path("")).env("PATH", &path).env(LEAVE, leave);
        Outcome::of(command.env("GITHUB_STEP_SUMMARY", "summary.md").env("NUMBER", "17"))
    };
    for name in ["Summary", "Comment"] {
        assert_eq!(shell(&step(name), "").code, Some(0), "nothing is there yet");
    }
    assert_eq!(shell(&step("Compare with main"), TWO).code, Some(4), "the first time");
    assert_eq!(shell(&step("Measure main"), TWO).code, Some(0));
    assert_eq!(shell(&step("Compare with main"), TWO).code, Some(0));
    let outcome = shell(&step("Compare with main"), "parse|32|4096|1024\nsum|0|0|0");
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    for name in ["Summary", "Comment"] {
        assert_eq!(shell(&step(name), "").code, Some(0));
    }
    let summary = fs::read_to_string(fixture.path("summary.md")).expect("a summary");
    assert!(summary.contains("| 31 → **32** (+3.2 %) |"), "{summary}");
    let comment = fs::read_to_string(fixture.path("commented")).expect("a comment");
    assert_eq!(comment, "pr comment 17 --body-file heap.md --edit-last --create-if-none\n");
}

#[test]
fn cargo_finds_it_as_a_command_of_its_own() {
    let fixture = Fixture::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_cargo-heapwise"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().into_iter().map(Into::into).chain(std::env::split_paths(&path));
    let mut cargo = std::process::Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["heapwise", "bench", "--help"]).current_dir(fixture.path("src"));
    let outcome = Outcome::of(cargo.env("PATH", std::env::join_paths(folders).expect("a path")));
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("Usage: cargo heapwise bench"), "{outcome:#?}");
    assert!(outcome.stdout.contains("Examples:\n  cargo heapwise bench"), "{outcome:#?}");
}
