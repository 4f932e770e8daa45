//! Benchmarks of Criterion with their heap: what is printed and written when benchmarks are run, filtered, tested, listed.
//!
//! The benchmark is this program, which starts itself again with the arguments that cargo passes to benchmarks. A usual test
//! could not be started with those, so it has no harness.

use criterion::{BatchSize, Criterion};
use heapwise::criterion::BenchHeap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Set for the second process.
const INNER: &str = "HEAPWISE_TEST_INNER";

fn benchmarks(c: &mut Criterion) {
    let mut runs = 0u64;
    c.bench_heap("boxes", || {
        runs += 1;
        (Box::new([1u8; 100]), Box::new([2u8; 200]))
    });
    eprintln!("boxes ran: {runs}");
    c.bench_heap("nothing", || 1 + 1);
    let mut group = c.heap_group("group");
    group.sample_size(10);
    group.bench_heap("nothing", || vec![0u8; 7]);
    let setup = || vec![3u64, 1, 2];
    group.bench_heap_batched(
        "sort",
        setup,
        |mut list| {
            list.reserve_exact(10);
            list
        },
        BatchSize::SmallInput,
    );
    group.finish();
}

/// What was printed, how often the first benchmark ran, and the files.
fn run(words: &[&str], target: &Path) -> (String, u64, BTreeMap<String, Value>) {
    let mut again = Command::new(env::current_exe().expect("a program knows its own file"));
    again.args(words).args(["--noplot", "--color", "never"]).env(INNER, "1").env("CARGO_TARGET_DIR", target);
    let again = again.env_remove("HEAPWISE_BENCH_ITERATIONS").env_remove("CRITERION_HOME");
    let output = again.current_dir(target).output().expect("it can be started again");
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8(output.stderr).expect("text");
    let runs = errors.lines().find_map(|line| line.strip_prefix("boxes ran: ")).expect("it says so");
    let folder = target.join("heapwise").join("bench").join("criterion");
    let read = |entry: fs::DirEntry| {
        let document: Value = serde_json::from_slice(&fs::read(entry.path()).expect("a file")).expect("JSON");
        (document["id"].as_str().expect("an id").to_owned(), document)
    };
    let files = fs::read_dir(folder).map(|all| all.map(|entry| read(entry.expect("an entry"))).collect());
    (
        String::from_utf8(output.stdout).expect("text"),
        runs.parse().expect("a number"),
        files.unwrap_or_default(),
    )
}

/// The line of the heap of a benchmark.
fn heap<'text>(text: &'text str, id: &str) -> &'text str {
    let before = format!("{id:24}heap:   ");
    text.lines().find_map(|line| line.strip_prefix(&before)).unwrap_or_default()
}

fn main() {
    if env::var_os(INNER).is_some() {
        benchmarks(&mut Criterion::default().configure_from_args());
        return;
    }
    let quick = ["--bench", "--warm-up-time", "0.01", "--measurement-time", "0.05", "--nresamples", "100"];

    let target = tempfile::tempdir().expect("a folder");
    let (text, runs, files) = run(&quick, target.path());
    assert!(runs > 100, "Criterion has hardly measured a time");
    assert_eq!(heap(&text, "boxes"), "[2 requests  300 bytes  peak 300 bytes]", "{text}");
    assert_eq!(heap(&text, "nothing"), "[0 requests  0 bytes  peak 0 bytes]", "{text}");
    assert_eq!(heap(&text, "group/nothing"), "[1 request  7 bytes  peak 7 bytes]", "{text}");
    assert_eq!(heap(&text, "group/sort"), "[1 request  104 bytes  peak 80 bytes]", "{text}");
    assert!(text.contains("time:   ["), "{text}");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["boxes", "group/nothing", "group/sort", "nothing"]);
    let boxes = json!({ "allocations": 2, "reallocations": 0, "deallocations": 2, "allocated_bytes": 300,
        "peak_live_bytes": 300 });
    let document = &files["boxes"];
    assert_eq!((&document["first"], &document["min"], &document["max"]), (&boxes, &boxes, &boxes));
    assert_eq!((&document["iterations"], &document["target"]), (&json!(10), &json!("criterion")));
    assert_eq!(files["group/sort"]["max"]["deallocations"], 0);

    // The second time Criterion compares times; nothing else is different.
    let (text, _, again) = run(&quick, target.path());
    assert_eq!((again, heap(&text, "boxes")), (files, "[2 requests  300 bytes  peak 300 bytes]"));

    let target = tempfile::tempdir().expect("a folder");
    let filtered: Vec<&str> = quick.into_iter().chain(["sort"]).collect();
    let (text, runs, files) = run(&filtered, target.path());
    assert_eq!((runs, files.into_keys().collect::<Vec<_>>()), (0, vec!["group/sort".to_owned()]));
    assert!(!text.contains("boxes"), "{text}");

    let target = tempfile::tempdir().expect("a folder");
    for words in [&["--test"][..], &["--bench", "--test"], &[]] {
        let (text, runs, files) = run(words, target.path());
        assert_eq!((runs, files.len()), (1, 0));
        assert!(text.contains("Testing boxes") && !text.contains("heap:"), "{text}");
    }
    let (text, runs, files) = run(&["--bench", "--list"], target.path());
    assert_eq!((runs, files.len()), (0, 0));
    let listed: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        listed,
        ["boxes: benchmark", "nothing: benchmark", "group/nothing: benchmark", "group/sort: benchmark"]
    );
    let (_, runs, files) = run(&["--bench", "--profile-time", "1", "boxes"], target.path());
    assert!(runs > 100 && files.is_empty());
    println!("benchmarks of Criterion: ok");
}
