//! What leaves for a terminal, for Markdown or for a file, such that it does no harm there.
//!
//! Names of functions, benchmarks and files are chosen by whoever wrote a program or opened a pull request, and what lies at the
//! place of a result may have been put there by another user. Everything that is shown or written comes by here.

pub mod file;
pub mod markdown;
pub mod terminal;
#[cfg(feature = "usage")]
pub mod usage;
