//! Memory over time, what it consists of, and what the program marked.

use serde::{Deserialize, Serialize};

/// Memory over time, and what it consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Memory {
    /// The most resident bytes; null if it was not measured.
    pub peak_rss_bytes: Option<u64>,
    /// Whether pages that processes share count once in that (PSS), and not for each process.
    pub shared_pages_count_once: bool,
    /// At most 1000 parts of the run of equal length, with the highest values in each.
    pub samples: Vec<Sample>,
    /// What the program marked, by time: at most 10,000 marks, evenly thinned.
    pub marks: Vec<Mark>,
    /// Marks that are not in `marks`.
    pub marks_not_listed: u64,
    /// At the most resident bytes; null if no pages were seen.
    pub at_peak: Option<Breakdown>,
    /// At the end; null if no pages were seen.
    pub at_end: Option<Breakdown>,
    /// Whether the allocator says how large its blocks are. If not, internal fragmentation
    /// counts as external.
    pub knows_block_sizes: bool,
    /// Whenever a snapshot was asked for.
    pub snapshots: Vec<Breakdown>,
    /// Sites whose blocks keep mostly empty pages resident.
    pub pinned: Vec<Pinned>,
    /// What dominates resident memory; null if that is not known.
    pub verdict: Option<Verdict>,
    /// The part of each allocator, unless all blocks are from the one that is found by name.
    pub allocators: Vec<OfAllocator>,
}

/// What an allocator has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OfAllocator {
    /// What it is, in words.
    pub name: String,
    /// Its family; null if only its `malloc` is known, and for the one that is found by name.
    pub allocator: Option<String>,
    /// The file that contains it; null for the one that is found by name.
    pub file: Option<String>,
    /// Blocks that it handed out.
    pub allocations: u64,
    /// Requested bytes of all of them, and of reallocations.
    pub allocated_bytes: u64,
    /// Its requested bytes when all allocators together had most.
    pub peak_live_bytes: u64,
    /// The blocks of that moment.
    pub peak_live_blocks: u64,
    /// Requested bytes of blocks that were not freed.
    pub live_at_exit_bytes: u64,
    /// How many these were.
    pub live_at_exit_blocks: u64,
    /// Its part of `memory.at_peak`.
    pub at_peak: AllocatorParts,
    /// Its part of `memory.at_end`.
    pub at_end: AllocatorParts,
    /// Of what the sizes of its blocks were measured: the library, or for one inside of a program the
    /// function by which it says them itself, or another build of the same allocator; no live block
    /// contradicts. Null if they are not known, and internal fragmentation counts as external.
    pub block_sizes_of: Option<String>,
}

/// One allocator's part of a breakdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct AllocatorParts {
    /// Requested bytes of live blocks, the resident part.
    pub live_bytes: u64,
    /// Usable minus requested bytes of live blocks.
    pub internal_fragmentation_bytes: u64,
    /// Free bytes in pages with at least one live block.
    pub external_fragmentation_bytes: u64,
    /// Pages without a live block that had one before.
    pub free_pages_bytes: u64,
    /// Its own pages and headers.
    pub metadata_bytes: u64,
}

/// A part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Sample {
    /// When.
    pub time_ns: u64,
    /// Resident bytes; null before the first measurement.
    pub rss_bytes: Option<u64>,
    /// Requested bytes of live blocks.
    pub live_bytes: u64,
    /// (resident - live) / live; null without either.
    pub fragmentation: Option<f64>,
}

/// A mark, or one end of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Mark {
    /// When.
    pub time_ns: u64,
    /// The `pid` of its process; null if that is not known.
    pub process: Option<u32>,
    /// The `id` of its thread.
    pub thread: u32,
    /// What kind of mark.
    pub kind: MarkKind,
    /// What the program called it.
    pub name: String,
    /// Requested bytes of live blocks.
    pub live_bytes: u64,
    /// The resident bytes that were measured last before; null if none were.
    pub rss_bytes: Option<u64>,
}

/// A kind of mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MarkKind {
    /// A single mark.
    Point,
    /// The beginning of a span.
    Begin,
    /// The end of a span.
    End,
}

/// What resident memory consists of: `rss_bytes` is the sum of the nine fields behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Breakdown {
    /// When.
    pub time_ns: u64,
    /// The process; null if it is not known.
    pub pid: Option<u32>,
    /// Resident bytes.
    pub rss_bytes: u64,
    /// Requested bytes of live blocks, as far as they are resident.
    pub live_bytes: u64,
    /// Usable less requested bytes of live blocks.
    pub internal_fragmentation_bytes: u64,
    /// Free bytes in pages with live blocks.
    pub external_fragmentation_bytes: u64,
    /// Pages of the heap without a live block.
    pub free_pages_bytes: u64,
    /// The allocator's own pages and headers.
    pub metadata_bytes: u64,
    /// What was resident already when recording began in the middle (`attach`, `--delay`), and is no recorded block's.
    pub before_bytes: u64,
    /// Anonymous memory that no recorded allocator explains: that of other allocators, and what the program maps itself.
    pub unrecorded_bytes: u64,
    /// Code, static data, stacks and files.
    pub not_heap_bytes: u64,
    /// What nothing explains: it changed while pages were counted, or a fork inherited it.
    pub unaccounted_bytes: u64,
    /// The part of these that was freed lazily and that the kernel has not reclaimed yet.
    pub lazily_freed_bytes: u64,
    /// The part of these that is in huge pages.
    pub huge_pages_bytes: u64,
    /// Requested bytes of live blocks that were never touched. In no other number.
    pub live_not_resident_bytes: u64,
}

impl Breakdown {
    /// The sum of all parts, which is `rss_bytes`.
    pub fn sum(&self) -> u64 {
        let fragmentation = self.internal_fragmentation_bytes + self.external_fragmentation_bytes;
        let heap = self.live_bytes + fragmentation + self.free_pages_bytes + self.metadata_bytes;
        let others = self.before_bytes + self.unrecorded_bytes + self.not_heap_bytes + self.unaccounted_bytes;
        heap + others
    }
}

/// What the blocks of a site keep resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Pinned {
    /// The `id` of the site.
    pub site: u32,
    /// Free bytes in pages that would be free altogether without these blocks.
    pub bytes: u64,
    /// How many blocks.
    pub blocks: u64,
    /// How many pages.
    pub pages: u64,
}

/// What dominates resident memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Verdict {
    /// `growth`, `live`, `internal-fragmentation`, `external-fragmentation`, `free-pages`, `metadata`, `before`, or `not-heap` if that
    /// is more than all parts of the heap together. `unrecorded` if too much was not recorded to say, and `missed` if pages
    /// were looked at when little of the live peak was live: then the sentence says why.
    pub kind: String,
    /// In a sentence.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
}

/// All spans of a name: what their own thread did between begin and end, inner spans included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Span {
    /// What the program called it.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// Nanoseconds, of all together.
    pub total_ns: u64,
    /// Nanoseconds of the shortest one.
    pub shortest_ns: u64,
    /// Nanoseconds of the longest one.
    pub longest_ns: u64,
    /// Allocations without reallocations.
    pub allocations: u64,
    /// Reallocations.
    pub reallocations: u64,
    /// Blocks that were freed.
    pub deallocations: u64,
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: u64,
    /// By how many bytes live memory grew in the one in which it grew most; negative if it shrank in all.
    pub largest_growth_bytes: i64,
    /// Begins without an end. In no other number.
    pub unended: u64,
    /// Ends without a begin. In no other number.
    pub unbegun: u64,
}
