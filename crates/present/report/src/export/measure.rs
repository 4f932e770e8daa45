//! The numbers of a call site that an export can be about.

use heapwise_analysis::Numbers;

/// One number of a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Blocks that were handed out.
    Allocations,
    /// Resizes that were asked for.
    Reallocations,
    /// Requested bytes of both.
    #[default]
    Bytes,
    /// Bytes that were live at the overall peak.
    Peak,
    /// Blocks that were live at the overall peak.
    PeakBlocks,
    /// Bytes that were live at the exit.
    Exit,
    /// Blocks that were live at the exit.
    ExitBlocks,
    /// Blocks that their thread gave back before it allocated again.
    Temporary,
}

impl Measure {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Allocations,
        Self::Reallocations,
        Self::Bytes,
        Self::Peak,
        Self::PeakBlocks,
        Self::Exit,
        Self::ExitBlocks,
        Self::Temporary,
    ];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Reallocations => "reallocations",
            Self::Bytes => "bytes",
            Self::Peak => "peak",
            Self::PeakBlocks => "peak-blocks",
            Self::Exit => "exit",
            Self::ExitBlocks => "exit-blocks",
            Self::Temporary => "temporary",
        }
    }

    /// What it is, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Allocations => "blocks that were handed out",
            Self::Reallocations => "resizes of blocks",
            Self::Bytes => "requested bytes of allocations and resizes",
            Self::Peak => "bytes that were live when the live bytes were at their peak",
            Self::PeakBlocks => "blocks that were live at that moment",
            Self::Exit => "bytes that were live at the exit",
            Self::ExitBlocks => "blocks that were live at the exit",
            Self::Temporary => "blocks that were freed before their thread allocated again",
        }
    }

    /// The measure of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|measure| measure.name() == name)
    }

    /// The number itself.
    pub(crate) fn of(self, numbers: &Numbers) -> u64 {
        match self {
            Self::Allocations => numbers.allocations,
            Self::Reallocations => numbers.reallocations,
            Self::Bytes => numbers.allocated_bytes,
            Self::Peak => numbers.peak_bytes,
            Self::PeakBlocks => numbers.peak_blocks,
            Self::Exit => numbers.live_at_exit_bytes,
            Self::ExitBlocks => numbers.live_at_exit_blocks,
            Self::Temporary => numbers.temporary_allocations,
        }
    }
}

/// A moment of the run at which the live blocks are known per call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// When the live bytes of all processes together were highest.
    #[default]
    Peak,
    /// When each process ended.
    Exit,
}

impl Moment {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Peak, Self::Exit];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Exit => "exit",
        }
    }

    /// What it is, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Peak => "when the live bytes of all processes together were highest",
            Self::Exit => "when each process ended",
        }
    }

    /// The moment of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|moment| moment.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        assert!(Measure::ALL.iter().all(|m| Measure::of_name(m.name()) == Some(*m)));
        assert!(Moment::ALL.iter().all(|m| Moment::of_name(m.name()) == Some(*m)));
        assert_eq!(Measure::of_name("rss"), None);
    }
}
