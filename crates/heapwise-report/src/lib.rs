//! Renders the analysis of a recording: [`json()`] for machines, [`text()`] for a terminal, [`markdown()`] for a comment
//! on a pull request; and what changed between two ([`Diff`]) in the same three ways.
//!
//! Pure: an [`Analysis`](heapwise_analysis::Analysis) in, a string out. What the terminal is like comes in as a
//! [`Style`]. Names come from the recorded program and may hold anything, so whatever is shown on a terminal passes
//! through [`escape`] first.

#![forbid(unsafe_code)]

pub mod diff;
pub mod escape;
mod json;
mod markdown;
pub mod names;
mod style;
mod text;
pub mod units;

pub use diff::Diff;
pub use json::{JsonOptions, SCHEMA, json};
pub use markdown::{MarkdownOptions, markdown};
pub use style::Style;
pub use text::{TextOptions, text};
