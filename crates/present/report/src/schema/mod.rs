//! The JSON that heapwise writes, one module per schema: writers fill these structures, readers and tests parse them, and
//! the files in docs/schema are made of them (`cargo xtask schemas`). Names and meanings of
//! fields are a contract; see docs/json.md.
//!
//! Most schemas have their fields in alphabetical order, and so has what is written.

pub mod allocators;
pub mod annotate;
pub mod bench_diff;
pub mod compare;
pub mod diff;
pub mod doctor;
#[cfg(test)]
mod files;
pub mod lab;
mod machine;
pub mod replay;
pub mod report;
mod spread;
pub mod tune;

pub use machine::Machine;
pub use spread::Spread;

use serde::Serialize;
use std::io::{self, Write};

/// A document on one line.
pub(crate) fn compact(document: &impl Serialize) -> String {
    finish(serde_json::to_string(document))
}

/// Writes a document on one line, without having all of it in memory.
///
/// # Errors
/// Those of writing.
pub(crate) fn write_compact(document: &impl Serialize, out: impl io::Write) -> io::Result<()> {
    let mut out = crate::escape::terminal::Json(out);
    serde_json::to_writer(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A document as a person would write it.
pub fn pretty(document: &impl Serialize) -> String {
    finish(serde_json::to_string_pretty(document))
}

/// Names in it come from recorded programs.
fn finish(text: serde_json::Result<String>) -> String {
    // Only maps whose keys are no strings cannot be written, and no schema has any.
    let mut text = text.unwrap_or_default();
    text.push('\n');
    crate::escape::terminal::json(&text).into_owned()
}
