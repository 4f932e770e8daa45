//! The table of experiments.

use crate::lab::debug_heap::DebugHeap;
use crate::lab::experiment::Experiment;

/// All that are known.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&DebugHeap];

/// The experiment of a name.
pub fn experiment(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<_> = EXPERIMENTS.iter().map(|e| e.name()).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        assert!(
            EXPERIMENTS.iter().all(|e| experiment(e.name()).is_some_and(|found| found.about() == e.about()))
        );
        assert!(experiment("nothing").is_none());
    }
}
