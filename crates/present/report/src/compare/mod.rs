//! What a comparison of allocators found: for a terminal, for machines, for a pull request and for a browser.
//!
//! Findings come first: an allocator under which the program does something else is no choice, whatever its numbers are. A
//! difference that nobody can tell from noise is said to be that and nothing more, in every format.

mod html;
mod json;
mod markdown;
mod text;
mod wording;

#[cfg(test)]
mod testing;

#[cfg(target_os = "linux")]
pub(crate) use json::document;

use crate::style::Style;
use heapwise_trial::compare::Comparison;

/// For a terminal.
pub fn text(comparison: &Comparison, style: Style) -> String {
    text::text(comparison, style)
}

/// The schema `heapwise.compare/1`.
pub fn json(comparison: &Comparison) -> String {
    json::json(comparison)
}

/// For a comment on a pull request.
pub fn markdown(comparison: &Comparison) -> String {
    markdown::markdown(comparison)
}

/// One file for a browser, without a script.
pub fn html(comparison: &Comparison) -> String {
    html::html(comparison)
}
