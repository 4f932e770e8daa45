//! What changed between two recordings, as [`text`](Diff::text), as [`json`](Diff::json) and as
//! [`markdown`](Diff::markdown).
//!
//! In the order of the questions: are these the same program, did anything change, how much in all, and where did it become
//! better or worse. Changes within the noise are omitted for people and included for machines.

mod document;
mod json;
mod rows;
mod wording;

pub use heapwise_diagnosis::compare::{Limit, Threshold};

use crate::style::Style;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Comparison;
use heapwise_diagnosis::compare::Exceeded;

/// A recording that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The file's name, as the user gave it.
    pub file: &'a str,
    /// What is in it.
    pub analysis: &'a Analysis,
}

/// Two recordings and what changed from one to the other.
#[derive(Clone, Copy, Debug)]
pub struct Diff<'a> {
    /// The one to compare with.
    pub old: Recording<'a>,
    /// The one that is compared with the old one.
    pub new: Recording<'a>,
    /// The comparison of these two.
    pub comparison: &'a Comparison,
    /// Thresholds that are exceeded.
    pub exceeded: &'a [Exceeded],
}

/// What may be chosen about the text and the Markdown.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// How many places are shown as better, and how many as worse.
    pub top: usize,
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<String>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { top: 10, folder: None }
    }
}

impl Diff<'_> {
    /// For people, as text of several lines.
    pub fn text(&self, options: &DiffOptions, style: Style) -> String {
        crate::document::terminal(&document::document(self, options), style)
    }

    /// For machines: the schema `heapwise.diff/1`.
    pub fn json(&self) -> String {
        json::json(self)
    }

    /// For a comment on a pull request.
    pub fn markdown(&self, options: &DiffOptions) -> String {
        crate::document::markdown(&document::document(self, options))
    }
}

/// A threshold that is exceeded, in one line.
pub fn exceeded_line(exceeded: &Exceeded) -> String {
    wording::exceeded(exceeded)
}
