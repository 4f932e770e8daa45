//! The results of an experiment, for people, machines and pull requests; and the list of experiments.
//!
//! The tables are rendered generically: nothing here depends on the experiment. The output of workers was escaped where it was
//! read.

mod document;
mod json;
mod list;
mod wording;

pub use list::{list_json, list_markdown, list_text};

use crate::document::terminal;
use crate::style::Style;
use heapwise_trial::lab::Outcome;

/// For a terminal.
pub fn text(outcome: &Outcome, style: Style) -> String {
    terminal(&document::document(outcome), style)
}

/// The schema `heapwise.lab/1`.
pub fn json(outcome: &Outcome) -> String {
    json::json(outcome)
}

/// For a comment or a document.
pub fn markdown(outcome: &Outcome) -> String {
    crate::document::markdown(&document::document(outcome))
}

#[cfg(test)]
mod testing;
