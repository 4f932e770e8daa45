//! Renders the analysis of a recording: [`json()`] for machines, [`text()`] for a terminal, [`markdown()`] for a comment
//! on a pull request, [`html()`] for a browser; and what changed between two ([`Diff`]) in the first three ways, as what
//! an experiment found ([`lab`]); and what a comparison of allocators found in all four ([`compare`]).
//!
//! Pure: an [`Analysis`](heapwise_analysis::Analysis) in, a string out. The properties of the terminal come in as a [`Style`].
//! Names come from the recorded program and may contain anything, so whatever is shown on a terminal passes through [`escape`]
//! first.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod allocators;
pub mod annotate;
#[cfg(feature = "usage")]
pub mod browser;
mod chart;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod escape;
pub mod export;
mod html;
mod html_page;
mod json;
pub mod lab;
pub mod names;
#[cfg(target_os = "linux")]
pub mod replay;
mod report;
pub mod schema;
mod source;
mod style;
#[cfg(target_os = "linux")]
pub mod tune;
pub use heapwise_diagnosis::units;

pub use diff::Diff;
pub use html::{Freed, HtmlOptions, ThreadMatrix, html};
pub use json::{JsonOptions, json, write_json};
pub use report::{MarkdownOptions, TextOptions, command_line, function_of, markdown, place_of, text};
pub use source::{Absence, SourceFile, SourceLines, Sources};
pub use style::Style;
