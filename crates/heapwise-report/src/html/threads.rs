//! Threads, and who gave back whose blocks.

use super::strings::Strings;
use heapwise_analysis::Analysis;
use serde::Serialize;

/// Who gave back whose blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadMatrix {
    /// The pairs that occurred; a thread and itself are one, too.
    pub freed: Vec<Freed>,
}

/// Blocks that one thread allocated and a thread gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Index of the thread that allocated.
    pub allocated_by: u32,
    /// Index of the thread that gave back.
    pub freed_by: u32,
    /// How many blocks.
    pub blocks: u64,
}

/// A thread.
#[derive(Debug, Serialize)]
pub(super) struct Thread {
    index: u32,
    name: u32,
    tid: u32,
    pid: Option<u32>,
    allocations: u64,
    bytes: u64,
    peak_bytes: u64,
    exit_bytes: u64,
    freed_elsewhere: u64,
}

pub(super) fn threads(analysis: &Analysis, strings: &mut Strings) -> Vec<Thread> {
    let pid_of = |index| analysis.processes.iter().find(|p| p.index == index).map(|p| p.pid);
    let mut thread = |t: &heapwise_analysis::Thread| Thread {
        index: t.index.0,
        name: strings.number(&t.name),
        tid: t.tid,
        pid: pid_of(t.process),
        allocations: t.totals.allocations,
        bytes: t.totals.allocated_bytes.0,
        peak_bytes: t.totals.peak_live_bytes.0,
        exit_bytes: t.totals.live_at_exit_bytes.0,
        freed_elsewhere: t.freed_elsewhere_blocks,
    };
    analysis.threads.iter().map(&mut thread).collect()
}

/// Each pair as `[allocated by, freed by, blocks]`.
pub(super) fn matrix(matrix: &ThreadMatrix) -> Vec<(u32, u32, u64)> {
    matrix.freed.iter().map(|f| (f.allocated_by, f.freed_by, f.blocks)).collect()
}
