//! The results of a search's candidates on the program itself.

use crate::compare::{Comparison, Standing};
use heapwise_allocators::Candidate;
use std::ops::Deref;

/// A comparison, with its candidates in the form that the search uses.
#[derive(Clone, Debug)]
pub struct OnProgram {
    /// The first one is the baseline.
    pub comparison: Comparison,
    /// One for each of its standings, in their order.
    pub candidates: Vec<Candidate>,
    /// Candidates that could not take part.
    pub missing: Vec<Candidate>,
}

impl OnProgram {
    /// All but the baseline.
    pub fn others(&self) -> impl Iterator<Item = (&Candidate, &Standing)> {
        self.candidates.iter().zip(&self.comparison.standings).skip(1)
    }

    /// The result of a candidate, if it was compared with the baseline.
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
