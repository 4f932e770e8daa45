//! Threads, and which of them freed which thread's blocks.

use super::strings::Strings;
use heapwise_analysis::Analysis;
use serde::Serialize;

/// Which thread freed which thread's blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadMatrix {
    /// The pairs that occurred; a thread with itself is one, too.
    pub freed: Vec<Freed>,
}

impl ThreadMatrix {
    /// The pairs of an analysis. It has pairs of different threads only; all other blocks that a thread freed were its own.
    pub fn of(analysis: &Analysis) -> Self {
        let handed = analysis.thread_matrix.iter();
        let mut freed: Vec<Freed> =
            handed.map(|h| Freed { allocated_by: h.from.0, freed_by: h.to.0, blocks: h.blocks }).collect();
        for thread in &analysis.threads {
            let others = analysis.thread_matrix.iter().filter(|h| h.to == thread.index);
            let others: u64 = others.map(|h| h.blocks).sum();
            let (own, index) = (thread.totals.deallocations.saturating_sub(others), thread.index.0);
            if own > 0 {
                freed.push(Freed { allocated_by: index, freed_by: index, blocks: own });
            }
        }
        Self { freed }
    }
}

/// Blocks that one thread allocated and a thread freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Index of the thread that allocated.
    pub allocated_by: u32,
    /// Index of the thread that freed them.
    pub freed_by: u32,
    pub blocks: u64,
}

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
