//! What is compared: the amounts of a recording, and those of each call site.

use heapwise_analysis::{Analysis, Site};

/// An amount of which less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Blocks that were handed out.
    Allocations,
    Reallocations,
    /// Requested bytes of both.
    AllocatedBytes,
    /// Blocks that their thread freed before it allocated again.
    TemporaryAllocations,
    /// The most requested bytes that were live at one moment; of a site, its part of them at that moment.
    PeakLiveBytes,
    /// Requested bytes that were never freed.
    LiveAtExitBytes,
    /// Blocks that were never freed.
    LiveAtExitBlocks,
    /// The highest resident set. Sites have none.
    PeakRssBytes,
    /// How long it took, in nanoseconds. Sites have none.
    DurationNs,
}

impl Measure {
    /// Those that runs have.
    pub const ALL: [Self; 9] = [
        Self::Allocations,
        Self::Reallocations,
        Self::AllocatedBytes,
        Self::TemporaryAllocations,
        Self::PeakLiveBytes,
        Self::LiveAtExitBytes,
        Self::LiveAtExitBlocks,
        Self::PeakRssBytes,
        Self::DurationNs,
    ];
    /// Those that call sites have, too: the first of [`Measure::ALL`].
    pub const OF_SITES: [Self; N_OF_SITES] = [
        Self::Allocations,
        Self::Reallocations,
        Self::AllocatedBytes,
        Self::TemporaryAllocations,
        Self::PeakLiveBytes,
        Self::LiveAtExitBytes,
        Self::LiveAtExitBlocks,
    ];

    /// Its name in reports for machines and in thresholds.
    pub fn id(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Reallocations => "reallocations",
            Self::AllocatedBytes => "allocated_bytes",
            Self::TemporaryAllocations => "temporary_allocations",
            Self::PeakLiveBytes => "peak_live_bytes",
            Self::LiveAtExitBytes => "live_at_exit_bytes",
            Self::LiveAtExitBlocks => "live_at_exit_blocks",
            Self::PeakRssBytes => "peak_rss_bytes",
            Self::DurationNs => "duration_ns",
        }
    }

    /// Whether it is an amount of memory.
    pub fn is_bytes(self) -> bool {
        matches!(
            self,
            Self::AllocatedBytes | Self::PeakLiveBytes | Self::LiveAtExitBytes | Self::PeakRssBytes
        )
    }

    /// Whether it follows from the events. The others are measured while the program runs: two runs that do exactly
    /// the same differ in them by a fifth or more, depending on what else the machine does.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::PeakRssBytes | Self::DurationNs)
    }

    /// Differences below this part of the whole, in thousandths, are not worth a line: a moment's difference in how
    /// threads take turns is enough for them. What is live at one moment depends more on that than sums do.
    pub(crate) fn noise_per_mille(self) -> u128 {
        match self {
            Self::Allocations | Self::Reallocations | Self::AllocatedBytes | Self::TemporaryAllocations => 1,
            Self::PeakLiveBytes | Self::LiveAtExitBytes | Self::LiveAtExitBlocks => 10,
            Self::PeakRssBytes | Self::DurationNs => 100,
        }
    }

    /// The amount of a whole run.
    pub fn of_run(self, analysis: &Analysis) -> u64 {
        let totals = &analysis.totals;
        match self {
            Self::Allocations => totals.allocations,
            Self::Reallocations => totals.reallocations,
            Self::AllocatedBytes => totals.allocated_bytes.0,
            Self::TemporaryAllocations => totals.temporary_allocations,
            Self::PeakLiveBytes => totals.peak_live_bytes.0,
            Self::LiveAtExitBytes => totals.live_at_exit_bytes.0,
            Self::LiveAtExitBlocks => totals.live_at_exit_blocks,
            Self::PeakRssBytes => analysis.memory.peak_rss.0,
            Self::DurationNs => analysis.duration.0,
        }
    }

    fn of_site(self, site: &Site) -> u64 {
        match self {
            Self::Allocations => site.allocations,
            Self::Reallocations => site.reallocations,
            Self::AllocatedBytes => site.allocated_bytes.0,
            Self::TemporaryAllocations => site.temporary_allocations,
            Self::PeakLiveBytes => site.peak_bytes.0,
            Self::LiveAtExitBytes => site.live_at_exit_bytes.0,
            Self::LiveAtExitBlocks => site.live_at_exit_blocks,
            Self::PeakRssBytes | Self::DurationNs => 0,
        }
    }
}

const N_OF_SITES: usize = 7;

/// The amounts of a call site, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts([u64; N_OF_SITES]);

impl Amounts {
    /// Those of one site.
    pub(crate) fn of(site: &Site) -> Self {
        Self(Measure::OF_SITES.map(|measure| measure.of_site(site)))
    }

    /// Those of a whole run.
    pub(crate) fn of_run(analysis: &Analysis) -> Self {
        Self(Measure::OF_SITES.map(|measure| measure.of_run(analysis)))
    }

    /// One of them; 0 for what sites do not have.
    pub fn get(&self, measure: Measure) -> u64 {
        self.0.get(measure as usize).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            // A damaged recording may hold any number.
            *sum = sum.wrapping_add(more);
        }
    }
}

/// One amount before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub measure: Measure,
    /// In the older recording.
    pub old: u64,
    /// In the newer one.
    pub new: u64,
}

impl Change {
    /// Whether an amount of this measure says that it was not measured: no process has no resident memory.
    pub fn is_unmeasured(&self, amount: u64) -> bool {
        self.measure == Measure::PeakRssBytes && amount == 0
    }

    /// How much more it is now.
    pub fn amount(&self) -> i128 {
        i128::from(self.new) - i128::from(self.old)
    }

    /// The same in parts of what it was; none if it was nothing.
    pub fn share(&self) -> Option<f64> {
        (self.old > 0).then(|| self.amount() as f64 / self.old as f64)
    }

    /// Whether it is more than noise, as a part of a whole.
    pub fn is_notable(&self, whole: u64) -> bool {
        let difference = self.amount().unsigned_abs();
        difference > 0 && difference * 1000 >= u128::from(whole) * self.measure.noise_per_mille()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_of_sites_are_the_first_of_all() {
        assert_eq!(Measure::ALL[..N_OF_SITES], Measure::OF_SITES);
        for (i, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, i, "{measure:?}");
        }
    }

    #[test]
    fn small_parts_of_the_whole_are_noise() {
        let change = |measure, old, new| Change { measure, old, new };
        assert!(!change(Measure::Allocations, 5, 5).is_notable(0));
        assert!(change(Measure::Allocations, 5, 6).is_notable(1000));
        assert!(!change(Measure::Allocations, 6, 5).is_notable(1001));
        assert!(!change(Measure::PeakLiveBytes, 100, 109).is_notable(1000));
        assert!(change(Measure::PeakLiveBytes, 109, 99).is_notable(1000));
        assert!(change(Measure::AllocatedBytes, u64::MAX, 0).is_notable(u64::MAX));
    }

    #[test]
    fn changes_are_told_relative_to_what_was() {
        let change = Change { measure: Measure::Allocations, old: 200, new: 150 };
        assert_eq!((change.amount(), change.share()), (-50, Some(-0.25)));
        let change = Change { measure: Measure::Allocations, old: 0, new: u64::MAX };
        assert_eq!((change.amount(), change.share()), (i128::from(u64::MAX), None));
    }
}
