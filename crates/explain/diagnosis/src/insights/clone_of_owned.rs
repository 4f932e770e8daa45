//! `clone-of-owned`: copies that are thrown away soon after they were made, where a borrow would do.
//!
//! Seen are copies of which most were freed before their thread allocated again, or of which only a few were ever
//! live at one time. They were not kept, so they were only read.

use super::{Finding, Rule, without};
use crate::insight::Certainty;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, Place, RuleInput};
use crate::units::{bytes, count, share};

pub(crate) struct CloneOfOwned;

/// Copies that were thrown away at once, or nearly so: of how many.
pub(super) fn thrown_away(part: &Part<'_>) -> Option<u64> {
    let soon = if part.is_sequential() { part.allocations } else { part.temporary };
    (part.allocations >= 100 && soon * 2 >= part.allocations).then_some(soon)
}

impl Rule for CloneOfOwned {
    fn id(&self) -> &'static str {
        "clone-of-owned"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        let places = input.places.iter().filter(|place| !super::clone_per_lookup::is_lookup(place));
        places
            .filter_map(|place| find(place, Purpose::Copy).or_else(|| find(place, Purpose::Format)))
            .collect()
    }
}

fn find<'a>(place: &'a Place<'a>, what: Purpose) -> Option<Finding<'a>> {
    let part = place.part(&[what])?;
    let soon = thrown_away(&part)?;
    let callee = if part.callee.is_empty() { "copying" } else { part.callee };
    let size = bytes(part.average());
    Some(Finding {
        certainty: if what == Purpose::Copy { Certainty::Likely } else { Certainty::Hint },
        title: format!(
            "{} makes {} copies that are soon thrown away",
            place.label(),
            count(part.allocations)
        ),
        place: Some(place),
        sites: part.ids(),
        evidence: vec![
            format!("`{callee}` allocated {} blocks here, of {size} on average", count(part.allocations)),
            if part.temporary * 2 >= part.allocations {
                format!(
                    "{} of them were freed before anything else was allocated",
                    share(part.temporary, part.allocations)
                )
            } else {
                format!("at most {} of them were live at one time", count(part.most_blocks))
            },
        ],
        estimate: without(&part, part.requests() - soon.min(part.requests())),
        remedy: remedy(place.language, what, callee),
    })
}

fn remedy(language: Language, what: Purpose, callee: &str) -> String {
    match (language, what) {
        (Language::Rust, Purpose::Format) => "Write into one `String` that is kept and cleared: \
            `text.clear(); write!(text, \"{value}\")?;`, or pass `format_args!(…)` on."
            .into(),
        (Language::Rust, _) => format!(
            "Borrow instead: `let value = &original;` in place of `.{callee}()`, with `&str`, `&[T]` or `&T` as the \
             type of what takes it. Clone only in the branch that keeps the value."
        ),
        (Language::C, _) => {
            "Use the original through a `const char *`, or copy into one buffer that is kept: \
            `snprintf(buffer, sizeof buffer, …);`."
                .into()
        }
        (Language::Cxx, _) => {
            "Take the value as `const std::string &` or `std::string_view`, and bind it with `const auto &`."
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{CLONE, Program, user};

    #[test]
    fn copies_that_are_thrown_away_are_reported_and_those_that_are_kept_are_not() {
        let mut p = Program::default();
        let (look, keep) = (
            p.stack(&user(CLONE, "app::look|/u/src/a.rs|7")),
            p.stack(&user(CLONE, "app::keep|/u/src/a.rs|9")),
        );
        for _ in 0..1000 {
            p.alloc(keep, 30);
            let block = p.alloc(look, 20);
            p.free(block);
        }
        let found = p.only("clone-of-owned");
        assert_eq!(found.title, "look (a.rs:7) makes 1,000 copies that are soon thrown away");
        assert_eq!((found.estimate.allocations, found.estimate.allocated_bytes.0), (1000, 20_000));
        assert!(found.remedy.contains("`.clone()`"), "{}", found.remedy);
    }

    #[test]
    fn copies_of_c_have_a_remedy_of_c() {
        let mut p = Program::default();
        let dup = p.stack(&["strdup||", "look|/u/src/a.c|7"]);
        (0..500).for_each(|_| {
            let block = p.alloc(dup, 20);
            p.free(block);
        });
        assert!(p.only("clone-of-owned").remedy.contains("const char *"));
    }
}
