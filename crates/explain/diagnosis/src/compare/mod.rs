//! What changed between two recordings of a program.
//!
//! Call sites are the same if their stacks have the same *names*: functions without hashes and modules without versions.
//! Addresses differ in every run and lines with every edit, so neither takes part. A *place*, the function of the user's
//! nearest frame, puts the sites together that one edit changes.
//!
//! One key decision: the difference is exact, and what is small is filtered when it is shown. Two runs of a
//! deterministic program have no differing site at all; differences due to the scheduling of threads are kept for
//! machines, and [`Comparison::is_notable`] says what is worth a line.
//!
//! ```text
//! analysis ─ side: sites by name, places ┐
//!                                        ├─ pairs ─ sites, places, totals
//! analysis ─ side ───────────────────────┘             └─ threshold: exceeded?
//! ```

mod caveat;
mod key;
mod measure;
mod pairs;
mod side;
mod symbol;
mod threshold;

pub use caveat::{Caveat, Which};
pub use heapwise_analysis::Measure;
pub use measure::{Amounts, Change, OF_SITES};
pub use symbol::{
    full as lasting_function, is_program, module as lasting_module, program as lasting_program,
};
pub use threshold::{BadThreshold, Exceeded, Limit, Threshold};

use heapwise_analysis::{Analysis, SiteId};
use key::Symbols;
use measure::{OF_RUNS, is_counted};
use pairs::Pair;
use side::Side;
use std::cmp::Reverse;

/// In which of the recordings something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In both.
    Changed,
    /// Only in the newer one.
    New,
    /// Only in the older one.
    Gone,
}

impl Status {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

/// A call site or a place, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In which of the recordings it is.
    pub status: Status,
    /// The site of the older recording with most bytes in it.
    pub old_site: Option<SiteId>,
    /// The site of the newer recording with most bytes in it.
    pub new_site: Option<SiteId>,
    /// Its amounts in the older recording.
    pub old: Amounts,
    /// Its amounts in the newer one.
    pub new: Amounts,
}

impl Difference {
    fn new(old: Option<(SiteId, Amounts)>, new: Option<(SiteId, Amounts)>) -> Self {
        let status = match (old, new) {
            (None, _) => Status::New,
            (_, None) => Status::Gone,
            _ => Status::Changed,
        };
        let amounts = |side: Option<(SiteId, Amounts)>| side.map(|s| s.1).unwrap_or_default();
        Self {
            status,
            old_site: old.map(|s| s.0),
            new_site: new.map(|s| s.0),
            old: amounts(old),
            new: amounts(new),
        }
    }

    /// One of its amounts.
    pub fn change(&self, measure: Measure) -> Change {
        Change { measure, old: self.old.get(measure), new: self.new.get(measure) }
    }
}

/// A place in the user's code, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceDifference {
    /// What differs, summed over its sites.
    pub sum: Difference,
    /// Its sites among [`Comparison::sites`].
    pub sites: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Comparison {
    /// All amounts of the runs, whether they differ or not.
    pub totals: Vec<Change>,
    /// Call sites that differ in anything, those first that differ most as a part of the whole.
    pub sites: Vec<Difference>,
    /// Places that differ in anything, in the same order.
    pub places: Vec<PlaceDifference>,
    /// Call sites that are the same in both.
    pub n_same_sites: usize,
    /// Whether the live peak differs for no other reason than how threads and processes took turns.
    pub peak_varies: bool,
    /// The most threads that one of them had, if it had several.
    n_threads: u64,
    /// What makes this incomplete or inexact.
    pub caveats: Vec<Caveat>,
}

pub fn compare(old: &Analysis, new: &Analysis) -> Comparison {
    let mut symbols = Symbols::new(old, new);
    let (old_side, new_side) = (Side::new(old, &mut symbols), Side::new(new, &mut symbols));
    let site_pairs = pairs::of_sites(&old_side, &new_side, &symbols);
    let place_pairs = pairs::of_places(&old_side, &new_side, &site_pairs, &symbols);
    let whole = Whole::new(old, new);

    let mut sites: Vec<(Difference, &Pair)> = site_pairs
        .iter()
        .map(|pair| {
            let of = |side: &Side, at: &[usize]| {
                sum(at.iter().map(|&i| &side.groups[i]).map(|g| (g.site, g.amounts)))
            };
            (Difference::new(of(&old_side, &pair.old), of(&new_side, &pair.new)), pair)
        })
        .filter(|(site, _)| site.old != site.new)
        .collect();
    sites.sort_by_key(|(site, _)| Reverse(whole.weight(site)));

    let mut sites_of = [vec![Vec::new(); old_side.places.len()], vec![Vec::new(); new_side.places.len()]];
    for (i, (_, pair)) in sites.iter().enumerate() {
        pair.old.iter().for_each(|&group| sites_of[0][old_side.groups[group].place].push(i));
        pair.new.iter().for_each(|&group| sites_of[1][new_side.groups[group].place].push(i));
    }
    let mut places: Vec<PlaceDifference> = place_pairs
        .iter()
        .map(|pair| {
            let of = |side: &Side, at: &[usize]| {
                sum(at.iter().map(|&i| &side.places[i]).map(|p| (p.site, p.amounts)))
            };
            let of_old = pair.old.iter().flat_map(|&i| &sites_of[0][i]);
            let of_new = pair.new.iter().flat_map(|&i| &sites_of[1][i]);
            let mut sites: Vec<usize> = of_old.chain(of_new).copied().collect();
            sites.sort_unstable();
            sites.dedup();
            let sum = Difference::new(of(&old_side, &pair.old), of(&new_side, &pair.new));
            PlaceDifference { sum, sites }
        })
        .filter(|place| place.sum.old != place.sum.new)
        .collect();
    places.sort_by_key(|place| Reverse(whole.weight(&place.sum)));

    Comparison {
        totals: OF_RUNS
            .map(|measure| Change { measure, old: measure.of_run(old), new: measure.of_run(new) })
            .into(),
        n_same_sites: site_pairs.len() - sites.len(),
        sites: sites.into_iter().map(|(site, _)| site).collect(),
        places,
        peak_varies: peak_varies(old, new),
        n_threads: old.threads.len().max(new.threads.len()) as u64,
        caveats: caveat::all(old, new),
    }
}

/// Whether a differing live peak is due to how threads took turns: each thread's own peak is where it was, and only the
/// moments at which they meet are others.
fn peak_varies(old: &Analysis, new: &Analysis) -> bool {
    let change =
        |of: fn(&Analysis) -> u64| Change { measure: Measure::PeakBytes, old: of(old), new: of(new) };
    let peak = change(|analysis| Measure::PeakBytes.of_run(analysis));
    // A damaged recording may hold any number.
    let alone = change(|a| a.threads.iter().fold(0, |sum, t| sum.saturating_add(t.totals.peak_live_bytes.0)));
    let is_of_threads =
        alone.is_notable(alone.old.max(alone.new)) && (alone.amount() < 0) == (peak.amount() < 0);
    peak.amount() != 0 && !is_of_threads
}

/// The sum of several, with the first site of all.
fn sum(all: impl Iterator<Item = (SiteId, Amounts)>) -> Option<(SiteId, Amounts)> {
    all.reduce(|mut sum, (site, more)| {
        sum.1.add(&more);
        (sum.0.min(site), sum.1)
    })
}

impl Comparison {
    /// What a change of a place or a site is a part of: the larger one of the runs' totals.
    pub fn whole(&self, measure: Measure) -> u64 {
        let of_run = self.totals.iter().find(|change| change.measure == measure);
        of_run.map_or(0, |change| change.old.max(change.new))
    }

    /// Whether a measure may differ between two runs that do the same.
    pub fn varies(&self, measure: Measure) -> bool {
        !is_counted(measure) || (measure == Measure::PeakBytes && self.peak_varies)
    }

    /// Whether a change, of a place or of the whole, is more than noise.
    pub fn is_notable(&self, change: &Change) -> bool {
        let is_large = change.amount().unsigned_abs() > u128::from(self.bookkeeping(change.measure));
        is_large && !self.varies(change.measure) && change.is_notable(self.whole(change.measure))
    }

    /// What the C library allocates for threads, or not: one that ended in time leaves a block to the next one, which
    /// has 272 bytes and what the modules' thread-local variables add.
    fn bookkeeping(&self, measure: Measure) -> u64 {
        match self.n_threads {
            0 | 1 => 0,
            n if measure.is_bytes() => n * 512,
            n => n,
        }
    }

    /// Whether nothing differs that follows from the events: neither a total nor any call site.
    pub fn is_same(&self) -> bool {
        let is_same = |change: &Change| !is_counted(change.measure) || change.old == change.new;
        self.sites.is_empty() && self.totals.iter().all(is_same)
    }

    /// Whether what differs is no more than noise.
    pub fn is_noise(&self) -> bool {
        !self.totals.iter().any(|change| self.is_notable(change))
            && !self.places.iter().any(|p| self.matters(&p.sum))
    }

    /// Whether anything of a place or a site differs by more than noise.
    pub fn matters(&self, difference: &Difference) -> bool {
        OF_SITES.iter().any(|&measure| self.is_notable(&difference.change(measure)))
    }
}

/// The totals that differences are parts of.
struct Whole(Amounts, Amounts);

impl Whole {
    fn new(old: &Analysis, new: &Analysis) -> Self {
        Self(Amounts::of_run(old), Amounts::of_run(new))
    }

    /// How much a difference matters: the largest part of a whole that it is, in millionths.
    fn weight(&self, difference: &Difference) -> u128 {
        let weights = OF_SITES.iter().map(|&measure| {
            let whole = self.0.get(measure).max(self.1.get(measure)).max(1);
            difference.change(measure).amount().unsigned_abs() * 1_000_000 / u128::from(whole)
        });
        weights.max().unwrap_or(0)
    }
}
