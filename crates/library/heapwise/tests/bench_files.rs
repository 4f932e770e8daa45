//! What a benchmark prints and writes, field by field.
//!
//! The benchmark is this test itself: it starts itself again with one test only, and with the words that cargo gives to
//! benchmarks.

#![cfg(feature = "operations")]

use heapwise::bench::measure;
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Set for the second process.
const INNER: &str = "HEAPWISE_TEST_INNER";

const HOSTILE: &str = "../a b|\u{1b}[31m\n\u{202e}\"é";

#[test]
fn benchmark() {
    match env::var(INNER).as_deref() {
        Ok("figures") => {
            let mut sizes = [5000, 100, 300, 200, 999].into_iter();
            let figures = measure("group/figures", || {
                let mut block: Vec<u8> = black_box(Vec::with_capacity(sizes.next().unwrap_or(1)));
                block.reserve_exact(10_000);
                block
            });
            println!("measured: {}", figures.is_some());
            measure("nothing", || 5);
            measure(HOSTILE, || Box::new(1u64));
        }
        Ok("runs") => {
            let mut runs = 0;
            measure("runs", || runs += 1);
            println!("runs: {runs}");
        }
        Ok("no target") => {
            measure("lost", || 5);
        }
        _ => {}
    }
}

fn run(what: &str, words: &[&str], target: &Path, variables: &[(&str, &str)]) -> Output {
    let mut again = Command::new(env::current_exe().expect("a test knows its own file"));
    again.args(["--exact", "benchmark", "--nocapture", "--"]).args(words).env(INNER, what);
    again.env("CARGO_TARGET_DIR", target).env_remove("HEAPWISE_RUN").env_remove("HEAPWISE_BENCH_ITERATIONS");
    let output = again.envs(variables.iter().copied()).output().expect("it can be started again");
    assert!(output.status.success(), "{output:?}");
    output
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.map(|entry| entry.expect("an entry").path()));
    entries.map(Iterator::collect).unwrap_or_default()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn each_field_of_the_file() {
    let target = tempfile::tempdir().expect("a folder");
    let variables = [("HEAPWISE_RUN", "run 7"), ("HEAPWISE_BENCH_ITERATIONS", "4")];
    let output = run("figures", &["--bench"], target.path(), &variables);
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = printed(&output);
    assert!(text.contains("measured: true"), "{text}");
    let line = "heap:   [2 requests  10399.8 (10100 to 10999) bytes  peak 10000 bytes  first: 2 requests  15000 bytes]\n";
    assert!(text.contains(&format!("\ngroup/figures           {line}")), "{text}");
    assert!(text.contains("nothing                 heap:   [0 requests  0 bytes  peak 0 bytes]\n"), "{text}");
    assert!(text.contains("\\u{1b}[31m\\n\\u{202e}") && !text.contains('\u{1b}'), "{text}");

    let folder = target.path().join("heapwise").join("bench").join("bench_files");
    let all = files(&folder);
    assert_eq!(all.len(), 3, "{all:?}");
    let mut documents: Vec<Value> = all.iter().map(|path| read(path)).collect();
    let with =
        |id: &str| documents.iter().position(|document| document["id"] == id).expect("its file is there");
    let (group, hostile, nothing) = (with("group/figures"), with(HOSTILE), with("nothing"));
    assert_eq!(all[nothing], folder.join("nothing.json"));
    let name = all[group].file_name().expect("a name").to_string_lossy();
    assert!(name.starts_with("group_figures-") && name.len() == "group_figures-".len() + 16 + 5, "{name}");
    let name = all[hostile].file_name().expect("a name").to_string_lossy();
    assert!(name.starts_with("_-") || name.starts_with("_._a_b"), "{name}");

    let counts = |bytes: u64| {
        json!({ "allocations": 1, "reallocations": 1, "deallocations": 1, "allocated_bytes": bytes + 10_000,
            "peak_live_bytes": 10_000 })
    };
    // A block is grown to ten thousand bytes, in place for the level: the old size goes as the new one comes.
    let expected = json!({
        "schema": "heapwise.bench/1", "id": "group/figures", "target": "bench_files", "run": "run 7",
        "heapwise": "0.1.0", "iterations": 4, "first": counts(5000), "min": counts(100), "max": counts(999),
        "mean": { "allocations": 1.0, "reallocations": 1.0, "deallocations": 1.0,
            "allocated_bytes": 10_000.0 + f64::from(100 + 300 + 200 + 999) / 4.0, "peak_live_bytes": 10_000.0 },
    });
    assert_eq!(documents.swap_remove(group), expected);
}

#[test]
fn tests_run_it_once_and_lists_not_at_all() {
    let target = tempfile::tempdir().expect("a folder");
    let runs =
        |words: &[&str], variables: &[(&str, &str)]| printed(&run("runs", words, target.path(), variables));
    for words in [&[][..], &["--test"], &["--bench", "--test"]] {
        let text = runs(words, &[]);
        assert!(text.contains("runs: 1\n") && !text.contains("heap:"), "{text}");
    }
    let text = runs(&["--bench", "--list"], &[]);
    assert!(text.contains("runs: 0\n") && !text.contains("heap:"), "{text}");
    assert_eq!(files(target.path()), Vec::<PathBuf>::new());

    assert!(runs(&["--bench"], &[]).contains("runs: 11\n"));
    assert!(runs(&["--bench"], &[("HEAPWISE_BENCH_ITERATIONS", "3")]).contains("runs: 4\n"));
    let file = target.path().join("heapwise").join("bench").join("bench_files").join("runs.json");
    assert_eq!((&read(&file)["iterations"], &read(&file)["run"]), (&json!(3), &json!("")));
}

#[test]
fn what_is_wrong_is_reported_in_a_line_and_spoils_nothing() {
    let target = tempfile::tempdir().expect("a folder");
    let output = run("runs", &["--bench"], target.path(), &[("HEAPWISE_BENCH_ITERATIONS", "many")]);
    assert!(printed(&output).contains("runs: 11\n"));
    let message =
        "heapwise: warning: HEAPWISE_BENCH_ITERATIONS is many, and not a whole number from 1: it is 10\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), message);

    let file = target.path().join("file");
    fs::write(&file, "in the way").expect("a file");
    let output = run("no target", &["--bench"], &file, &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.starts_with("heapwise: warning: the figures of lost are not kept: cannot write "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1);
    assert!(printed(&output).contains("lost                    heap:   [0 requests"));
}
