//! All versions, with time and heap: `cargo bench -p poetry-contest`
//!
//! Criterion measures the time. Beside it are the figures of the heap, once as `heapwise::criterion` measures them in iterations of
//! their own, and once as operations of a session that see each of Criterion's iterations, in a table at the end.
//!
//! The data is that of the tables in the documentation, 254 MB, which is made the first time. `POETRY_ROUNDS` and `POETRY_ENTRIES` ask
//! for less. As a test (`cargo test -p poetry-contest --benches`) each version solves a tiny contest once.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use heapwise::criterion::BenchHeap;
use poetry_contest::generate::{FORMAT, Options, write_contest};
use poetry_contest::{Solve, dataset};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Every version under its full name, as the article has them in its table.
const VERSIONS: [(&str, Solve); 8] = [
    ("v01_simple", poetry_contest::v01_simple::solve),
    ("v02_less_cloning", poetry_contest::v02_less_cloning::solve),
    ("v03_borrow_document", poetry_contest::v03_borrow_document::solve),
    ("v04_borrow_more", poetry_contest::v04_borrow_more::solve),
    ("v05_reserve_and_reuse", poetry_contest::v05_reserve_and_reuse::solve),
    ("v06_raw_contents", poetry_contest::v06_raw_contents::solve),
    ("v07_reuse_more", poetry_contest::v07_reuse_more::solve),
    ("v08_faster_maps", poetry_contest::v08_faster_maps::solve),
];

fn contest(c: &mut Criterion) {
    let has = |word: &str| env::args().any(|argument| argument == word);
    let is_test = !has("--bench") || has("--test");
    let data_dir = if has("--list") { PathBuf::new() } else { data(is_test) };
    let session = heapwise::Session::new();
    let mut group = c.heap_group("contest");
    // An iteration takes up to a second.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (name, solve) in VERSIONS {
        let operation = session.operation(name);
        group.bench_heap(name, || {
            let _span = operation.measure_thread();
            solve(&data_dir)
        });
    }
    group.finish();
    // A test with tiny data has nothing to tell.
    if !is_test {
        session.print_to_stdout();
        if let Err(error) = session.save("contest") {
            eprintln!("contest: {error}");
        }
    }
}

/// The folder of the data, in cargo's target folder. It gets its name when it is complete.
fn data(is_tiny: bool) -> PathBuf {
    let number = |name: &str, usual: u64, tiny: u64| match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")),
        Err(_) if is_tiny => tiny,
        Err(_) => usual,
    };
    let usual = Options::default();
    let options = Options {
        rounds: number("POETRY_ROUNDS", usual.rounds, 2),
        entries: number("POETRY_ENTRIES", usual.entries, 200),
        ..usual
    };
    let Options { seed, rounds, entries } = options;
    let name = format!("poetry-contest-f{FORMAT}-s{seed}-r{rounds}-e{entries}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !dataset::is_complete(&folder) {
        let unfinished = folder.with_extension(process::id().to_string());
        write_contest(&unfinished, &options).expect("the data can be written below the target folder");
        if fs::rename(&unfinished, &folder).is_err() {
            // Another one was faster, with the same data.
            fs::remove_dir_all(&unfinished).expect("what was just made can be removed");
        }
    }
    folder
}

criterion_group!(benches, contest);
criterion_main!(benches);
