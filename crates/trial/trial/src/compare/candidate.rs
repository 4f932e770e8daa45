//! The candidates of a comparison.

use std::ffi::OsString;
use std::path::PathBuf;

/// An allocator with its settings, as far as a program notices: an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called in tables: `jemalloc:dirty_decay_ms=1000`.
    pub label: String,
    /// The allocator: `jemalloc`, `default` or a path.
    pub allocator: String,
    /// Its exact version, if it is known.
    pub version: Option<String>,
    /// Settings that were chosen, names and values.
    pub settings: Vec<(String, String)>,
    /// Variables that are set for the program, or taken away (`None`); the others it inherits.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The library that has to be in the process for the run to count, by a path that can be read while the comparison is made.
    /// `None` for the baseline.
    pub library: Option<PathBuf>,
}

/// An allocator that was requested and cannot take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What it would be called.
    pub label: String,
    pub allocator: String,
    /// Why, in one line.
    pub reason: String,
}
