//! What is known of a recording at one moment, from the follower to the model. All texts in it are escaped.

use heapwise_analysis::{Breakdown, MemorySample, MomentSums, StackSums, Totals};
use std::path::PathBuf;
use std::sync::Arc;

/// The state of the recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Update {
    pub(super) file: Shown,
    pub(super) subject: Subject,
    pub(super) sums: MomentSums,
    /// How it ended, in words, if it has.
    pub(super) end: Option<String>,
    /// What keeps the rest from being read.
    pub(super) trouble: Option<String>,
    /// Requests and bytes per second, of everything.
    pub(super) rate: [u64; 2],
    pub(super) stacks: Vec<StackSums>,
    /// Requests and bytes per second of each stack.
    pub(super) rates: Vec<[u64; 2]>,
    pub(super) places: Arc<Places>,
    pub(super) threads: Vec<ThreadRow>,
    pub(super) curve: Vec<MemorySample>,
    /// What resident pages consisted of, when they were looked at last.
    pub(super) parts: Option<Breakdown>,
    /// Whether the process that they were of has ended.
    pub(super) parts_are_past: bool,
    /// Bytes that were read, and that there are.
    pub(super) read: (u64, u64),
    /// Whether there is more to read before this is how things stand.
    pub(super) is_behind: bool,
    /// Whether the file ends within a section.
    pub(super) is_cut: bool,
    /// Whether it has no name any more.
    pub(super) is_removed: bool,
}

impl Update {
    /// Whether nothing more is expected.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() || self.trouble.is_some()
    }
}

/// Which file is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// How many there were before it in this view.
    pub(super) nth: u32,
    /// How it came to be shown, if it is not the one that was named.
    pub(super) why: Option<String>,
    pub(super) path: PathBuf,
}

/// What is recorded, and how.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    pub(super) command: String,
    pub(super) pid: u32,
    pub(super) allocator: String,
    /// Bytes between two recorded blocks; 0 or 1 if all are recorded.
    pub(super) sample_bytes: u64,
    pub(super) processes: usize,
    /// Whether the recording began in the middle of the process's life.
    pub(super) begins_late: bool,
    /// Whether it began in an earlier file.
    pub(super) goes_on: bool,
}

/// Names of the places, and which stack is of which.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) names: Vec<PlaceName>,
    /// By stack; those without a name yet have none.
    pub(super) of_stack: Vec<Option<u32>>,
}

/// A place as reports show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PlaceName {
    pub(super) function: String,
    /// `file:line`, or the object file.
    pub(super) at: String,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadRow {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) name: String,
    pub(super) rate: [u64; 2],
    pub(super) totals: Totals,
    pub(super) live: u64,
    pub(super) has_ended: bool,
}
