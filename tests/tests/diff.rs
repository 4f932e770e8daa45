//! What `heapwise diff` says about two recordings, and what it ends with.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use heapwise_trace::file::Writer;
use heapwise_trace::file::records::{Meta, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise")
}

/// Records a program into a file of this name.
fn recorded(folder: &Path, name: &str, program: &Path, arguments: &[&str]) -> PathBuf {
    let recorded = Recording::new(folder).record(program, arguments);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let path = folder.join(name);
    std::fs::rename(recorded.file, &path).expect("a file can be renamed");
    path
}

/// Records two runs: `old.hw` and `new.hw`.
fn two(folder: &Path, program: &Path, old: &[&str], new: &[&str]) {
    recorded(folder, "old.hw", program, old);
    recorded(folder, "new.hw", program, new);
}

fn json(folder: &Path, arguments: &[&str]) -> (run::Outcome, Value) {
    let outcome = heapwise(folder, &[&["diff", "old.hw", "new.hw", "--format", "json"], arguments].concat());
    let diff = serde_json::from_slice(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}", outcome.stderr));
    (outcome, diff)
}

fn contest(folder: &Path, old: &str, new: &str) {
    let contest = tool::poetry_contest();
    // The first run makes the data, in a separate process that no version shall have on its account.
    let data = run::finish(run::command(contest, folder).args([old, "--rounds", "1"]), folder, "data");
    assert_eq!(data.code(), 0, "{}", data.stderr);
    two(folder, contest, &[old, "--rounds", "1"], &[new, "--rounds", "1"]);
}

/// Checks that two runs of a program have the same numbers, whatever their addresses were.
fn no_difference(folder: &Path) {
    let (outcome, diff) = json(folder, &["--fail-on", "allocations+0,allocated_bytes+0,peak_bytes+0"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(diff["same"], true, "{:?}", diff["totals"]);
    assert_eq!(diff["sites"], Value::Array(Vec::new()));
    assert_eq!(diff["places"], Value::Array(Vec::new()));
    assert!(diff["n_same_sites"].as_u64() > Some(5), "hardly anything was compared");
    let text = heapwise(folder, &["diff", "old.hw", "new.hw"]).text();
    assert!(text.contains("No difference: "), "{text}");
    assert!(!text.contains("BETTER") && !text.contains("WORSE"), "{text}");
}

#[test]
fn two_runs_of_ls_do_not_differ() {
    let Some(ls) = programs::find("ls") else { return };
    let folder = run::private_folder();
    two(folder.path(), &ls, &["/"], &["/"]);
    no_difference(folder.path());
}

#[test]
fn a_program_that_ends_at_once_has_a_peak_that_is_judged() {
    let Some(program) = programs::find("true") else { return };
    let folder = run::private_folder();
    two(folder.path(), &program, &[], &[]);
    let (outcome, diff) = json(folder.path(), &["--fail-on", "peak_rss_bytes>64KiB,peak_rss_bytes>1GiB"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    assert!(diff["new"]["peak_rss_bytes"].as_u64() > Some(1 << 17), "{}", diff["new"]);
    assert_eq!(diff["failed"].as_array().map(Vec::len), Some(1), "{}", diff["failed"]);
}

#[test]
fn two_runs_of_the_contest_do_not_differ() {
    let folder = run::private_folder();
    contest(folder.path(), "v01", "v01");
    no_difference(folder.path());
}

/// Checks that two runs are called the same, apart from what depends on how threads take turns.
fn no_difference_beyond_noise(folder: &Path) {
    let text = heapwise(folder, &["diff", "old.hw", "new.hw"]).text();
    assert!(text.contains("No difference"), "{text}");
    assert!(!text.contains("BETTER") && !text.contains("WORSE"), "{text}");
}

#[test]
fn two_runs_with_threads_of_python_do_not_differ() {
    let Some(python) = programs::python() else { return };
    let work = "\
import json, threading
def work():
    for i in range(50): json.dumps([str(i)] * 50)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
";
    let folder = run::private_folder();
    // Nothing is kept for the second run, and dictionaries are in no random order: what is left is threads.
    for name in ["old.hw", "new.hw"] {
        let recording = Recording::new(folder.path()).variable("PYTHONHASHSEED", "0");
        let recorded = recording.record(&python, &["-B", "-c", work]);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        std::fs::rename(recorded.file, folder.path().join(name)).expect("a file can be renamed");
    }
    no_difference_beyond_noise(folder.path());
}

#[test]
fn the_peak_of_threads_at_the_same_time_is_no_difference() {
    // It moves by a third here: sometimes they all hold their most at once, and sometimes one has ended before.
    let victim = build(&Victim::named("threads_random"), FlagSet::Release);
    let folder = run::private_folder();
    for _ in 0..3 {
        two(folder.path(), &victim, &[], &[]);
        no_difference_beyond_noise(folder.path());
    }
}

#[test]
fn the_contest_without_the_clone_is_better_at_the_place_of_the_clone() {
    let folder = run::private_folder();
    contest(folder.path(), "v01", "v02");
    let (outcome, diff) = json(folder.path(), &[]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(diff["schema"], "heapwise.diff/1");
    let place = &diff["places"][0];
    let function = place["function"].as_str().unwrap_or_default();
    assert!(function.contains("solve_round"), "{place}");
    assert_eq!(place["status"], "changed", "the function is in both, in another module");
    let allocations = |side: &str| place["allocations"][side].as_u64().expect("a count");
    assert!(allocations("new") * 10 < allocations("old"), "{place}");
    let sites = diff["sites"].as_array().expect("a list");
    let clone = sites.iter().find(|site| {
        let mut stack = site["stack"].as_array().expect("a list").iter();
        let function = |at: &Value| diff["frames"][at.as_u64()? as usize]["function"].as_str();
        site["status"] == "gone" && stack.any(|at| function(at).is_some_and(|f| f.contains("clone")))
    });
    let clone = clone.unwrap_or_else(|| panic!("the clone is not gone: {sites:?}"));
    assert!(clone["file"].as_str().is_some_and(|file| file.ends_with("v01_simple.rs")), "{clone}");
    assert!(clone["allocations"]["old"].as_u64() > Some(100_000), "{clone}");

    let text = heapwise(folder.path(), &["diff", "old.hw", "new.hw"]).text();
    let (_, better) = text.split_once("\nBETTER").unwrap_or_else(|| panic!("nothing is better: {text}"));
    assert!(!text.contains("\nWORSE"), "{text}");
    let first = better.lines().nth(1).unwrap_or_default();
    assert!(first.contains("solve_round") && first.contains("v01_simple.rs:"), "{first}");
    let markdown = heapwise(folder.path(), &["diff", "old.hw", "new.hw", "--format", "markdown"]).text();
    assert!(markdown.contains("#### Better") && markdown.contains("solve_round` was `"), "{markdown}");
}

#[test]
fn thresholds_decide_on_the_exit_code() {
    let folder = run::private_folder();
    contest(folder.path(), "v02", "v01");
    let at = folder.path();
    let expressions = "allocations+5%,peak_bytes+1MiB,allocations>100000";
    let (outcome, diff) = json(at, &["--fail-on", expressions, "--fail-on", "temporary_allocations+0"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let failed = diff["failed"].as_array().expect("a list");
    let names: Vec<_> = failed.iter().filter_map(|f| f["expression"].as_str()).collect();
    assert_eq!(names, ["allocations+5%", "allocations>100000", "temporary_allocations+0"]);
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", outcome.stderr);
    assert!(lines.iter().zip(&names).all(|(line, name)| line.contains(name)), "{lines:?}");

    // The other way round all is well.
    let good =
        heapwise(at, &["diff", "new.hw", "old.hw", "--fail-on", "allocations+0,temporary_allocations+0"]);
    assert_eq!((good.code(), good.stderr.as_str()), (0, ""));
    let out = heapwise(at, &["diff", "old.hw", "new.hw", "-o", "diff.txt", "--fail-on", "allocations+5%"]);
    assert_eq!((out.code(), out.stdout.len()), (3, 0), "{}", out.stderr);
    assert!(std::fs::read_to_string(at.join("diff.txt")).is_ok_and(|text| text.contains("WORSE")));
}

/// As a recorder writes it that cannot ask how much is resident.
fn without_resident_memory(file: &Path) {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    writer
        .process(&ProcessInfo { index: ProcessIndex(0), pid: 5, ..ProcessInfo::default() })
        .expect("memory");
    writer.process_end(&ProcessEnd::default()).expect("memory");
    writer.run_end(&RunEnd::default()).expect("memory");
    std::fs::write(file, writer.into_inner()).expect("a file");
}

#[test]
fn a_threshold_on_what_was_not_measured_is_exceeded() {
    let Some(program) = programs::find("true") else { return };
    let folder = run::private_folder();
    two(folder.path(), &program, &[], &[]);
    let at = folder.path();
    without_resident_memory(&at.join("none.hw"));
    for (old, new, fails) in
        [("none.hw", "new.hw", true), ("old.hw", "none.hw", true), ("old.hw", "new.hw", false)]
    {
        let outcome = heapwise(at, &["diff", old, new, "--fail-on", "peak_rss_bytes+1000%"]);
        assert_eq!(outcome.code(), if fails { 3 } else { 0 }, "{old} {new}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.contains("not measured"), fails, "{}", outcome.stderr);
    }
}

#[test]
fn a_bad_threshold_ends_with_2_and_one_line() {
    let folder = run::private_folder();
    for expression in
        ["allocations", "allocation+5%", "allocations+five", "peak_bytes+1apple", "duration_ns+1"]
    {
        let outcome = heapwise(folder.path(), &["diff", "no.hw", "no.hw", "--fail-on", expression]);
        assert_eq!(outcome.code(), 2, "{expression}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expression), "{}", outcome.stderr);
    }
}

#[test]
fn a_file_that_cannot_be_read_ends_with_4_and_one_line() {
    let Some(ls) = programs::find("ls") else { return };
    let folder = run::private_folder();
    let at = folder.path();
    recorded(at, "good.hw", &ls, &["/"]);
    std::fs::write(at.join("foreign.hw"), "heaptrack version 1.5\nand so on and on").expect("a file");
    let mut newer = std::fs::read(at.join("good.hw")).expect("a recording");
    newer[8] = 0xff;
    std::fs::write(at.join("newer.hw"), newer).expect("a file");
    for (old, new, named) in [
        ("missing.hw", "good.hw", "missing.hw"),
        ("good.hw", "foreign.hw", "foreign.hw"),
        ("newer.hw", "good.hw", "newer.hw"),
    ] {
        let outcome = heapwise(at, &["diff", old, new]);
        assert_eq!(outcome.code(), 4, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(named) && outcome.stdout.is_empty(), "{}", outcome.stderr);
    }
}

#[test]
fn different_programs_are_a_warning_and_no_error() {
    let (Some(ls), Some(python)) = (programs::find("ls"), programs::python()) else { return };
    let folder = run::private_folder();
    recorded(folder.path(), "old.hw", &ls, &["/"]);
    recorded(folder.path(), "new.hw", &python, &["-c", "print()"]);
    let (outcome, diff) = json(folder.path(), &[]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(diff["warnings"][0]["id"], "different-programs");
}

#[test]
fn a_report_can_be_a_comment() {
    let folder = run::private_folder();
    contest(folder.path(), "v01", "v01");
    let outcome = heapwise(folder.path(), &["report", "new.hw", "--format", "markdown", "--top", "3"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let text = outcome.text();
    for part in ["### heapwise: `", "| allocations |", "#### Most allocations", "solve_round` `", "<details>"]
    {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
