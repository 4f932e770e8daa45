//! Blocks that one thread was handed and another one freed.
//!
//! Counted per pair of threads, for the whole recording and for each call site. Both tables are bounded: a program may
//! start any number of threads. What does not fit is counted as a rest.

use rustc_hash::FxHashMap;

/// Most pairs of threads that are distinguished in the whole recording.
const MOST_PAIRS: usize = 4096;
/// Most pairs of threads that are distinguished at one site.
const MOST_PAIRS_OF_A_SITE: usize = 4;

/// A pair of threads, by their slots: the one that was handed the blocks, and the one that freed them.
pub(crate) type Pair = (u32, u32);

/// Of the whole recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handovers {
    pub(crate) pairs: FxHashMap<Pair, (u64, u64)>,
    /// Blocks of pairs that did not fit.
    pub(crate) rest: u64,
}

impl Handovers {
    pub(crate) fn add(&mut self, pair: Pair, n: u64, size: u64) {
        let full = self.pairs.len() >= MOST_PAIRS;
        match self.pairs.get_mut(&pair) {
            Some((blocks, bytes)) => {
                *blocks += n;
                *bytes = bytes.wrapping_add(size);
            }
            None if full => self.rest += n,
            None => {
                self.pairs.insert(pair, (n, size));
            }
        }
    }
}

/// Of one call site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteHandovers {
    pub(crate) pairs: Vec<(Pair, u64)>,
}

impl SiteHandovers {
    pub(crate) fn add(&mut self, pair: Pair, n: u64) {
        let full = self.pairs.len() >= MOST_PAIRS_OF_A_SITE;
        match self.pairs.iter_mut().find(|p| p.0 == pair) {
            Some((_, blocks)) => *blocks += n,
            None if !full => self.pairs.push((pair, n)),
            // The site's own count of blocks that other threads freed has it.
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_bounded_and_nothing_is_lost() {
        let (mut all, mut site) = (Handovers::default(), SiteHandovers::default());
        for i in 0..10_000 {
            all.add((i, 0), 1, 8);
            all.add((0, 1), 1, 8);
            site.add((i % 6, 9), 1);
        }
        let counted: u64 = all.pairs.values().map(|p| p.0).sum();
        assert_eq!((all.pairs.len(), counted + all.rest), (MOST_PAIRS, 20_000));
        assert_eq!(all.pairs[&(0, 1)], (10_000, 80_000));
        assert_eq!(site.pairs.len(), MOST_PAIRS_OF_A_SITE);
    }
}
