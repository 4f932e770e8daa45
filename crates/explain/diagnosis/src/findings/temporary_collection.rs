//! `temporary-collection`: an iterator is collected into a vector or string that is gone soon: iterate over it instead.

use super::{Occurrence, Rule, without};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Place, RuleInput};
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
        input
            .places
            .iter()
            .flat_map(|place| {
                [(Purpose::Collect, "vector", VECTOR), (Purpose::CollectText, "string", STRING)]
                    .into_iter()
                    .filter_map(move |(what, thing, remedy)| find(place, what, thing, remedy))
            })
            .collect()
    }
}

const VECTOR: &str = "Iterate directly where it is used once: `for item in items.iter().filter(…)` without `.collect()`. \
    Where it is needed as a slice, keep one vector: `buffer.clear(); buffer.extend(…);`.";
const STRING: &str = "Keep one string outside of the loop: `text.clear(); text.extend(parts);` in place of `parts.collect::<String>()`. \
    What is only written or compared needs no string: write or compare part by part.";

fn find<'a>(
    place: &'a Place<'a>,
    what: Purpose,
    thing: &str,
    remedy: &'static str,
) -> Option<Occurrence<'a>> {
    let (part, soon, evidence) = super::clone_of_owned::thrown_away(place, &[what])?;
    let title =
        format!("{} collects {} times into a {thing} that is soon dropped", place.label(), count(soon));
    Some(Occurrence {
        certainty: Certainty::Likely,
        title,
        place: Some(place),
        sites: part.ids(),
        evidence,
        estimate: without(&part, part.allocations.saturating_sub(soon), part.reallocations),
        remedy: remedy.into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{COLLECT, COLLECT_TEXT, Program, user};

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
    #[test]
    fn a_string_is_not_called_a_vector() {
        let mut p = Program::default();
        let soon = p.stack(&user(COLLECT_TEXT, "app::backwards|/u/src/a.rs|7"));
        for _ in 0..400 {
            let block = p.alloc(soon, 80);
            p.free(block);
        }
        let found = p.only("temporary-collection");
        assert_eq!(found.title, "backwards (a.rs:7) collects 400 times into a string that is soon dropped");
        assert!(found.remedy.contains("text.extend(parts)"), "{}", found.remedy);
    }
}
