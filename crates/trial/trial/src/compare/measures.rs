//! What is compared.

use crate::compare::Sample;
use crate::statistics::Floor;

/// A number of a run under a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunMeasure {
    /// Time that passed; of a server, what the load took.
    Wall,
    /// Processor time.
    Cpu,
    /// The most resident memory, of all processes if there were several.
    PeakRss,
    /// Resident memory at the exit, without pages that were freed lazily (`MADV_FREE`).
    EndRss,
    /// The same of a server, right after the load.
    AfterLoad,
    /// The same after the time of rest.
    AfterSettle,
    /// Page faults.
    Faults,
}

impl RunMeasure {
    pub const ALL: [Self; 7] = [
        Self::Wall,
        Self::Cpu,
        Self::PeakRss,
        Self::EndRss,
        Self::AfterLoad,
        Self::AfterSettle,
        Self::Faults,
    ];

    /// For machines; the unit is in it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Wall => "wall_ns",
            Self::Cpu => "cpu_ns",
            Self::PeakRss => "peak_rss_bytes",
            Self::EndRss => "rss_at_end_bytes",
            Self::AfterLoad => "rss_after_load_bytes",
            Self::AfterSettle => "rss_after_settle_bytes",
            Self::Faults => "page_faults",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
            Self::PeakRss => "peak RSS",
            Self::EndRss => "RSS at the end",
            Self::AfterLoad => "RSS after load",
            Self::AfterSettle => "RSS after idle",
            Self::Faults => "page faults",
        }
    }

    /// Whether it is memory, in bytes.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::PeakRss | Self::EndRss | Self::AfterLoad | Self::AfterSettle)
    }

    /// Whether it is a time, in nanoseconds.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Wall | Self::Cpu)
    }

    /// The number, if the run has it.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        let number = match self {
            Self::Wall => sample.wall_ns?,
            Self::Cpu => sample.cpu_ns?,
            Self::PeakRss => sample.peak_tree_bytes.max(sample.peak_rss_bytes)?,
            Self::EndRss => sample.end?.held_bytes(),
            Self::AfterLoad => sample.after_load?.held_bytes(),
            Self::AfterSettle => sample.after_settle?.held_bytes(),
            Self::Faults => sample.minor_faults + sample.major_faults,
        };
        Some(number as f64)
    }

    /// Differences below this are nothing. A percent; the time that the loader needs for one more library; and the pages that
    /// the addresses of libraries and stacks, which are drawn by lot, move from one run to the next.
    pub fn floor(self) -> Floor {
        let amount = match self {
            Self::Wall | Self::Cpu => 2e6,
            Self::Faults => 64.0,
            _ => 256.0 * 1024.0,
        };
        Floor { share: 0.01, amount }
    }
}
