//! What was measured, by variant, allocator and round.

use super::recorded::Recorded;
use super::{Change, Shown};
use crate::lab::worker::Answer;
use crate::statistics::Spread;
use std::collections::BTreeMap;

/// All answers that count.
pub(in crate::lab) struct Found {
    /// The names of the variants and of the allocators.
    pub(super) variants: Vec<&'static str>,
    pub(super) allocators: Vec<String>,
    pub(super) columns: &'static [Shown],
    pub(super) steps: &'static [Change],
    /// What heapwise says of each variant, if they were recorded.
    pub(super) recorded: BTreeMap<usize, Recorded>,
    /// By variant, allocator and round.
    pub(super) answers: BTreeMap<(usize, usize), BTreeMap<u32, Answer>>,
    pub(super) caveats: Vec<String>,
}

impl Found {
    /// A number of the runs of a variant under an allocator.
    pub(in crate::lab) fn spread(&self, variant: usize, who: usize, column: &Shown) -> Option<Spread> {
        let rounds = self.answers.get(&(variant, who))?.values();
        Spread::of(rounds.filter_map(column.of))
    }

    /// The same in proportion to another variant, in the same round.
    pub(super) fn factor(&self, variants: (usize, usize), who: usize, column: &Shown) -> Option<Spread> {
        let (base, other) = (self.answers.get(&(variants.0, who))?, self.answers.get(&(variants.1, who))?);
        Spread::of(base.iter().filter_map(|(round, base)| {
            let (base, other) = ((column.of)(base)?, (column.of)(other.get(round)?)?);
            (base > 0.0).then_some(other / base)
        }))
    }

    /// What a variant does to the heap, if it was recorded.
    pub(in crate::lab) fn recorded(&self, variant: usize) -> Option<&Recorded> {
        self.recorded.get(&variant)
    }

    /// What a variant needs of the first column under the first allocator, and how much less another one does, round by round.
    pub(super) fn saved(&self, before: usize, after: usize) -> Option<(f64, Spread)> {
        let column = self.columns.first()?;
        let (from, to) = (self.answers.get(&(before, 0))?, self.answers.get(&(after, 0))?);
        let pairs =
            from.iter().filter_map(|(round, from)| Some((column.of)(from)? - (column.of)(to.get(round)?)?));
        Some((self.spread(before, 0, column)?.median, Spread::of(pairs)?))
    }

    /// The median of a column by its name, of a variant, under the allocator of a name.
    pub(in crate::lab) fn median(&self, variant: usize, allocator: &str, column: &str) -> Option<f64> {
        let who = self.allocators.iter().position(|label| label == allocator)?;
        let column = self.columns.iter().find(|shown| shown.id == column)?;
        Some(self.spread(variant, who, column)?.median)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{ByAllocator, DEFAULTS, Unit, Variant};
    use super::*;
    use crate::lab::worker::{Heap, Memory, Moment};

    /// An experiment of two variants and one number.
    pub(in super::super) const EXPERIMENT: ByAllocator = ByAllocator {
        name: "made-up",
        with: "jemalloc",
        variants: &[variant("same thread"), variant("another")],
        columns: &[Shown::new("peak_bytes", "peak", Unit::Bytes, |answer| super::super::rss(answer, "full"))],
        against: &[(0, 1)],
        ..DEFAULTS
    };

    const fn variant(name: &'static str) -> Variant {
        Variant { name, about: "", workload: "threads", numbers: |sizes| vec![sizes.of(1000), sizes.wait_ms] }
    }

    /// Answers of three rounds with these bytes for variant, allocator and round.
    pub(in super::super) fn made_up(bytes: impl Fn(usize, usize, u32) -> u64) -> Found {
        let mut found = Found {
            variants: vec!["same thread", "another"],
            allocators: vec!["default".to_owned(), "jemalloc".to_owned()],
            columns: EXPERIMENT.columns,
            steps: EXPERIMENT.steps,
            recorded: BTreeMap::new(),
            answers: BTreeMap::new(),
            caveats: Vec::new(),
        };
        for (variant, who, round) in
            (0..2).flat_map(|v| (0..2).flat_map(move |w| (1..=3).map(move |r| (v, w, r))))
        {
            let memory = Memory { rss_bytes: bytes(variant, who, round), ..Memory::default() };
            let full =
                Moment { name: "full".into(), wall_ns: 1, cpu_ns: None, memory: Some(memory), own: None };
            let answer = Answer {
                protocol: 2,
                workload: "threads".into(),
                n: 1,
                checksum: 1,
                allocations: None,
                phases: Vec::new(),
                measured: BTreeMap::new(),
                moments: vec![full],
                heap: Heap::default(),
            };
            found.answers.entry((variant, who)).or_default().insert(round, answer);
        }
        found
    }

    #[test]
    fn numbers_are_medians_and_factors_are_those_of_the_same_round() {
        // The second variant needs twice as much, and more from round to round.
        let found =
            made_up(|variant, who, round| 100 * u64::from(round) * (1 + variant as u64) * (1 + who as u64));
        assert_eq!(found.median(0, "jemalloc", "peak_bytes"), Some(400.0));
        assert_eq!(found.median(1, "default", "peak_bytes"), Some(400.0));
        assert_eq!(
            (found.median(0, "mimalloc", "peak_bytes"), found.median(0, "default", "end")),
            (None, None)
        );
        let factor = found.factor((0, 1), 1, &EXPERIMENT.columns[0]);
        assert_eq!(factor, Some(Spread { median: 2.0, low: 2.0, high: 2.0 }));
    }
}
