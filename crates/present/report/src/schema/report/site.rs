//! Call sites.
//!
//! Names in frames are borrowed where a report is written, since there may be many.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Requests of similar sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct SizeClass {
    /// The smallest size that counts.
    pub from_bytes: u64,
    /// The largest size that counts.
    pub to_bytes: u64,
    /// Allocations and reallocations.
    pub requests: u64,
    /// Their requested bytes.
    pub bytes: u64,
}

/// A call site: a stack from which memory was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Site {
    /// Its name in this report.
    pub id: u32,
    /// The index in `stack` of the frame that is shown as the place: the innermost one that is the user's own code, else that of a
    /// dependency. Wrappers of the allocator and what only makes a copy are passed over to their callers. Null if there is none, or if
    /// `stack` leaves it out.
    pub user_frame: Option<usize>,
    /// What that frame calls for its blocks: `String::clone`, `xmalloc`. Null if it calls the allocator itself.
    pub via: Option<String>,
    /// Allocations without reallocations.
    pub allocations: u64,
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: u64,
    /// Reallocations.
    pub reallocations: u64,
    /// Blocks of this site that were freed.
    pub deallocations: u64,
    /// Blocks that were freed before their thread allocated anything else.
    pub temporary_allocations: u64,
    /// Short-lived blocks by how many others their thread was handed before it freed them: 0, 1, 2 to 3, 4 to 7, 8 to 15.
    pub freed_after: Vec<u64>,
    /// Live requested bytes at the peak of the whole program.
    pub peak_bytes: u64,
    /// Live blocks at the peak of the whole program.
    pub peak_blocks: u64,
    /// Requested bytes of blocks that were never freed.
    pub live_at_exit_bytes: u64,
    /// Blocks that were never freed.
    pub live_at_exit_blocks: u64,
    /// Calls that got no memory.
    pub failed_allocations: u64,
    /// The most blocks that were live at one time.
    pub most_blocks: u64,
    /// Sizes of its requests.
    pub sizes: SiteSizes,
    /// Buffers that ended here after they had grown.
    pub growth: Growth,
    /// Reallocations that made a block smaller.
    pub shrinks: u64,
    /// Bytes that growth moved to another place.
    pub copied_bytes: u64,
    /// Nanoseconds for which blocks lived; from a histogram in steps of a quarter of a power of two.
    pub lifetime_ns: Quantiles,
    /// Blocks that another thread freed than the one that allocated them.
    pub freed_on_other_thread: u64,
    /// Nanoseconds in the allocator for all its calls, from those that were measured; null if none was.
    pub allocator_time_ns: Option<u64>,
    /// The standard error of that; null if none was measured.
    pub allocator_time_error_ns: Option<u64>,
    /// Which threads freed blocks that others had allocated: the first few pairs.
    pub handovers: Vec<Handover>,
    /// When the blocks that were live at exit had been allocated: how many in each eighth of the life of their process.
    pub exit_births: [u64; 8],
    /// How many of its allocations and reallocations were recorded: all, or those of a sample.
    pub samples: u64,
    /// Between which bounds its estimates are 19 times out of 20; null if every block was recorded.
    pub intervals: Option<Intervals>,
    /// Whether the stack ended early.
    pub cut: bool,
    /// Frames between the inner and the outer ones that `stack` leaves out.
    pub frames_omitted: usize,
    /// Its frames from the innermost outwards, as indices in `frames` of the report; of more than 512, the 384 innermost and the 128
    /// outermost.
    pub stack: Vec<u32>,
}

/// Bounds of estimates, the lowest and the highest. Two zeros say that no sample was seen, not that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Intervals {
    /// Of `allocations`.
    pub allocations: [u64; 2],
    /// Of `reallocations`.
    pub reallocations: [u64; 2],
    /// Of `allocated_bytes`.
    pub allocated_bytes: [u64; 2],
    /// Of `peak_bytes`.
    pub peak_bytes: [u64; 2],
    /// Of `peak_blocks`.
    pub peak_blocks: [u64; 2],
    /// Of `live_at_exit_bytes`.
    pub live_at_exit_bytes: [u64; 2],
    /// Of `live_at_exit_blocks`.
    pub live_at_exit_blocks: [u64; 2],
}

/// Blocks that one thread allocated and another one freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Handover {
    /// The `id` of the thread that allocated them.
    pub from: u32,
    /// The `id` of the thread that freed them.
    pub to: u32,
    /// How many there were.
    pub blocks: u64,
    /// Their requested bytes. Only in `thread_matrix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Sizes of requests in bytes. Quantiles are sizes that were asked for, and at most a quarter too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct SiteSizes {
    /// The smallest one; null without requests that succeeded.
    pub smallest: Option<u64>,
    /// Half of them are not larger; null as above.
    pub p50: Option<u64>,
    /// 99 % of them are not larger; null as above.
    pub p99: Option<u64>,
    /// The largest one.
    pub largest: u64,
}

/// Buffers that ended at a site after they had grown: by a reallocation, or by a larger block from the same place right
/// before the smaller one was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Growth {
    /// How many.
    pub buffers: u64,
    /// How often they had grown, together.
    pub steps: u64,
    /// How large they were in the end, in bytes.
    pub final_bytes: Quantiles,
}

/// Two quantiles; null where nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Quantiles {
    /// Half are not above it.
    pub p50: Option<u64>,
    /// 99 % are not above it.
    pub p99: Option<u64>,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Frame<'a> {
    /// The name of the function; null if it is not known.
    pub function: Option<Cow<'a, str>>,
    /// The source file; null if it is not known.
    pub file: Option<Cow<'a, str>>,
    /// The line in it; null if it is not known.
    pub line: Option<u32>,
    /// Whether the function was inlined into that of the next frame.
    pub inlined: bool,
    /// The executable or library that it belongs to; null if it is not known.
    pub module: Option<Cow<'a, str>>,
    /// The address in the module. Only of a frame without a function name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
}
