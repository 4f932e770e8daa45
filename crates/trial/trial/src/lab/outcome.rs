//! What an experiment found: tables whose cells know what they are, and sentences.
//!
//! An experiment does not know how it is shown. A cell carries its number and its unit, and the report layer makes text, JSON
//! or Markdown of it.

use crate::lab::growth::Growth;
use crate::statistics::Spread;
use heapwise_environment::MachineDescription;

/// All that came out of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the experiment.
    pub experiment: &'static str,
    pub shows: &'static str,
    pub machine: MachineDescription,
    /// Whether it was ended before its end: then it has what was measured until that.
    pub is_interrupted: bool,
    /// How it was done: sizes, rounds, which clock; a line each.
    pub setup: Vec<String>,
    pub tables: Vec<Table>,
    /// What could not be tried, and why; what makes the numbers worth less.
    pub caveats: Vec<String>,
    /// What it means and what to do.
    pub conclusion: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in JSON.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What the heading leaves out.
    pub aside: String,
    /// What the whole table is about, such as `workload` and `phase`: fields in JSON.
    pub labels: Vec<(&'static str, String)>,
    /// Details, for JSON output and closer inspection.
    pub is_detail: bool,
    pub columns: Vec<Column>,
    /// The rows; each has a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in JSON.
    pub id: String,
    pub title: String,
    /// Details, for JSON output and closer inspection.
    pub is_detail: bool,
}

impl Column {
    /// A column.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), is_detail: false }
    }

    /// A column that a terminal has no room for.
    pub fn detail(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { is_detail: true, ..Self::new(id, title) }
    }
}

/// What is in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing: it was not measured, or there is no such thing.
    Nothing,
    /// A name or some words.
    Text(String),
    /// A number of something.
    Count(u64),
    /// How many more, or fewer.
    Number(i64),
    /// Nanoseconds.
    Time(Spread),
    Bytes(Spread),
    /// So many in a second.
    PerSecond(Spread),
    /// A part of something, from 0 to 1; below 0 if it became more.
    Share(Spread),
    /// How many times as much.
    Ratio(Spread),
    /// How it grows.
    Growth(Growth),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}
