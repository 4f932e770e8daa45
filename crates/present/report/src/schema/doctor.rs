//! `heapwise.doctor/1`: what slows the heap from outside of the code.

use serde::{Deserialize, Serialize};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.doctor/1";

/// What was looked at, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Checkup {
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// What was looked at.
    pub subject: Subject,
    /// The system that heapwise runs on.
    pub system: System,
    /// Whether nothing was found that slows the heap: the exit code is 0 then, and 3 otherwise.
    pub clean: bool,
    /// What was seen.
    pub seen: Vec<Seen>,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// How editors and debuggers start programs, as far as their configuration is in this folder.
    pub launches: Vec<Launch>,
    /// What could not be looked at, and why; a line each.
    pub unread: Vec<String>,
    /// What was looked for.
    pub checks: Vec<Check>,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Subject {
    /// `machine`, `command` or `process`.
    pub kind: String,
    /// The command, which was not started; null for others.
    pub command: Option<Vec<String>>,
    /// The process id; null for others.
    pub pid: Option<u32>,
}

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum System {
    Linux,
    Windows,
    MacOs,
    Other,
}

/// Something that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Seen {
    /// What it is.
    pub name: String,
    /// What it is like, in words.
    pub what: String,
}

/// Something that slows the heap, or might.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Finding {
    /// The `id` of the check.
    pub id: String,
    /// `high`, `medium`, `low`, or `note` for what slows nothing.
    pub severity: String,
    /// What is so.
    pub title: String,
    /// What was seen, a line each.
    pub evidence: Vec<String>,
    /// What it costs, in words; empty if it was not measured.
    pub cost: String,
    /// What to do.
    pub remedy: String,
    /// Whether `--fix` can change it.
    pub fixable: bool,
}

/// How an editor or debugger starts a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Launch {
    /// The editor or debugger.
    pub tool: String,
    /// What the configuration is called.
    pub name: String,
    /// `FILE:LINE`.
    pub place: String,
    /// Whether the program has the debug heap on Windows; null if that is not known.
    pub debug_heap: Option<bool>,
    /// Why.
    pub why: String,
}

/// Something that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Check {
    /// Its stable name.
    pub id: String,
    /// What it looks for, in words.
    pub about: String,
}
