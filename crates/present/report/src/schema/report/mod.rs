//! `heapwise.report/1`: what a recording says.

mod memory;
mod site;

pub use memory::{
    AllocatorParts, Breakdown, Mark, MarkKind, Memory, OfAllocator, Pinned, Sample, Span, Verdict,
};
pub use site::{Frame, Growth, Handover, Intervals, Quantiles, Site, SiteSizes, SizeClass};

use serde::{Deserialize, Serialize};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.report/1";

// Its writer has something else in place of the two long lists, which is serialized as they are.
/// A report. Times are nanoseconds since the start of the command unless a field is a duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Report<Sites = Vec<Site>, Frames = Vec<Frame<'static>>> {
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The version of heapwise that recorded.
    pub heapwise: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// How the command ended. Both are null if the recording has no end.
    pub exit: Exit,
    /// Nanoseconds from the start of the command to its end.
    pub duration_ns: u64,
    /// Which file it is of a recording in several files; null if there is only one.
    pub part: Option<Part>,
    /// Sums over all threads and processes.
    pub totals: Totals,
    /// Time in the allocator, estimated from the calls that were measured; null if fewer than 30 were.
    pub allocator_time: Option<AllocatorTime>,
    /// How a sample of the blocks was taken; null if everything was recorded.
    pub sampling: Option<Sampling>,
    /// How calls were seen, and what could not be seen.
    pub interception: Interception,
    /// How far the stacks can be trusted.
    pub stacks: Stacks,
    /// Whether the events of the threads fit together.
    pub order: Order,
    /// What makes the report less than the whole truth.
    pub warnings: Vec<Warning>,
    /// Recorded program images, in the order in which they joined.
    pub processes: Vec<Process>,
    /// Recorded threads.
    pub threads: Vec<Thread>,
    /// Blocks that one thread allocated and another one freed, most blocks first.
    pub thread_matrix: Vec<Handover>,
    /// Blocks of further pairs of threads, which are not in `thread_matrix`.
    pub other_handovers: u64,
    /// Memory over time, and what it consists of.
    pub memory: Memory,
    /// Spans that the program marked, by name, most allocated bytes first.
    pub spans: Vec<Span>,
    /// Allocations and reallocations by size, in powers of two.
    pub sizes: Vec<SizeClass>,
    /// How many call sites there are.
    pub n_sites: usize,
    /// Call sites, most allocated bytes first.
    pub sites: Sites,
    /// The frames of the sites' stacks, each once.
    pub frames: Frames,
    /// What is worth a change, the most rewarding first; at most ten.
    pub findings: Vec<Finding>,
    /// What would be judged if all memory were recorded, and is not.
    pub withheld: Vec<Withheld>,
}

impl Report {
    /// The frames of a site's stack from the innermost outwards. An index without a frame has none.
    pub fn stack(&self, site: &Site) -> impl Iterator<Item = &Frame<'static>> + Clone {
        site.stack.iter().filter_map(|&at| self.frames.get(at as usize))
    }
}

/// Something that is not judged since too much was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Withheld {
    /// The rule that would have found something, or `verdict`.
    pub what: String,
    /// What was not recorded, in words.
    pub reason: String,
}

/// How a process ended: at most one of them is a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Exit {
    /// Its exit code, or null if it did not exit.
    pub code: Option<i32>,
    /// The signal that killed it, or null.
    pub signal: Option<i32>,
}

/// A file of a recording in several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Part {
    /// Its place, from 1.
    pub number: u32,
    /// Whether there is a next one.
    pub goes_on: bool,
    /// Blocks that were live when it began. They are in no number of requests.
    pub live_at_start_blocks: u64,
    /// Their requested bytes.
    pub live_at_start_bytes: u64,
}

/// Time in the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct AllocatorTime {
    /// Nanoseconds, of all calls.
    pub time_ns: u64,
    /// The standard error of `time_ns`.
    pub error_ns: u64,
    /// Calls that were measured.
    pub samples: u64,
}

/// Of a recording that holds a sample of the blocks. Its totals are estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Sampling {
    /// At most how many bytes lie between two recorded blocks.
    pub sample_bytes: u64,
    /// Allocations and reallocations that were recorded.
    pub requests: u64,
    /// The standard error of the number of allocations and reallocations.
    pub requests_error: u64,
    /// The standard error of `totals.allocated_bytes`.
    pub allocated_bytes_error: u64,
    /// The standard error of `totals.peak_live_bytes`.
    pub peak_live_bytes_error: u64,
    /// The standard error of `totals.never_freed_bytes`.
    pub live_at_exit_bytes_error: u64,
}

/// Sums. Those of a thread are of blocks that the thread allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Totals {
    /// Calls that allocated a block, without reallocations.
    pub allocations: u64,
    /// Reallocations.
    pub reallocations: u64,
    /// Blocks that were freed.
    pub deallocations: u64,
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: u64,
    /// The most requested bytes that were live at one time.
    pub peak_live_bytes: u64,
    /// Blocks that were live at that time.
    pub peak_live_blocks: u64,
    /// Requested bytes that were live when the process ended. Of several processes: the most of what they never freed that was
    /// there together, so never more than `peak_live_bytes`.
    pub live_at_exit_bytes: u64,
    /// Blocks that were live then.
    pub live_at_exit_blocks: u64,
    /// Requested bytes of blocks that were never freed. Of several processes: the sum, however far apart they ran; so is that
    /// of all sites' `live_at_exit_bytes`.
    pub never_freed_bytes: u64,
    /// Blocks that were never freed.
    pub never_freed_blocks: u64,
    /// Blocks that were freed before their thread allocated anything else.
    pub temporary_allocations: u64,
    /// Calls that got no memory.
    pub failed_allocations: u64,
    /// Events that are missing in all other numbers.
    pub lost_events: u64,
}

impl Totals {
    /// Allocations and reallocations: what valgrind calls allocs.
    pub fn requests(&self) -> u64 {
        self.allocations.saturating_add(self.reallocations)
    }
}

/// How calls were seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Interception {
    /// `preload`; `ptrace` where the recorder was written into the program; `wrapper` for a program that records itself under
    /// `heapwise run`; `inside` for one that did so alone; `unknown` where the file does not say.
    pub mode: String,
    /// The file that provides the first process's `malloc`, or the type below the wrapper.
    pub allocator: String,
    /// Allocators inside of the program and of its libraries that are recorded as well.
    pub inside: Vec<AllocatorInside>,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
}

/// An allocator inside of a file whose functions are entered through the recorder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct AllocatorInside {
    /// What it is called; null if only its `malloc` is known.
    pub allocator: Option<String>,
    /// The file that contains it.
    pub file: String,
    /// How many of its functions are entered so.
    pub functions: u64,
}

/// Something that could not be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct BlindSpot {
    /// Its stable name.
    pub id: String,
    /// What it is, in words.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// The allocator whose blocks are not recorded; null if it is something else that could not be seen.
    pub allocator: Option<String>,
    /// The file that contains it, or null.
    pub file: Option<String>,
}

/// How far the stacks can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Stacks {
    /// Stacks that were captured.
    pub captures: u64,
    /// Of these, how many ended early.
    pub cut_captures: u64,
    /// `cut_captures` as a part of `captures`, from 0 to 1.
    pub cut_share: f64,
    /// Stacks that were compared with a full unwind.
    pub verified: u64,
    /// Of these, how many differed from it.
    pub verify_failed: u64,
}

/// Whether the events of the threads fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Order {
    /// Frees of blocks whose allocation was not seen.
    pub unknown_frees: u64,
    /// Blocks whose free was not seen: their address was handed out again.
    pub implicit_frees: u64,
}

/// Something to know before the numbers are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Warning {
    /// Its stable name.
    pub id: String,
    /// What is so, in words.
    pub what: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

/// A program image: a process has one for each program that it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// The file that provides its `malloc`, or the type below the wrapper.
    pub allocator: String,
    /// When it joined.
    pub start_ns: u64,
    /// When it ended; null if its end was not seen.
    pub end_ns: Option<u64>,
    /// Whether it was still running when the recording ended.
    pub still_running: bool,
    /// Whether it is a fork of a recorded process.
    pub forked: bool,
    /// Its sums.
    pub totals: Totals,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Thread {
    /// Its name in this report.
    pub id: u32,
    /// The last name that it had.
    pub name: String,
    /// Its thread id.
    pub tid: u32,
    /// Its process id; null if its process is not known.
    pub pid: Option<u32>,
    /// Its sums: live numbers are of blocks that it allocated.
    pub totals: Totals,
    /// Blocks that it allocated and another thread freed.
    pub freed_elsewhere_blocks: u64,
}

/// Something that is worth a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Finding {
    /// The rule that found it.
    pub id: String,
    /// `high`, `medium` or `low`.
    pub severity: String,
    /// `certain`, `likely` or `hint`.
    pub certainty: String,
    /// What is wrong, and where.
    pub title: String,
    /// The `id` of the site with the largest part in it, or null.
    pub site: Option<u32>,
    /// The `id`s of all sites that have a part in it.
    pub sites: Vec<u32>,
    /// What was seen, a line each.
    pub evidence: Vec<String>,
    /// What following it would save.
    pub estimate: Estimate,
    /// What to do.
    pub remedy: String,
}

/// What a change would save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Estimate {
    /// Allocations.
    pub allocations: u64,
    /// Reallocations.
    pub reallocations: u64,
    /// Requested bytes.
    pub allocated_bytes: u64,
    /// Live bytes at the peak.
    pub peak_bytes: u64,
    /// Nanoseconds, by a model that the measured calls of these sites correct.
    pub time_ns: u64,
}
