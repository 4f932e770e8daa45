//! What is compared: the amounts of a recording, and those of each call site.

use heapwise_analysis::{Analysis, Measure, Numbers, Site};

/// What runs are compared by, in the order of the report.
pub(super) const OF_RUNS: [Measure; 9] = compared(&Measure::ALL);
/// Those that call sites have, too.
pub const OF_SITES: [Measure; N_OF_SITES] = compared(&Measure::OF_SITES);
const N_OF_SITES: usize = 7;

/// All but the blocks at the peak: bytes say more of it.
const fn compared<const N: usize>(all: &[Measure]) -> [Measure; N] {
    let mut kept = [all[0]; N];
    let (mut at, mut n) = (0, 0);
    while at < all.len() {
        if !matches!(all[at], Measure::PeakBlocks) {
            kept[n] = all[at];
            n += 1;
        }
        at += 1;
    }
    assert!(n == N, "there are as many");
    kept
}

/// Whether it follows from the events. The others are measured while the program runs: two runs that do exactly
/// the same differ in them by a fifth or more, depending on what else the machine does.
pub(super) fn is_counted(measure: Measure) -> bool {
    !matches!(measure, Measure::PeakRssBytes | Measure::DurationNs)
}

/// Differences below this part of the whole, in thousandths, are not worth a line: a moment's difference in how
/// threads take turns is enough for them. What is live at one moment depends more on that than sums do.
fn noise_per_mille(measure: Measure) -> u128 {
    match measure {
        Measure::Allocations
        | Measure::Reallocations
        | Measure::AllocatedBytes
        | Measure::TemporaryAllocations => 1,
        Measure::PeakBytes | Measure::PeakBlocks | Measure::LiveAtExitBytes | Measure::LiveAtExitBlocks => 10,
        Measure::PeakRssBytes | Measure::DurationNs => 100,
    }
}

/// The amounts of a call site, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts([u64; N_OF_SITES]);

impl Amounts {
    /// Those of one site.
    pub(crate) fn of(site: &Site) -> Self {
        let numbers = Numbers::from(site);
        Self(OF_SITES.map(|measure| measure.of(&numbers)))
    }

    /// Those of a whole run.
    pub(crate) fn of_run(analysis: &Analysis) -> Self {
        Self(OF_SITES.map(|measure| measure.of_run(analysis)))
    }

    /// One of them; 0 for what sites do not have.
    pub fn get(&self, measure: Measure) -> u64 {
        let at = OF_SITES.iter().position(|one| *one == measure);
        at.map_or(0, |at| self.0[at])
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
        difference > 0 && difference * 1000 >= u128::from(whole) * noise_per_mille(self.measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_their_measures() {
        let amounts = Amounts([1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(OF_SITES.map(|measure| amounts.get(measure)), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!([Measure::PeakBlocks, Measure::DurationNs].map(|measure| amounts.get(measure)), [0, 0]);
        assert_eq!(OF_RUNS[..N_OF_SITES], OF_SITES);
    }

    #[test]
    fn small_parts_of_the_whole_are_noise() {
        let change = |measure, old, new| Change { measure, old, new };
        assert!(!change(Measure::Allocations, 5, 5).is_notable(0));
        assert!(change(Measure::Allocations, 5, 6).is_notable(1000));
        assert!(!change(Measure::Allocations, 6, 5).is_notable(1001));
        assert!(!change(Measure::PeakBytes, 100, 109).is_notable(1000));
        assert!(change(Measure::PeakBytes, 109, 99).is_notable(1000));
        assert!(change(Measure::AllocatedBytes, u64::MAX, 0).is_notable(u64::MAX));
    }

    #[test]
    fn changes_are_reported_relative_to_what_was() {
        let change = Change { measure: Measure::Allocations, old: 200, new: 150 };
        assert_eq!((change.amount(), change.share()), (-50, Some(-0.25)));
        let change = Change { measure: Measure::Allocations, old: 0, new: u64::MAX };
        assert_eq!((change.amount(), change.share()), (i128::from(u64::MAX), None));
    }
}
