//! What the files and lines of a program allocate: a table of files, or the text of one file with amounts in its margin.
//!
//! A line has two amounts: its own ones are those of the places that the report has, and the others are those of all stacks that the
//! line is in. So a line that only calls what allocates is seen as well.

mod choice;
mod files;
mod findings;
mod json;
mod lines;
mod regions;

pub use choice::{Choice, choose};
pub(crate) use findings::lines_of;
pub(crate) use regions::regions;

use crate::document::{self, Document};
use crate::source::{Absence, SourceFile};
use crate::style::Style;
use findings::FindingsByLine;
use heapwise_analysis::Analysis;
use heapwise_analysis::owner::Owner;
use heapwise_diagnosis::{Diagnosis, FileCosts, costs_by_file};

/// The files of a recording.
#[derive(Debug)]
pub struct Annotation<'a> {
    analysis: &'a Analysis,
    diagnosis: &'a Diagnosis,
    files: Vec<FileCosts<'a>>,
    findings: FindingsByLine<'a>,
}

/// What is shown of it.
#[derive(Clone, Debug)]
pub enum View<'v, 'a> {
    /// The files, those with the most first.
    Files,
    /// The lines of a file, with its text or why that is not shown.
    Lines(&'v FileCosts<'a>, Result<SourceFile, Absence>),
}

/// What may be chosen about it.
#[derive(Clone, Debug, Default)]
pub struct AnnotateOptions {
    /// Whether all is shown, or what matters most: of files those with the most, of a file the lines around those that allocate.
    pub full: bool,
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<String>,
}

impl<'a> Annotation<'a> {
    /// Adds up what each line allocates.
    pub fn new(analysis: &'a Analysis, diagnosis: &'a Diagnosis) -> Self {
        let findings = FindingsByLine::new(analysis, diagnosis);
        Self { analysis, diagnosis, files: costs_by_file(analysis), findings }
    }

    /// The files that occur in stacks, the user's own with the most first.
    pub fn files(&self) -> &[FileCosts<'a>] {
        &self.files
    }

    /// For people, as text of several lines.
    pub fn text(&self, view: &View<'_, 'a>, options: &AnnotateOptions, style: Style) -> String {
        document::terminal(&self.document(view, options), style)
    }

    /// For machines: the schema `heapwise.annotate/1`.
    pub fn json(&self, view: &View<'_, 'a>) -> String {
        json::json(self, view)
    }

    /// For a comment on a pull request.
    pub fn markdown(&self, view: &View<'_, 'a>, options: &AnnotateOptions) -> String {
        document::markdown(&self.document(view, options))
    }

    fn document(&self, view: &View<'_, 'a>, options: &AnnotateOptions) -> Document {
        match view {
            View::Files => files::document(self, options),
            View::Lines(file, source) => {
                lines::document(self, file, source.as_ref().map_err(|why| *why), options)
            }
        }
    }
}

/// The text of a file if it is what was compiled; else why it is not shown.
pub(crate) fn text_of<'s>(
    file: &FileCosts<'_>,
    source: Result<&'s SourceFile, Absence>,
) -> Result<Vec<&'s str>, Absence> {
    let source = source?;
    let lines: Vec<&str> = source.text.lines().collect();
    let last = file.lines.last().map_or(0, |line| line.number as usize);
    match source.changed {
        true => Err(Absence::Changed),
        false if lines.len() < last => Err(Absence::Shorter),
        false => Ok(lines),
    }
}

/// Whose code a file is, for machines.
fn owner_id(owner: Owner) -> &'static str {
    match owner {
        Owner::User => "user",
        Owner::Dependency => "dependency",
        Owner::RustStd | Owner::CxxStd => "library",
        Owner::System | Owner::Wrapper | Owner::Recorder => "system",
    }
}
