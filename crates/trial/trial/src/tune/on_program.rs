//! What the program itself said of the candidates of a search.

use crate::compare::{Comparison, Standing};
use heapwise_allocators::Candidate;
use std::ops::Deref;

/// A comparison, and its candidates as the search knows them.
#[derive(Clone, Debug)]
pub struct OnProgram {
    /// The first one is the baseline.
    pub comparison: Comparison,
    /// One for each of its standings, in their order.
    pub candidates: Vec<Candidate>,
    /// Who could not take part.
    pub missing: Vec<Candidate>,
}

impl OnProgram {
    /// All but the baseline.
    pub fn others(&self) -> impl Iterator<Item = (&Candidate, &Standing)> {
        self.candidates.iter().zip(&self.comparison.standings).skip(1)
    }

    /// What came of a candidate, if it took part beside the baseline.
    pub fn standing(&self, candidate: &Candidate) -> Option<&Standing> {
        self.others().find(|(other, _)| *other == candidate).map(|(_, standing)| standing)
    }
}

impl Deref for OnProgram {
    type Target = Comparison;

    fn deref(&self) -> &Comparison {
        &self.comparison
    }
}
