//! Heap performance from inside of a program: what its parts allocate, budgets for it, and recordings.
//!
//! Three lines give a program an allocator that can be watched. As long as nothing watches, a call costs one relaxed load more
//! than without.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//! # fn main() {}
//! ```
//!
//! [`Allocator::new`] puts it over jemalloc, mimalloc or any other. From then on:
//!
//! | to | use | feature |
//! |---|---|---|
//! | count what an operation allocates | [`Session`], [`Operation`] | `operations` (default) |
//! | hold a function or a test to a budget | [`assert_allocations!`], [`assert_no_allocations!`], [`macro@budget`] | `budgets` (default) |
//! | measure the heap of benchmarks | [`bench::measure`], `heapwise::criterion::BenchHeap` | `operations`, `criterion` |
//! | see what a deserializer borrowed | [`BorrowReport`](derive@BorrowReport) | `budgets` (default) |
//! | record every call with its stack | `heapwise run -- PROGRAM` | `record` (default) |
//! | record a part of the program's life | `heapwise::record_to` | `record-to` |
//! | serve its heap profile, and metrics | `heapwise::serve` | `serve` |
//! | say on a recording's timeline what is going on | [`mark`], [`span`], `heapwise::tracing::MarkLayer` | `record`, `tracing` |
//! | know what outside of the code slows the heap | [`environment`], [`warn_at_start`] | `warning` (default) |
//!
//! # What parts of a program allocate
//!
//! With [`Allocator`] as its global allocator, a program can count what it allocates, by names that it chooses:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! fn main() {
//!     let session = heapwise::Session::new();
//!     for line in ["a b c", "d e f"] {
//!         let _span = session.operation("split").measure_thread();
//!         std::hint::black_box(line.split(' ').collect::<Vec<_>>());
//!     }
//!     session.print_to_stdout();
//! }
//! ```
//!
//! [`Operation`] has spans of threads, of the process, of work that is handed out, and of futures; [`mod@bench`] measures the
//! heap of benchmarks in addition to their time.
//!
//! # Budgets
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! #[heapwise::budget(allocations = 1, bytes = "1 KiB")]
//! fn squares() -> Vec<u64> {
//!     (0..100).map(|n| n * n).collect()
//! }
//!
//! fn main() {
//!     let squares = squares();
//!     let sum = heapwise::assert_no_allocations!(|| squares.iter().sum::<u64>());
//!     assert_eq!(sum, 328_350);
//! }
//! ```
//!
//! A budget counts what its own thread does, so tests that run at the same time cannot disturb it. If it is exceeded, the panic
//! names the places that allocated, with file, line and callers.
//!
//! # Recordings
//!
//! `heapwise run -- PROGRAM` records a program that has [`Allocator`] through the program itself: every call, with its stack,
//! whatever the inner allocator is, and also in statically linked programs, into which nothing can be preloaded. That is so on
//! Linux on x86-64.
//!
//! With the feature `record-to` a program records itself: by `heapwise::record_to("program.hw")`, or without a line of code by
//! `HEAPWISE_RECORD_TO=program.hw` in its environment (`%p` in it becomes the process id, so that each of several processes has a
//! file). `heapwise report program.hw` shows what is in it. On Linux on x86-64 that is every call, unless a sample is
//! asked for; the other systems have a *sample* of the blocks, one for every 512 KiB that are allocated; small blocks stand for many
//! others, large ones are all there. Reports say how far the totals may be off. `Recorder::options().sample_every_bytes(n)`, or
//! `HEAPWISE_RECORD_EVERY=n`, chooses the distance on every system; 1 records everything. The file of a sample contains names of functions, files and lines, so it can
//! be read on any machine.
//!
//! A recording ends with the process's `exit` at the latest. `std::process::exit` on Windows passes that by, and `abort`
//! everywhere: what was written up to about a second before can be read.
//!
//! In a build without optimisation the recorder is slow; give it some, as other packages that do much:
//!
//! ```toml
//! [profile.dev.package.heapwise-recorder]
//! opt-level = 3
//! ```
//!
//! # What outside of the code slows the heap
//!
//! A Rust program that is started with F5 on Windows may take minutes for what takes seconds otherwise: the debugger has
//! silently given it a heap that checks and fills each block. The same goes for `MALLOC_PERTURB_` in a shell's profile, for a
//! checking library that is preloaded, for a container that is short of memory. Nothing of that is in the code, and
//! all of it is in the measurements. The first line of `main`:
//!
//! ```
//! heapwise::warn_at_start();
//! ```
//!
//! It prints nothing if nothing is wrong, and otherwise one line on standard error:
//!
//! ```text
//! heapwise: warning: the process heap has the checks of Windows' debug heap: start it with _NO_DEBUG_HEAP=1 […]
//! ```
//!
//! Users of the program turn it off with `HEAPWISE_QUIET=1`, its developers by leaving out the default feature `warning`.
//! It is a call and never happens automatically: a library that prints before `main` has begun would be just what this crate
//! warns of.
//!
//! [`environment`] has everything that was found, for a benchmark that refuses to run, or for a page of diagnostics:
//!
//! ```
//! let environment = heapwise::environment();
//! if environment.distorts_measurements() {
//!     eprintln!("{environment}");
//! }
//! for finding in environment.findings() {
//!     println!("{}: {} ({})", finding.check, finding.title, finding.remedy);
//! }
//! ```
//!
//! On Windows it examines the flags of the process and of its heap, page heap, the application verifier, Image File Execution
//! Options, `_NO_DEBUG_HEAP`. On Linux: variables of glibc and of other allocators, preloaded libraries, sanitizers, tracers,
//! control groups, huge pages, and what the allocator does with a few test blocks. On macOS: the variables of its malloc. It
//! reads files of the system and starts nothing; that takes a few milliseconds at most. The program `heapwise doctor` finds the
//! same from outside.

#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

#[expect(unsafe_code, reason = "the interface of allocators is unsafe")]
mod allocator;
#[cfg(feature = "operations")]
pub mod bench;
#[cfg(feature = "budgets")]
pub mod borrow;
#[cfg(feature = "budgets")]
pub mod budget;
#[cfg(feature = "criterion")]
pub mod criterion;
#[cfg(feature = "criterion-07")]
pub mod criterion_07;
#[cfg(any(feature = "budgets", feature = "serve"))]
mod entry_frames;
mod environment;
mod inner;
mod marks;
#[cfg(feature = "operations")]
mod operations;
#[cfg(feature = "operations")]
mod output;
mod record;
#[cfg(feature = "serve")]
mod sampled;
#[cfg(all(test, feature = "operations"))]
mod schema_files;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg_attr(
    not(feature = "budgets"),
    allow(dead_code, reason = "only those who count or record use all of it")
)]
mod state;
#[cfg_attr(
    not(all(feature = "operations", feature = "budgets")),
    allow(dead_code, unused_imports, reason = "operations and budgets each use their part of it")
)]
#[expect(unsafe_code, reason = "threads' counters live as long as the process, and are reached by pointers")]
mod tally;
mod warning;

pub use allocator::Allocator;
#[cfg(feature = "budgets")]
pub use borrow::BorrowReport;
pub use environment::Environment;
pub use heapwise_environment::{Finding, NO_DEBUG_HEAP, Severity, turns_debug_heap_off};
/// Derives [`BorrowReport`](trait@BorrowReport), with which a test sees what a deserializer borrowed: see [`borrow`].
///
/// ```
/// use heapwise::BorrowReport;
///
/// #[derive(BorrowReport)]
/// enum Token<'a> {
///     Word { text: &'a str },
///     Number(f64),
///     Other(#[borrow_report(skip)] std::process::ExitCode),
/// }
///
/// let line = "pi 3.14";
/// let tokens = [Token::Word { text: &line[..2] }, Token::Number(3.14), Token::Other(0.into())];
/// tokens.borrow_report(line).assert_borrowed("[].Word.text");
/// ```
#[cfg(feature = "budgets")]
pub use heapwise_macros::BorrowReport;
/// Holds a function to a budget of allocations, a test for instance. It panics if the function exceeds it.
///
/// Limits are `allocations`, a number of [requests](budget::Budget::allocations), and `bytes` and `peak`, numbers of bytes or
/// texts such as `"4 KiB"`; or any expression of type `u64`, such as the name of a constant. Of an `async fn` is counted
/// what happens while it is polled. Other attributes stay, so it goes with `#[test]`, `#[should_panic]` and tests that return
/// a `Result`. In front of attributes that make the runtime of an async test, it counts the test; after them, the runtime, too.
///
/// ```
/// # use heapwise_installed as _;
/// #[heapwise::budget(allocations = 1, bytes = "1 KiB")]
/// fn numbers() -> Vec<u64> {
///     (0..100).collect()
/// }
/// # fn main() {
/// assert_eq!(numbers().len(), 100);
/// # }
/// ```
///
/// ```should_panic
/// # use heapwise_installed as _;
/// #[heapwise::budget(bytes = 799)]
/// fn numbers() -> Vec<u64> {
///     (0..100).collect()
/// }
/// # fn main() {
/// numbers();
/// # }
/// ```
///
/// A limit that does not exist is a compile error:
///
/// ```compile_fail
/// #[heapwise::budget(allocation = 1)]
/// fn numbers() {}
/// ```
#[cfg(feature = "budgets")]
pub use heapwise_macros::budget;
#[cfg(feature = "tracing")]
pub use marks::tracing;
pub use marks::{SpanGuard, mark, span};
#[cfg(feature = "operations")]
pub use operations::{
    FirstSpan, LaterSpans, Measured, Operation, OperationReport, PerIteration, ProcessSpan, Report, Scope,
    ScopeGuard, ScopeHandle, Session, ThreadSpan,
};
#[cfg(feature = "record-to")]
pub use record::{Recorded, Recorder, Recording, record_to};
pub use tally::Counts;
pub use warning::{QUIET, warn_at_start};

/// Examines this process: its variables, its libraries, its heap, and the limits that the system sets.
///
/// ```
/// for finding in heapwise::environment().findings() {
///     println!("{}: {}", finding.title, finding.remedy);
/// }
/// ```
pub fn environment() -> Environment {
    Environment::of(&heapwise_environment::facts::own())
}
