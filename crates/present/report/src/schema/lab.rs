//! `heapwise.lab/1`: what an experiment found, or which experiments there are.

use super::machine::Machine;
use super::spread::Spread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.lab/1";

/// What `heapwise lab` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Lab {
    /// With the name of an experiment.
    Outcome(Box<Outcome>),
    /// With `--all`.
    All(All),
    /// Without a name.
    List(List),
}

/// What all experiments found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct All {
    /// Of one after the other.
    pub outcomes: Vec<Outcome>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
}

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Outcome {
    /// What could not be tried and what does not count, in sentences.
    pub caveats: Vec<String>,
    /// What it means, in sentences.
    pub conclusion: Vec<String>,
    /// The name of the experiment.
    pub experiment: String,
    /// Whether it was ended before its end: then it has what was measured until that.
    pub interrupted: bool,
    /// The machine.
    pub machine: Machine,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// How it was done, in sentences.
    pub setup: Vec<String>,
    /// What a person sees by it.
    pub shows: String,
    /// What was found.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Table {
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its stable name.
    pub id: String,
    /// The part of the workload that it is about. Only of tables about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Its rows: cells by the `id` of their column.
    pub rows: Vec<BTreeMap<String, Option<Cell>>>,
    /// Its heading.
    pub title: String,
    /// The workload that it is about. Only of tables about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Column {
    /// Its name in rows.
    pub id: String,
    /// Its heading.
    pub title: String,
}

/// What is in a cell. Null stands for what was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// A name, or words.
    Text(String),
    /// A number of something, or how many more or fewer.
    Count(i64),
    /// A time in nanoseconds, an amount in bytes, or so many in a second: the `id` of the column says it.
    Amount(Spread<i64>),
    /// How many times as much, or a part of something.
    Ratio(Spread<f64>),
    /// How it grows with the size.
    Growth(Growth),
}

/// How a time grows with the size of the work: it is proportional to a power of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Growth {
    /// The exponent that fits best.
    pub exponent: f64,
    /// Half of the interval in which it lies with a probability of 95 %; null for two points, which always fit.
    pub plus_minus: Option<f64>,
    /// How many sizes it is from.
    pub points: usize,
    /// The same in words, as `O(n)`.
    pub words: String,
}

/// Which experiments there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct List {
    /// All of them.
    pub experiments: Vec<Experiment>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Experiment {
    /// What it is about.
    pub about: String,
    /// Its name on the command line.
    pub name: String,
    /// What a person sees by it.
    pub shows: String,
}
