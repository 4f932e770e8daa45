//! Says from inside of a program what outside of its code slows its heap.
//!
//! A Rust program that is started with F5 on Windows may take minutes for what takes seconds otherwise: the debugger has
//! silently given it a heap that checks and fills each block. The same goes for `MALLOC_PERTURB_` in a shell's profile, for a
//! checking library that somebody preloads, for a container that is short of memory. Nothing of that is in the code, and
//! all of it is in the measurements. This crate looks at its own process and says so.
//!
//! # One line at the start
//!
//! The first line of `main`:
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
//! Whoever runs the program turns it off with `HEAPWISE_QUIET=1`; whoever builds it, without the default feature `warning`.
//! It is a call and nothing that happens by itself: a library that prints before `main` has begun would be just what this
//! crate warns of.
//!
//! # All of it
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
//! # What it looks at
//!
//! On Windows: the flags of the process and of its heap, page heap, the application verifier, Image File Execution Options,
//! `_NO_DEBUG_HEAP`. On Linux: variables of glibc and of other allocators, preloaded libraries, sanitizers, tracers, control
//! groups, huge pages, and what the allocator does with a few blocks that it is asked for. On macOS: the variables of its
//! malloc. It reads files of the system and starts nothing; that takes a few milliseconds at most.
//!
//! The program `heapwise doctor` finds the same from outside.
//!
//! # Recording from inside
//!
//! With the feature `record-to`, and [`Allocator`] as the global allocator, a program records itself on Windows, macOS and
//! processors other than x86-64: by `heapwise::record_to("program.hw")`, or without a line of code by
//! `HEAPWISE_RECORD_TO=program.hw` in its environment (`%p` in it becomes the process id, so that each of several processes
//! has a file). `heapwise report program.hw` tells what is in it, on any machine: names of functions, files and lines are in
//! the file.
//!
//! A *sample* of the blocks is recorded, one for every 512 KiB that are allocated; small blocks stand for many others, large
//! ones are all there. Reports say how far the totals may be off. `Recorder::options().sample_every_bytes(n)`, or
//! `HEAPWISE_RECORD_EVERY=n`, chooses another distance; 1 records everything.
//!
//! A recording ends with the process's `exit` at the latest. `std::process::exit` on Windows passes that by, and `abort`
//! everywhere: what was written up to about a second before can be read.

#![deny(unsafe_code)]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

#[expect(unsafe_code, reason = "the interface of allocators is unsafe")]
mod allocator;
#[cfg(feature = "budgets")]
mod budget;
mod environment;
mod record;
mod state;
#[expect(unsafe_code, reason = "threads' counters live as long as the process, and are reached by pointers")]
mod tally;
mod warning;

pub use allocator::Allocator;
pub use environment::Environment;
pub use heapwise_environment::{Finding, NO_DEBUG_HEAP, Severity, turns_debug_heap_off};
#[cfg(all(
    feature = "record-to",
    any(feature = "portable-recorder", not(all(target_os = "linux", target_arch = "x86_64")))
))]
pub use record::{Recorded, Recorder, Recording, record_to};
pub use tally::Counts;
pub use warning::{QUIET, warn_at_start};

/// Looks at this process: its variables, its libraries, its heap, and what the system gives to it.
pub fn environment() -> Environment {
    Environment::of(&heapwise_environment::facts::own())
}
