//! `heapwise.diff/1`: what changed between two recordings.

use super::report::{Frame, Totals};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.diff/1";

/// Two recordings and what changed from the old one to the new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Diff<'a> {
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The recording that is compared with.
    pub old: Recording,
    /// The recording that is judged.
    pub new: Recording,
    /// What makes the comparison less than the whole truth.
    pub warnings: Vec<Warning>,
    /// Whether nothing differs that is counted: all but peak RSS and duration.
    pub same: bool,
    /// Each measure, whether it differs or not.
    pub totals: Vec<Change>,
    /// Call sites that are the same in both.
    pub n_same_sites: usize,
    /// Call sites that differ, the largest parts of the whole first. Stacks with the same names are one site, whatever their
    /// lines.
    pub sites: Vec<Difference<'a>>,
    /// The same, summed over the functions of the nearest frames that are the user's own code.
    pub places: Vec<Difference<'a>>,
    /// The frames of the sites' stacks, each once.
    pub frames: Vec<Frame<'a>>,
    /// Thresholds that are exceeded.
    pub failed: Vec<Exceeded>,
}

/// A recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Recording {
    /// The file's name as it was given.
    pub file: String,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// Nanoseconds from the start of the command to its end.
    pub duration_ns: u64,
    /// The most resident bytes; null if it was not measured.
    pub peak_rss_bytes: Option<u64>,
    /// Sums over all threads and processes.
    pub totals: Totals,
}

/// Something to know before the changes are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Warning {
    /// Its stable name.
    pub id: String,
    /// `old` or `new`; null if it is about both.
    pub recording: Option<String>,
    /// What is so, in words.
    pub what: String,
}

/// A measure of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Change {
    /// Its name, as `--fail-on` takes it, or `duration_ns`.
    pub measure: String,
    /// In the old recording.
    pub old: u64,
    /// In the new recording.
    pub new: u64,
    /// `new` less `old`.
    pub change: i64,
    /// The change as a part of `old`; null if that is 0.
    pub share: Option<f64>,
    /// Whether two runs that do the same may differ in it.
    pub varies: bool,
}

/// A call site, or a place, that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Difference<'a> {
    /// `changed`, `new` or `gone`.
    pub status: String,
    /// The function of the user's nearest frame, in the new recording unless it is gone; null if it is not known.
    pub function: Option<Cow<'a, str>>,
    /// Its source file; null if it is not known.
    pub file: Option<Cow<'a, str>>,
    /// The line in it; null if it is not known.
    pub line: Option<u32>,
    /// Allocations without reallocations.
    pub allocations: OldNew,
    /// Reallocations.
    pub reallocations: OldNew,
    /// Requested bytes of both.
    pub allocated_bytes: OldNew,
    /// Blocks that were freed before their thread allocated anything else.
    pub temporary_allocations: OldNew,
    /// Live requested bytes at the peak of the whole program.
    pub peak_bytes: OldNew,
    /// Requested bytes of blocks that were never freed.
    pub live_at_exit_bytes: OldNew,
    /// Blocks that were never freed.
    pub live_at_exit_blocks: OldNew,
    /// Its frames from the innermost outwards, as indices in `frames`; the outermost and the innermost ones of a very long stack.
    /// Only of a call site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Vec<u32>>,
    /// Its call sites, as indices in `sites`. Only of a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<usize>>,
}

/// A number in both recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OldNew {
    /// In the old recording.
    pub old: u64,
    /// In the new recording.
    pub new: u64,
}

/// A threshold that is exceeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Exceeded {
    /// As it was given.
    pub expression: String,
    /// The measure that it is about.
    pub measure: String,
    /// In the old recording.
    pub old: u64,
    /// In the new recording.
    pub new: u64,
    /// The most that would have been accepted.
    pub limit: u64,
}
