//! `heapwise.annotate/1`: what files and lines allocate.

use super::report::{BlindSpot, Warning};
use serde::{Deserialize, Serialize};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.annotate/1";

/// What `heapwise annotate` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Annotated {
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// The files that occur in stacks: first the user's own, then those of dependencies, then the others; among these the ones with
    /// the largest share in the allocations or in the live peak first. With a path the one file that it means.
    pub files: Vec<File>,
    /// All findings, the most valuable first.
    pub findings: Vec<Finding>,
    /// The lines of the file that occur in stacks, ascending; null without a path.
    pub lines: Option<Vec<Line>>,
    /// How many files occur in stacks.
    pub n_files: usize,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Whether the text of the file is what was compiled; null without a path.
    pub source: Option<Source>,
    /// What makes the numbers incomplete or inexact.
    pub warnings: Vec<Warning>,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct File {
    /// Findings about its lines: places in `findings`, the first being 0.
    pub findings: Vec<usize>,
    /// Path of an object file that was built from it; null if it is not known.
    pub module: Option<String>,
    /// Of the call sites whose place is in it: the nearest frame of the stack that is the user's own code, else that of a
    /// dependency. Calls in code without a line are included.
    pub own: Costs,
    /// Whose code it is: `user`, `dependency`, `library` (a standard library) or `system`.
    pub owner: String,
    /// Its path as the debug information has it.
    pub path: String,
    /// Of the call sites that have it anywhere in their stack, each once.
    pub with_callees: Costs,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Line {
    /// Findings about it: places in `findings`, the first being 0.
    pub findings: Vec<usize>,
    /// The function that it is in; null if it has no name.
    pub function: Option<String>,
    /// Its number, the first being 1.
    pub line: u32,
    /// Of the call sites whose place it is.
    pub own: Costs,
    /// Its text, at most 240 characters of it; null if the file is not shown.
    pub text: Option<String>,
    /// Of the call sites that have it anywhere in their stack, each once.
    pub with_callees: Costs,
}

/// What is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Costs {
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: u64,
    /// Allocations without reallocations.
    pub allocations: u64,
    /// Nanoseconds that these calls, and freeing their blocks, are estimated to take.
    pub estimated_time_ns: u64,
    /// Live requested bytes at the peak of the whole program.
    pub peak_bytes: u64,
    /// Reallocations.
    pub reallocations: u64,
    /// Blocks that were freed before their thread allocated anything else.
    pub temporary_allocations: u64,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Finding {
    /// How sure it is: `hint`, `likely` or `certain`.
    pub certainty: String,
    /// Which rule found it.
    pub id: String,
    /// How much it matters: `low`, `medium` or `high`.
    pub severity: String,
    /// What is wrong, and where.
    pub title: String,
}

/// Whether the text of a file is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Source {
    /// Why it is not: `not-found`, `remapped`, `outside`, `not-source`, `not-regular`, `too-large`, `unreadable`, `unwanted`, `changed` or
    /// `shorter`; null if it is.
    pub absence: Option<String>,
    /// The same in words; null if it is shown.
    pub what: Option<String>,
}
