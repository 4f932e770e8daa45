//! `temporary-collection`: an iterator is collected into a vector that is gone soon: iterate over it instead.

use super::{Finding, Rule, without};
use crate::case::Case;
use crate::insight::Certainty;
use crate::units::{bytes, count, share};
use crate::what::What;

pub(crate) struct TemporaryCollection;

impl Rule for TemporaryCollection {
    fn id(&self) -> &'static str {
        "temporary-collection"
    }

    fn find<'a>(&self, case: &'a Case<'a>) -> Vec<Finding<'a>> {
        let places = case.places.iter().filter_map(|place| {
            let part = place.part(&[What::Collect])?;
            let soon = super::clone_of_owned::thrown_away(&part)?;
            Some(Finding {
                certainty: Certainty::Likely,
                title: format!("{} collects {} times into a vector that is soon dropped", place.label(), count(part.allocations)),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!("{} vectors, of {} on average", count(part.allocations), bytes(part.average())),
                    format!(
                        "{} of them were given back before anything else was allocated, and at most {} were live at one time",
                        share(part.temporary, part.allocations),
                        count(part.most_blocks)
                    ),
                ],
                estimate: without(&part, part.requests() - soon.min(part.requests())),
                remedy: "Iterate directly where it is used once: `for item in items.iter().filter(…)` without `.collect()`. \
                    Where it is needed as a slice, keep one vector: `buffer.clear(); buffer.extend(…);`."
                    .into(),
            })
        });
        places.collect()
    }
}
