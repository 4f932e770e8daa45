//! Makes output for a terminal, for Markdown or for a file harmless.
//!
//! Names of functions, benchmarks and files are chosen by the author of a program or of a pull request, and another user may have
//! put a link where a result goes. Everything that is shown or written passes through here.

pub mod file;
pub mod markdown;
#[cfg(feature = "usage")]
pub mod options;
pub mod terminal;
#[cfg(feature = "usage")]
pub mod usage;
