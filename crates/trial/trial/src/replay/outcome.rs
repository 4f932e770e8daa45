//! What a replay found out about an allocator.

use heapwise_allocators::OwnStatistics;
use heapwise_analysis::{Breakdown, Bytes, Nanos};
use heapwise_trace::event::StackId;

/// How a replay ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// A signal killed the process.
    Killed {
        signal: i32,
        /// Calls that it had reported as made.
        calls: u64,
    },
    /// The process ended by itself, which an allocator makes it do that finds something wrong.
    Exited {
        /// The exit code.
        code: i32,
        /// Calls that it had reported as made.
        calls: u64,
    },
    /// Nothing happened for too long.
    Hung {
        /// Calls that it had reported as made.
        calls: u64,
    },
    /// It took more memory than it may.
    TooLarge {
        /// What it may take.
        most: Bytes,
        /// Calls that it had reported as made.
        calls: u64,
    },
    /// The system refused something that the replay needs itself.
    Trouble {
        reason: String,
    },
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete => f.write_str("did everything"),
            Self::Killed { signal, calls } => {
                write!(f, "killed by signal {signal} after about {calls} calls")
            }
            Self::Exited { code, calls } => write!(f, "ended with code {code} after about {calls} calls"),
            Self::Hung { calls } => write!(f, "got no further after about {calls} calls"),
            Self::TooLarge { most, calls } => {
                write!(
                    f,
                    "took more than {} MiB of memory after about {calls} calls and was ended",
                    most.0 >> 20
                )
            }
            Self::Trouble { reason } => f.write_str(reason),
        }
    }
}

/// Times of calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallTimes {
    /// Calls that were timed.
    pub timed: u64,
    /// Mean in nanoseconds, with what the replay itself takes.
    pub mean_ns: f64,
    /// The same without the longest hundredth, some of which have interrupts in them. A median is no measure of a short call: clocks of
    /// some processors go in steps of 10 ns.
    pub usual_ns: f64,
    /// Quantiles in nanoseconds; `None` where too few calls were timed.
    pub p50_ns: Option<f64>,
    /// 99 %.
    pub p99_ns: Option<f64>,
    /// 99.9 %.
    pub p999_ns: Option<f64>,
    /// 99.99 %.
    pub p9999_ns: Option<f64>,
    /// Calls during which another process had the processor. They are in none of the other numbers.
    pub disturbed: u64,
}

/// One of the slowest calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowCall {
    /// How long it took.
    pub ns: f64,
    /// The stack of the call in the recorded program; unknown for those that free blocks.
    pub stack: Option<StackId>,
}

/// Resident anonymous memory at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Since the replay began.
    pub time: Nanos,
    /// Resident anonymous bytes.
    pub rss: Bytes,
}

/// What was measured in one replay.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How it ended. Unless it is complete, the rest is of the part that was done.
    pub ending: Ending,
    /// Highest resident anonymous memory.
    pub peak_rss: Bytes,
    /// The same when everything was done and all threads that stay were still there.
    pub end_rss: Bytes,
    /// Part of that which the kernel may take at any time.
    pub end_lazily_freed: Bytes,
    /// Resident anonymous memory after the requested pause, and the part that the kernel may take.
    pub settled: Option<(Bytes, Bytes)>,
    /// The same after a call that returns free pages to the system, without what the kernel may take; the thread that makes it is
    /// one that stays. `None` if that was not requested.
    pub purged: Option<Bytes>,
    /// The allocator's own statistics at the end, if it has any and the replay accounts for memory.
    pub own: Option<OwnStatistics>,
    /// Over time.
    pub levels: Vec<Level>,
    /// What it consisted of when most was live.
    pub at_peak: Option<Breakdown>,
    /// What it consisted of at the end, after the pause if there was one.
    pub at_end: Option<Breakdown>,
    /// From the beginning to the end, without the pause.
    pub wall: Nanos,
    /// Processor time of the process, user and system.
    pub cpu: Nanos,
    /// Pages that were faulted in without reading, and by reading.
    pub page_faults: (u64, u64),
    /// Calls that were made.
    pub calls: u64,
    /// Calls that got no memory.
    pub refused: u64,
    /// Live blocks at the end and their requested bytes, as the table of blocks has them.
    pub live: (u64, Bytes),
    /// Calls that allocate blocks.
    pub allocate: CallTimes,
    /// Calls that free blocks.
    pub free: CallTimes,
    /// Calls that resize blocks.
    pub reallocate: CallTimes,
    /// The slowest calls, slowest first.
    pub slowest: Vec<SlowCall>,
}
