//! What was measured of one run.

use crate::compare::{Outcome, Timeline};
use std::path::PathBuf;

/// One run of the program.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The round; 0 is the first one, which does not count.
    pub round: u32,
    /// Whether it is the baseline's second run of the round.
    pub is_second: bool,
    pub outcome: Outcome,
    /// From the start to the end. Of a server: of the load; `None` without one, because how long a server takes to be ready and
    /// how long it is kept alive is no measure of it.
    pub wall_ns: Option<u64>,
    /// Processor time of the program and of the children it waited for, in user and in kernel mode together. Of a server: during
    /// the load, with all its processes; `None` without a load, or if some of it is not known, because a process that ignores the
    /// ends of its children loses their processor time.
    pub cpu_ns: Option<u64>,
    /// The part of it in user mode. Of a server: of its whole life.
    pub user_ns: u64,
    /// The part of it in kernel mode. Of a server: of its whole life.
    pub system_ns: u64,
    /// The most resident memory that one process had; `None` if it ended before it could be measured.
    pub peak_rss_bytes: Option<u64>,
    /// Where that comes from.
    pub peak_source: PeakSource,
    /// The highest sum of the resident memory of all processes of the run, if there was more than one, as it was sampled;
    /// pages that they share are counted for each.
    pub peak_tree_bytes: Option<u64>,
    /// Resident memory at the moment of the exit, of the first process; `None` if it ended before it could be measured.
    pub end: Option<Memory>,
    /// Where that comes from.
    pub end_source: EndSource,
    /// Page faults without disk.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Context switches because it waited for something.
    pub voluntary_switches: u64,
    /// Context switches because its time was up.
    pub involuntary_switches: u64,
    /// The most processes at one time.
    pub processes: u32,
    /// The program that the first process was in the end, after all that it may have replaced itself by; `None` if that could
    /// not be read.
    pub executable: Option<PathBuf>,
    /// Libraries that were mapped into the first process, but for that of the allocator.
    pub libraries: Vec<PathBuf>,
    /// Whether the allocator's library was mapped into the first process; `None` if that could not be read, or the program was
    /// still being loaded then.
    pub in_use: Option<bool>,
    /// Libraries of allocators that were mapped into the first process, by their names.
    pub allocators_seen: Vec<String>,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// Resident memory over time, of all processes.
    pub timeline: Timeline,
    /// The result of the load, if there was one.
    pub load: Option<LoadSample>,
    /// Memory after the load, of all processes.
    pub after_load: Option<Memory>,
    /// Memory after the load and a time of rest.
    pub after_settle: Option<Memory>,
}

/// Resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it. Of several processes: each one's share of the pages that they share (PSS).
    pub rss_bytes: u64,
    /// The part of it that was freed lazily, which the kernel takes when it needs memory (`MADV_FREE`); `None` if it is
    /// not known.
    pub lazily_freed_bytes: Option<u64>,
}

impl Memory {
    /// Without what was freed lazily.
    pub fn held_bytes(&self) -> u64 {
        self.rss_bytes - self.lazily_freed_bytes.unwrap_or(0).min(self.rss_bytes)
    }
}

/// Where the highest resident memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakSource {
    /// The kernel's own mark of the first process (`VmHWM`), read when it exited.
    HighWaterMark,
    /// The kernel's account of the process and those it waited for (`ru_maxrss`).
    ResourceUsage,
    /// The highest sample, because the kernel's figures could not be read.
    Sampled,
}

/// Where the memory at the end comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSource {
    /// Looked at in the moment of the exit.
    AtExit,
    /// The last sample before it: the process could not be stopped there.
    LastSample,
}

/// Something that was written, without keeping it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub bytes: u64,
    /// SHA-256 of it.
    pub hash: [u8; 32],
    /// The first [`Output::KEPT`] bytes.
    pub start: Vec<u8>,
}

impl Output {
    /// So much of an output is kept, for the first line that differs.
    pub const KEPT: usize = 256 << 10;
}

/// The result of the load.
#[derive(Clone, Debug)]
pub struct LoadSample {
    pub outcome: Outcome,
    /// How long it took.
    pub wall_ns: u64,
    /// What it wrote to standard output.
    pub stdout: Output,
}
