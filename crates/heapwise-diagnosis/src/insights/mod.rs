//! The shelf of insights: one file each, and one table that lists them.

use crate::insight::Insight;
use heapwise_analysis::Analysis;

/// Something that can be wrong with a program's use of the heap.
pub(crate) trait Rule: Sync {
    /// Finds it, as often as it is there.
    fn find(&self, analysis: &Analysis) -> Vec<Insight>;
}

/// All that are known.
const RULES: &[&dyn Rule] = &[];

/// Everything that was found, the most rewarding first.
pub(crate) fn all(analysis: &Analysis) -> Vec<Insight> {
    let mut found: Vec<Insight> = RULES.iter().flat_map(|rule| rule.find(analysis)).collect();
    found.sort_by_key(|insight| {
        std::cmp::Reverse((insight.severity, insight.estimate.time, insight.certainty))
    });
    found
}
