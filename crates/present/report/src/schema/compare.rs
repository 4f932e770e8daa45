//! `heapwise.compare/1`: a program under several allocators.

use super::machine::Machine;
use super::report::Exit;
use super::spread::Spread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.compare/1";

/// A comparison of allocators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Comparison {
    /// When it began, in seconds since 1970.
    pub began_unix: u64,
    /// Who took part, the baseline first.
    pub candidates: Vec<Candidate>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Which candidate needs least, by the id of the measure.
    pub least: BTreeMap<String, Least>,
    /// Where it was measured.
    pub machine: Machine,
    /// What makes the numbers less than they seem to be, in sentences.
    pub notes: Vec<String>,
    /// Rounds that count.
    pub rounds: u32,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// How a server was driven; null for a program that ends by itself.
    pub server: Option<Server>,
    /// The file that the program read from; null if there was none.
    pub stdin: Option<String>,
    /// Nanoseconds that all of it took.
    pub took_ns: u64,
    /// Who could not take part.
    pub unavailable: Vec<Unavailable>,
}

/// How a server was driven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Server {
    /// The command that drove it; null if there was none.
    pub load: Option<String>,
    /// Nanoseconds of rest after that; null if there was none.
    pub settle_ns: Option<u64>,
}

/// Who needs least of a measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Least {
    /// The label of the one with the lowest median of those that surely need less than the baseline; null if none does.
    pub best: Option<String>,
    /// The labels of others that cannot be distinguished from it.
    pub indistinguishable: Vec<String>,
}

/// A candidate that could not take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Unavailable {
    /// Its allocator.
    pub allocator: String,
    /// What it is called.
    pub label: String,
    /// Why, in words.
    pub reason: String,
}

/// A candidate and what it did. Figures are of the runs that count, and null if there is none or none has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Candidate {
    /// What it needs compared with the baseline, by the id of the measure; null for the baseline.
    pub against_baseline: Option<BTreeMap<String, Difference>>,
    /// Its allocator.
    pub allocator: String,
    /// Libraries of allocators that were mapped into the program, by name.
    pub allocators_seen: Vec<String>,
    /// Nanoseconds of processor time.
    pub cpu_ns: Option<Spread<u64>>,
    /// How the run of `outcome` ended; null without runs.
    pub exit: Option<Exit>,
    /// What the program did differently from the baseline.
    pub findings: Vec<Finding>,
    /// Whether it is the program without another allocator.
    pub is_baseline: bool,
    /// What it is called.
    pub label: String,
    /// Why it was not run to the end; null if it was.
    pub left_out: Option<String>,
    /// Figures by the id of the measure.
    pub measures: BTreeMap<String, Option<Spread<u64>>>,
    /// How the first run ended that did not end as the baseline does, else the last one: `exited`, `killed`, `timed-out`,
    /// `not-ready`, `died` or `stopped`; null without runs.
    pub outcome: Option<String>,
    /// Page faults: the median.
    pub page_faults: Option<u64>,
    /// The most resident bytes: the median.
    pub peak_rss_bytes: Option<u64>,
    /// Resident bytes after idle, after the load or at the end, whichever is last: the median.
    pub rss_after_bytes: Option<u64>,
    /// The same without what was freed lazily.
    pub rss_after_held_bytes: Option<u64>,
    /// All runs.
    pub runs: Vec<Run>,
    /// How many of them count.
    pub runs_counted: usize,
    /// Its settings; variables of the environment as `env.NAME`.
    pub settings: BTreeMap<String, String>,
    /// The version of its allocator; null if it is not known.
    pub version: Option<String>,
    /// Nanoseconds from start to end.
    pub wall_ns: Option<Spread<u64>>,
}

/// What a candidate needs of a measure, compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Difference {
    /// How often such an interval holds the true ratio, from 0 to 1.
    pub confidence: f64,
    /// The greatest ratio that fits what was measured.
    pub high: f64,
    /// The least ratio that fits what was measured.
    pub low: f64,
    /// The ratio that noise alone makes, minus 1: 0.02 is two percent.
    pub noise: f64,
    /// The chance of ratios as far from 1 if nothing differed.
    pub p: f64,
    /// The candidate's numbers as a multiple of the baseline's.
    pub ratio: f64,
    /// Rounds that were looked at.
    pub rounds: usize,
    /// What can be said.
    pub verdict: Verdict,
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The candidate needs less.
    Lower,
    /// The candidate needs more.
    Higher,
    /// It cannot be distinguished from noise.
    WithinNoise,
    /// Too few rounds to say anything.
    TooFewRounds,
}

/// Something that the program did differently from the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Finding {
    /// `crashed`, `other-exit`, `other-output`, `timed-out`, `not-ready`, `load-failed`, `not-run` or `not-in-use`.
    pub kind: String,
    /// Of how many runs.
    pub of: u32,
    /// In how many runs.
    pub runs: u32,
    /// In one sentence.
    pub what: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Run {
    /// Memory after the load, of all processes; null but for servers.
    pub after_load: Option<Memory>,
    /// Memory after the load and a time of rest; null but for servers.
    pub after_settle: Option<Memory>,
    /// Memory of the first process at its end; null if that could not be seen.
    pub at_end: Option<Memory>,
    /// Where that comes from.
    pub at_end_source: EndSource,
    /// Whether it counts. Round 0 never does.
    pub counts: bool,
    /// Nanoseconds of processor time, of a server those during the load; null if they are not known.
    pub cpu_ns: Option<u64>,
    /// The program that the first process was in the end; null if that could not be seen.
    pub executable: Option<String>,
    /// How it ended.
    pub exit: Exit,
    /// Whether the allocator was mapped into the first process; null if that could not be seen.
    pub in_use: Option<bool>,
    /// Context switches because its time was up.
    pub involuntary_switches: u64,
    /// What drove the server; null if nothing did.
    pub load: Option<Load>,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Page faults without disk.
    pub minor_faults: u64,
    /// How it ended, in a word: `exited`, `killed`, `timed-out`, `not-ready`, `died` or `stopped`.
    pub outcome: String,
    /// The most resident bytes of one process; null if that could not be seen.
    pub peak_rss_bytes: Option<u64>,
    /// Where that comes from.
    pub peak_source: PeakSource,
    /// The most resident bytes of all processes together; null if there was one.
    pub peak_tree_rss_bytes: Option<u64>,
    /// The most processes at one time.
    pub processes: u32,
    /// Its round, from 0.
    pub round: u32,
    /// Nanoseconds since the start, and resident bytes of all processes.
    pub rss_over_time: Vec<[u64; 2]>,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// Nanoseconds of processor time in kernel mode, of the whole life.
    pub system_ns: u64,
    /// Nanoseconds of processor time in user mode, of the whole life.
    pub user_ns: u64,
    /// Context switches because it waited for something.
    pub voluntary_switches: u64,
    /// Nanoseconds from start to end, of a server those of the load; null for a server without one.
    pub wall_ns: Option<u64>,
}

/// Where the memory at the end comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndSource {
    /// From the moment of the exit.
    AtExit,
    /// From the last sample before it.
    LastSample,
}

/// Where a peak comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PeakSource {
    /// From the kernel's mark of the process's memory.
    HighWaterMark,
    /// From the resource usage of the process that ended.
    ResourceUsage,
    /// From samples.
    Sampled,
}

/// Resident memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Memory {
    /// Resident bytes without what was freed lazily.
    pub held_bytes: u64,
    /// The part that was freed lazily and that the kernel has not reclaimed yet; null if it is not known.
    pub lazily_freed_bytes: Option<u64>,
    /// Resident bytes.
    pub rss_bytes: u64,
}

/// What a program wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Output {
    /// How many bytes.
    pub bytes: u64,
    /// Their SHA-256 in hexadecimal.
    pub sha256: String,
}

/// What drove a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Load {
    /// How it ended.
    pub exit: Exit,
    /// The same in a word.
    pub outcome: String,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// Nanoseconds that it took.
    pub wall_ns: u64,
}
