//! `heapwise.bench-diff/1`: what benchmarks allocate, compared with a baseline.

use serde::{Deserialize, Serialize};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.bench-diff/1";

/// All benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct BenchDiff {
    /// The name of the baseline; null if there is none.
    pub baseline: Option<String>,
    /// Each benchmark of this run or of the baseline, by executable and name.
    pub benchmarks: Vec<Benchmark>,
    /// The version of cargo-heapwise.
    pub heapwise: String,
    /// How many benchmarks are worse: the exit code is 3 if there is one.
    pub n_worse: usize,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// By how many percent a mean may rise without being worse; null for a limit that is no percentage.
    pub threshold_percent: Measures<Option<f64>>,
}

/// A number for each measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Measures<T> {
    /// Requested bytes.
    pub allocated_bytes: T,
    /// The most bytes that are live at one time, above what was live before.
    pub peak_bytes: T,
    /// Allocations and reallocations.
    pub requests: T,
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Benchmark {
    /// Requested bytes.
    pub allocated_bytes: Change,
    /// Its name.
    pub id: String,
    /// How many iterations were measured.
    pub iterations: Iterations,
    /// The most bytes that are live at one time, above what was live before.
    pub peak_bytes: Change,
    /// Allocations and reallocations.
    pub requests: Change,
    /// The executable that it is in.
    pub target: String,
    /// The worst of its measures' verdicts.
    pub verdict: Verdict,
}

/// How many iterations were measured; null where the benchmark is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Iterations {
    /// Now.
    pub new: Option<u64>,
    /// In the baseline.
    pub old: Option<u64>,
}

/// A measure of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Change {
    /// By how much the mean rose; null if there is only one side.
    pub change: Option<f64>,
    /// Now; null if it was not measured.
    pub new: Option<Level>,
    /// In the baseline; null if it is not there.
    pub old: Option<Level>,
    /// The change as a part of the old mean; null if that is 0, or there is only one side.
    pub share: Option<f64>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What one iteration needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Level {
    /// The first one, which is in none of the others.
    pub first: u64,
    /// The most.
    pub max: u64,
    /// On average.
    pub mean: f64,
    /// The least.
    pub min: u64,
}

impl Level {
    /// Whether the first iteration is one that no other was like.
    pub fn is_first_special(&self) -> bool {
        self.first < self.min || self.first > self.max
    }
}

/// What became of a measure, or of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More is needed: a regression.
    Worse,
    /// Less is needed.
    Better,
    /// It differs by no more than its iterations do, or than the threshold allows.
    Varies,
    /// Nothing changed.
    Same,
    /// Only measured now.
    New,
    /// Only in the baseline.
    Vanished,
    /// There is no baseline.
    Measured,
}

impl Verdict {
    /// Its name in JSON, which people read as well.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Varies => "varies",
            Self::Same => "same",
            Self::New => "new",
            Self::Vanished => "vanished",
            Self::Measured => "measured",
        }
    }
}
