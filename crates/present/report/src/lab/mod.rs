//! The results of an experiment, for people, machines and pull requests; and the list of experiments.
//!
//! The tables are rendered generically: nothing here depends on the experiment. The output of workers was escaped where it was
//! read.

mod document;
mod figures;
mod json;
mod list;
mod wording;

pub use list::{list_html, list_json, list_markdown, list_text};

use crate::document::{Document, terminal};
use crate::style::Style;
use heapwise_trial::lab::Outcome;

/// What is written: the outcome of one experiment, or those of all.
#[derive(Clone, Copy, Debug)]
pub enum Written<'a> {
    /// Of one.
    One(&'a Outcome),
    /// Of one after the other.
    All(&'a [Outcome]),
}

impl Written<'_> {
    fn document(self) -> Document {
        match self {
            Self::One(outcome) => document::document(outcome),
            Self::All(outcomes) => document::of_all(outcomes),
        }
    }

    /// For a terminal.
    pub fn text(self, style: Style) -> String {
        terminal(&self.document(), style)
    }

    /// The schema `heapwise.lab/1`.
    pub fn json(self) -> String {
        match self {
            Self::One(outcome) => json::json(outcome),
            Self::All(outcomes) => json::json_of_all(outcomes),
        }
    }

    /// For a comment or a document.
    pub fn markdown(self) -> String {
        crate::document::markdown(&self.document())
    }

    /// One file for a browser, without a script.
    pub fn html(self) -> String {
        crate::document::html(&self.document())
    }
}

#[cfg(test)]
mod testing;
