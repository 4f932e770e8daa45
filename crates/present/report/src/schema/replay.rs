//! `heapwise.replay/1`: the allocations of a recording under several allocators.

use super::machine::Machine;
use super::spread::Spread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.replay/1";

/// What replays of a recording found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Replay {
    /// Who took part, in the order in which they were given.
    pub candidates: Vec<Candidate>,
    /// What to mind, in sentences.
    pub caveats: Vec<String>,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// What it means, in sentences.
    pub conclusion: Vec<String>,
    /// What the replay itself takes for each call; null if that was not measured.
    pub harness_ns_per_call: Option<Harness>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
    /// Where it was measured.
    pub machine: Machine,
    /// The process whose part was replayed; null if the recording has none.
    pub process: Option<Process>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// What is replayed.
    pub script: Script,
    /// How the replays with pauses went; null if there were none.
    pub timed: Option<Timed>,
}

/// Nanoseconds for each call that a replay takes without the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Harness {
    /// What a timed call that does nothing takes.
    pub subtracted: f64,
    /// With a quarter of the calls timed, waiting included.
    pub timed: f64,
    /// With no call timed, waiting included.
    pub untimed: f64,
}

/// A recorded process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Process {
    /// The allocator that it had.
    pub allocator: String,
    /// Its command line.
    pub command: Vec<String>,
    /// Its process id.
    pub pid: u32,
}

/// What is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Script {
    /// Allocations without reallocations.
    pub allocations: u64,
    /// Blocks that are freed.
    pub deallocations: u64,
    /// Nanoseconds that it took in the recording.
    pub duration_ns: u64,
    /// Large blocks of which it is not known what part was touched: they are touched as a whole, or not at all if the
    /// program's peak is not known.
    pub large_blocks_with_unknown_touch: u64,
    /// Blocks that are live at the end.
    pub live_at_end_blocks: u64,
    /// Their requested bytes.
    pub live_at_end_bytes: u64,
    /// The most requested bytes that are live at one time.
    pub peak_live_bytes: u64,
    /// What would be live at least if threads that lived less than a second each had its most at the same time, where that is more by
    /// a mebibyte and a twentieth. `null` elsewhere, and in files of older versions.
    #[serde(default)]
    pub peak_live_if_together_bytes: Option<u64>,
    /// Reallocations.
    pub reallocations: u64,
    /// Calls for blocks that the recording does not know. They are left out.
    pub skipped: u64,
    /// Threads that do something.
    pub threads: u64,
}

/// How the replays with pauses went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Timed {
    /// How many times as fast as the recording, with the times that allocators are given divided by as much.
    pub compression: u32,
    /// Nanoseconds of rest after the end, in recorded time.
    pub settle_ns: u64,
}

/// A candidate and what it took. Figures are null where they were not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Candidate {
    /// Its allocator.
    pub allocator: String,
    /// What resident memory consists of at the end.
    pub at_end: Option<Breakdown>,
    /// What resident memory consists of at the peak.
    pub at_peak: Option<Breakdown>,
    /// As on the command line.
    pub candidate: String,
    /// Nanoseconds in the allocator.
    pub cpu_ns: Option<Spread<f64>>,
    /// The same with what the first writing to pages takes, as the kernel counts it.
    pub heap_cpu_ns: Option<Spread<f64>>,
    /// How long calls took, with the replay's own work.
    pub latency_ns: Option<Latency>,
    /// Nanoseconds in the allocator for each call.
    pub ns_per_call: Option<Spread<f64>>,
    /// `complete`, or what went wrong: `interrupted`, `unavailable`, `out-of-memory`, `killed`, `exited`, `hung`,
    /// `too-large` or `trouble`.
    pub outcome: String,
    /// What the allocator says of itself at the end.
    pub own_statistics: Option<OwnStatistics>,
    /// Page faults without reading from disk.
    pub page_faults: Option<u64>,
    /// The most resident bytes of anonymous memory: the median of the rounds.
    pub peak_rss_bytes: Option<u64>,
    /// The same with its spread.
    pub peak_rss_spread_bytes: Option<Spread<f64>>,
    /// Calls that got no memory.
    pub refused: Option<u64>,
    /// Resident bytes of anonymous memory after the replay with pauses and the time of rest.
    pub rss_after_bytes: Option<u64>,
    /// The part of them that was freed lazily and that the kernel has not reclaimed yet.
    pub rss_after_lazily_freed_bytes: Option<u64>,
    /// Resident bytes of anonymous memory at the end of the first round.
    pub rss_at_end_bytes: Option<u64>,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// The slowest calls of the first round.
    pub slowest: Vec<SlowCall>,
    /// Nanoseconds since the start, and resident bytes of anonymous memory.
    pub timeline: Vec<[u64; 2]>,
    /// What went wrong, in words; null if nothing did.
    pub trouble: Option<String>,
    /// The version that the allocator's library says; empty if it is not known.
    pub version: String,
    /// Nanoseconds that rounds took, with the replay's own work.
    pub wall_ns: Option<Spread<f64>>,
}

/// What resident anonymous memory consists of: `rss_bytes` is the sum of the parts, without `lazily_freed_bytes` and
/// `huge_pages_bytes`, which are parts of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Breakdown {
    /// Free bytes in pages with live blocks.
    pub external_fragmentation_bytes: u64,
    /// Resident pages of the heap without a live block.
    pub free_pages_bytes: u64,
    /// The part of these that is in huge pages.
    pub huge_pages_bytes: u64,
    /// Usable less requested bytes of live blocks.
    pub internal_fragmentation_bytes: u64,
    /// The part of these that was freed lazily and that the kernel has not reclaimed yet.
    pub lazily_freed_bytes: u64,
    /// Requested bytes of live blocks, as far as they are resident.
    pub live_bytes: u64,
    /// The allocator's own.
    pub metadata_bytes: u64,
    /// Memory that is not the heap.
    pub not_heap_bytes: u64,
    /// Resident bytes.
    pub rss_bytes: u64,
    /// Memory that nothing explains.
    pub unaccounted_bytes: u64,
    /// Anonymous memory that the candidate has not mapped.
    pub unrecorded_bytes: u64,
}

/// How long calls took, by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Latency {
    /// Allocations.
    pub allocate: CallTimes,
    /// Frees.
    pub free: CallTimes,
    /// Reallocations.
    pub reallocate: CallTimes,
}

/// Nanoseconds of calls of a kind. Quantiles are null where too few calls were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CallTimes {
    /// Calls during which another process had the processor. In no other number.
    pub disturbed: u64,
    /// On average.
    pub mean: f64,
    /// Half of them took no longer.
    pub p50: Option<f64>,
    /// 99 % took no longer.
    pub p99: Option<f64>,
    /// 99.9 % took no longer.
    pub p999: Option<f64>,
    /// 99.99 % took no longer.
    pub p9999: Option<f64>,
    /// How many were timed.
    pub timed: u64,
}

/// A slow call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct SlowCall {
    /// The function and the line that made it in the recorded program; null if that is not known.
    pub caller: Option<String>,
    /// Nanoseconds that it took.
    pub ns: f64,
}

/// What an allocator says of itself, in bytes. Null where it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OwnStatistics {
    /// In pages that have live blocks.
    pub active_bytes: Option<u64>,
    /// In live blocks.
    pub allocated_bytes: Option<u64>,
    /// Mapped, and counted as in use.
    pub mapped_bytes: Option<u64>,
    /// The allocator's own.
    pub metadata_bytes: Option<u64>,
    /// Resident, as the allocator thinks.
    pub resident_bytes: Option<u64>,
    /// Mapped without memory behind it, and kept for later.
    pub retained_bytes: Option<u64>,
}
