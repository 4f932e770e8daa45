//! `temporary-collection`: an iterator is collected into a vector that is gone soon: iterate over it instead.

use super::{Occurrence, Rule, without};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::RuleInput;
use crate::units::count;

pub(crate) struct TemporaryCollection;

impl Rule for TemporaryCollection {
    fn id(&self) -> &'static str {
        "temporary-collection"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            let (part, soon, evidence) = super::clone_of_owned::thrown_away(place, &[Purpose::Collect])?;
            Some(Occurrence {
                certainty: Certainty::Likely,
                title: format!("{} collects {} times into a vector that is soon dropped", place.label(), count(soon)),
                place: Some(place),
                sites: part.ids(),
                evidence,
                estimate: without(&part, part.allocations.saturating_sub(soon), part.reallocations),
                remedy: "Iterate directly where it is used once: `for item in items.iter().filter(…)` without `.collect()`. \
                    Where it is needed as a slice, keep one vector: `buffer.clear(); buffer.extend(…);`."
                    .into(),
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{COLLECT, Program, user};

    #[test]
    fn vectors_that_are_dropped_soon_are_reported_and_kept_ones_are_not() {
        let mut p = Program::default();
        let soon = p.stack(&user(COLLECT, "app::even|/u/src/a.rs|7"));
        let kept = p.stack(&user(COLLECT, "app::all|/u/src/a.rs|17"));
        for _ in 0..400 {
            p.alloc(kept, 80);
            let block = p.alloc(soon, 80);
            p.free(block);
        }
        let found = p.only("temporary-collection");
        assert_eq!(found.title, "even (a.rs:7) collects 400 times into a vector that is soon dropped");
    }
}
