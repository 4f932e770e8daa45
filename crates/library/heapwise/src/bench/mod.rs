//! The heap of benchmarks, in addition to the time that a framework measures.
//!
//! Frameworks for benchmarks choose how often they run a routine by how long it takes, and look for a difference in noise.
//! Neither suits a heap: what is allocated once would be spread over a number of iterations that differs from run to run, and
//! zero, the best result of all, is no time that they accept. So the heap is measured separately from the time: one first
//! iteration, then a fixed number of others, [`ITERATIONS`] by default. Figures of two runs can then be compared to the byte,
//! which is what `cargo heapwise bench` does with the files that are written here.
//!
//! [`measure`] is one line in a benchmark of any framework. For Criterion there is something better, `heapwise::criterion` (with the
//! feature of this name), which obeys its filters. With divan:
//!
//! ```
//! # mod divan { pub struct Bencher; impl Bencher { pub fn bench<T>(self, routine: impl Fn() -> T) { routine(); } } }
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! fn words() -> Vec<String> {
//!     "one two three".split(' ').map(str::to_owned).collect()
//! }
//!
//! # /*
//! #[divan::bench]
//! # */
//! fn split(bencher: divan::Bencher) {
//!     heapwise::bench::measure("split", words);
//!     bencher.bench(words);
//! }
//! # fn main() { split(divan::Bencher); }
//! ```
//!
//! # What is counted
//!
//! All that the process does while the routine runs, on whatever thread, as with
//! [`Operation::measure_process`](crate::Operation::measure_process): a routine may hand out its work. What it returns is dropped
//! within the iteration, as Criterion's `iter` times it.
//!
//! # What it obeys
//!
//! A benchmark is a program that `cargo bench` starts with `--bench`, and `cargo test` without. Only with `--bench` and without
//! `--test` a benchmark is measured, printed and written. Otherwise the routine runs once, so that it is tested, and nothing is
//! printed or written; with `--list` nothing is done at all. Two variables are obeyed: `HEAPWISE_BENCH_ITERATIONS`, and
//! `HEAPWISE_RUN`, which is copied into the files.
//!
//! # The files
//!
//! `<target>/heapwise/bench/<benchmark's program>/<id>.json`, where `<target>` is found as
//! [`Session::save`](crate::Session::save) does, and letters of the id that may mean something to a file system are replaced:
//!
//! ```text
//! { "schema": "heapwise.bench/1", "id": "memory/v01_simple", "target": "contest", "run": "", "heapwise": "0.1.0",
//!   "iterations": 10, "first": COUNTS, "mean": COUNTS, "min": COUNTS, "max": COUNTS }
//! ```
//!
//! `COUNTS` has `allocations`, `reallocations`, `deallocations`, `allocated_bytes` and `peak_live_bytes`, with fractions in
//! `mean`. `first` is the first iteration, which is no part of the others; `iterations` does not count it. Each number is the least
//! or the greatest for itself. The peak is that above the level at an iteration's begin.

mod figures;
mod file;
mod mode;

pub use figures::{Figures, Iteration, MeanIteration, count, count_batched};
#[cfg(test)]
pub(crate) use file::{Document, SCHEMA};
pub use mode::ITERATIONS;
pub(crate) use mode::Mode;

use crate::tally::Ignore;
use heapwise_environment::harmless::escape;
use std::io::{self, Write};

/// Measures the heap of a routine as a benchmark, prints it in one line, and writes it to its file: see [the module](self).
///
/// ```text
/// split                   heap:   [4 requests  107 bytes  peak 107 bytes]
/// ```
///
/// The figures are returned, too, if anything was measured; not where benchmarks are tested or listed.
///
/// ```
/// # use heapwise_installed as _;
/// heapwise::bench::measure("repeat", || "abc".repeat(100));
/// ```
///
/// If the file cannot be written, one line on standard error reports it; the figures were printed before.
///
/// # Panics
///
/// When [`Allocator`](crate::Allocator) is not the global allocator of the program.
#[track_caller]
pub fn measure<T>(id: impl AsRef<str>, mut routine: impl FnMut() -> T) -> Option<Figures> {
    let figures = match Mode::now() {
        Mode::List => return None,
        Mode::Test => {
            drop(std::hint::black_box(routine()));
            return None;
        }
        Mode::Measure { iterations } => count(iterations, routine),
    };
    tell(id.as_ref(), &figures);
    Some(figures)
}

/// Prints figures in one line, as Criterion prints times, and writes them to their file, or says why that is impossible.
pub(crate) fn tell(id: &str, figures: &Figures) {
    let _ignore = Ignore::begin();
    let line = format!("{}heap:   [{figures}]\n", label(&escape(id)));
    // If standard output is closed, the line is not wanted.
    let _ = io::stdout().lock().write_all(line.as_bytes());
    if let Err(error) = file::write(id, figures) {
        say(&format!("the figures of {id} are not kept: {error}"));
    }
}

/// An id in Criterion's column; a long one has a separate line.
fn label(id: &str) -> String {
    match id.chars().count() {
        0..24 => format!("{id:24}"),
        _ => format!("{id}\n{:24}", ""),
    }
}

/// One line on standard error.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("heapwise: warning: {}\n", escape(line)).as_bytes());
}
