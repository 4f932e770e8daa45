//! `heapwise.tune/1`: which allocator and which settings suit a program.

use super::compare::Comparison;
use super::machine::Machine;
use super::spread::Spread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.tune/1";

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Tuned {
    /// What to mind, in sentences.
    pub caveats: Vec<String>,
    /// What to do.
    pub choice: Choice,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// What it means, in sentences.
    pub conclusion: Vec<String>,
    /// The comparison on the program itself; null if there was none.
    pub confirmed: Option<Comparison>,
    /// What to paste.
    pub fix: Fix,
    /// What was minimised.
    pub goal: Goal,
    /// Whether it was ended early.
    pub is_interrupted: bool,
    /// Where it was searched.
    pub machine: Machine,
    /// The baseline: what the program has now.
    pub now: String,
    /// Nanoseconds of processor time for anything but the heap.
    pub other_ns: f64,
    /// The candidates that no other one beats in two measures.
    pub pareto: Pareto,
    /// Those that took part to the end first, best first, then those of the rung before.
    pub ranked: Vec<Ranked>,
    /// How many candidates each rung of the search had.
    pub rungs: Vec<usize>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Why there was no comparison; null if there was one.
    pub unconfirmed: Option<Unconfirmed>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Choice {
    /// The candidate to take.
    pub candidate: String,
    /// What it needs as a multiple of the baseline; null if the baseline is to stay.
    pub factor: Option<f64>,
    /// Why the baseline is to stay; null if it is not.
    pub reason: Option<Reason>,
    /// Whether the baseline is to stay.
    pub stay: bool,
    /// What says that it is better; null if the baseline is to stay.
    pub verified: Option<Verified>,
}

/// Why the baseline is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// No candidate is better.
    NothingIsBetter,
    /// None was better on the program itself.
    NotConfirmed,
    /// The search was ended before anything was known.
    Interrupted,
    /// A good part of the program's memory is not recorded, so replays say nothing about it.
    Unrecorded,
}

/// What says that a candidate is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verified {
    /// The program itself.
    Program,
    /// Replays alone.
    Replay,
}

/// Lines to paste. All are empty if the baseline is to stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Fix {
    /// A call into the allocator that there is now, which returns free pages to the system; null if there is none, or it was not
    /// tried.
    pub call: Option<Call>,
    /// Lines for `[dependencies]` of a Cargo.toml.
    pub cargo: Vec<String>,
    /// What to mind, in sentences.
    pub caveats: Vec<String>,
    /// Variables of the environment, as in front of a command.
    pub environment: String,
    /// What kind of change it is.
    pub kind: FixKind,
    /// How programs in other languages get the allocator, in sentences.
    pub other_languages: Vec<String>,
    /// Lines for the main file of a Rust program.
    pub rust: Vec<String>,
    /// `cargo`, `rust` and `environment` together.
    pub text: Vec<String>,
}

/// A kind of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    /// None: the baseline is to stay.
    #[default]
    Stay,
    /// Another allocator.
    Allocator,
    /// Settings of glibc, in code.
    Settings,
    /// Variables of the environment.
    Environment,
}

/// A call into the allocator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Call {
    /// The line in C.
    pub c: String,
    /// Where it belongs, and what for.
    pub place: String,
    /// Resident bytes after the load on the replay.
    pub rss_after_bytes: f64,
    /// What the call left of them.
    pub rss_after_purge_bytes: f64,
    /// The line in Rust.
    pub rust: String,
}

/// What was minimised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Goal {
    /// As on the command line.
    pub name: String,
    /// `rss`, `rss-after`, `cpu` and `latency`, as far as they count, with weights whose sum is 1.
    pub weights: BTreeMap<String, f64>,
}

/// The candidates that no other one beats in both measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Pareto {
    /// Which.
    pub candidates: Vec<String>,
    /// The two measures.
    pub measures: Vec<String>,
}

/// A candidate and what it took on replays. Figures are null where they were not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Ranked {
    /// Its allocator.
    pub allocator: String,
    /// As on the command line.
    pub candidate: String,
    /// Nanoseconds of processor time for the heap: in the allocator, and for the first writing to pages.
    pub cpu_ns: Option<Spread<f64>>,
    /// Whether it is the baseline.
    pub is_now: bool,
    /// Whether no other one beats it in both measures of `pareto`.
    pub is_on_front: bool,
    /// Nanoseconds of the slowest call in a thousand.
    pub latency_p999_ns: Option<Spread<f64>>,
    /// The most resident bytes of anonymous memory.
    pub peak_rss_bytes: Option<Spread<f64>>,
    /// Resident bytes of anonymous memory after the load, without what was freed lazily.
    pub rss_after_bytes: Option<Spread<f64>>,
    /// The same after a call that returns free pages to the system.
    pub rss_after_purge_bytes: Option<f64>,
    /// How far it got in the search, from 0.
    pub rung: usize,
    /// What it needs as a multiple of the baseline, by the weights of the goal.
    pub score: Option<Score>,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// Why it has no figures; null if it has.
    pub trouble: Option<String>,
    /// The version that the allocator's library says; empty if it is not known.
    pub version: String,
}

/// A weighted ratio to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Score {
    /// At worst.
    pub high: f64,
    /// At best.
    pub low: f64,
    /// By medians.
    pub value: f64,
}

/// Why there was no comparison on the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unconfirmed {
    /// No command was given.
    NoCommand,
    /// It was not wanted.
    NotWanted,
    /// Replays found nothing that is worth a try.
    NothingToTry,
    /// It was interrupted before.
    Interrupted,
    /// It did not work: `caveats` say why.
    Failed,
}
