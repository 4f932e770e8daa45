//! `clone-per-lookup`: an owned key is built for each access of a map, although the map has it most of the time.
//!
//! Seen is a line that makes copies of which many are freed at once, and that also makes a map or tree grow. So the
//! copy is the key: kept where it was new, dropped where it was there.

use super::{Occurrence, Rule, without_copies};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, Place, RuleInput};
use crate::units::{bytes, count};

pub(crate) struct ClonePerLookup;

/// Whether the line copies keys for a map and throws most of them away.
pub(super) fn is_lookup(place: &Place<'_>) -> bool {
    keys(place).is_some()
}

/// The copies, and how many were freed at once. Copies that outlive another allocation are for something else than to ask the
/// map: with many of them, not only the key is copied.
fn keys<'a>(place: &'a Place<'a>) -> Option<(Part<'a>, u64)> {
    if !place.has(Purpose::MapGrow) && !place.has(Purpose::Node) {
        return None;
    }
    let part = place.part(&[Purpose::Copy, Purpose::Format])?;
    let soon = part.temporary;
    let others = part.short_lived.saturating_sub(soon);
    (soon >= 100 && others * 4 < soon).then_some((part, soon))
}

impl Rule for ClonePerLookup {
    fn id(&self) -> &'static str {
        "clone-per-lookup"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        input.places.iter().filter_map(find).collect()
    }
}

fn find<'a>(place: &'a Place<'a>) -> Option<Occurrence<'a>> {
    let (part, soon) = keys(place)?;
    let all = part.allocations;
    Some(Occurrence {
        certainty: Certainty::Likely,
        title: format!("{} builds an owned key for each of {} map accesses", place.label(), count(all)),
        place: Some(place),
        sites: part.ids(),
        evidence: vec![
            format!(
                "`{}` allocated {} blocks here, of {} on average",
                part.callee,
                count(all),
                bytes(part.average())
            ),
            format!("{} were freed at once: the map had the key already", count(soon)),
            "the same line makes a map grow".into(),
        ],
        estimate: without_copies(&part, soon),
        remedy: match place.language {
            Language::Rust => "Look up with a borrowed key, and build an owned one only for a new entry: \
                `match map.get_mut(key) { Some(value) => …, None => { map.insert(key.to_owned(), …); } }`."
                .into(),
            Language::C => "Look up with the key that is there, and copy it only when it is inserted.".into(),
            Language::Cxx => {
                "Let the map compare without a copy: `std::map<std::string, T, std::less<>>`, then \
                `map.find(std::string_view(key))`, and `emplace` only what is new."
                    .into()
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{CLONE, MAP_INSERT, Program, user};

    #[test]
    fn keys_that_the_map_had_are_reported_once_and_new_ones_not() {
        let mut p = Program::default();
        let line = "app::count|/u/src/a.rs|7";
        let (key, table) = (p.stack(&user(CLONE, line)), p.stack(&user(MAP_INSERT, line)));
        let fresh = p.stack(&user(CLONE, "app::fill|/u/src/a.rs|20"));
        let other = p.stack(&user(MAP_INSERT, "app::fill|/u/src/a.rs|20"));
        p.alloc(table, 800);
        p.alloc(other, 800);
        for i in 0..1000 {
            let block = p.alloc(key, 20);
            if i % 10 > 0 {
                p.free(block);
            }
            p.alloc(fresh, 20);
        }
        let found = p.only("clone-per-lookup");
        assert_eq!(found.title, "count (a.rs:7) builds an owned key for each of 1,000 map accesses");
        assert_eq!(found.estimate.allocations, 900);
        assert_eq!(p.found("clone-of-owned"), [], "the line has one finding");
    }
}
