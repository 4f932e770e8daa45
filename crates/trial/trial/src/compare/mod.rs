//! A program itself, under one allocator after the other.
//!
//! Which allocator suits a program is found by trying. [`run()`] starts the same command in the environment of each
//! [`Candidate`], interleaved and in a new order each round, measures each run from outside ([`Sample`]), checks whether the
//! program still does the same ([`Finding`]), and reports which differences are more than noise.
//!
//! ```text
//!              rounds: warm-up, then N, shuffled
//! candidates ─┬─ baseline, twice ─┐
//!             └─ each candidate ──┴─► measure: one run ─► Sample ─┬─► difference per measure ─► Comparison
//!                                                                 └─► same outcome and output? ─► findings
//! ```
//!
//! The crate has no knowledge of allocators: a candidate is a name and an environment. The first one is the baseline, by
//! convention the program unchanged. It runs twice in each round: the difference of the two runs is the noise.
//!
//! Measuring is Linux's. The types are there everywhere, so that a report can be rendered wherever it was made.

mod candidate;
mod comparison;
#[cfg(target_os = "linux")]
mod course;
mod error;
mod finding;
mod measures;
mod options;
mod outcome;
mod sample;
mod timeline;

#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
pub mod measure;
#[cfg(all(test, target_os = "linux"))]
mod testing;

pub use candidate::{Candidate, Unavailable};
pub use comparison::{Comparison, Setup, Standing, Winner};
pub use error::Error;
pub use finding::{Finding, FindingKind};
pub use measures::RunMeasure;
pub use options::{Options, OutOfReach, Program, Ready, Service};
pub use outcome::Outcome;
pub use sample::{EndSource, LoadSample, Memory, Output, PeakSource, Sample};
pub use timeline::{Point, Timeline};

#[cfg(target_os = "linux")]
pub use course::run;

pub use crate::statistics::{Difference, Spread, Verdict};
