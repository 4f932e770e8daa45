//! `clone-of-owned`: copies that are thrown away soon after they were made, where a borrow would do.
//!
//! Seen are copies of which most were freed before their thread allocated again, or of which only a few were ever
//! live at one time. They were not kept, so they were only read.

use super::{Finding, Rule, without};
use crate::foreign::InForeignCode;
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

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        let places = input.places.iter().filter(|place| !super::clone_per_lookup::is_lookup(place));
        places
            .filter_map(|place| {
                find(input, place, Purpose::Copy).or_else(|| find(input, place, Purpose::Format))
            })
            .collect()
    }
}

fn find<'a>(input: &RuleInput<'_>, place: &'a Place<'a>, what: Purpose) -> Option<Finding<'a>> {
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
        // A clone may be asked for in other words, or by another line of the same statement.
        remedy: remedy(place.language, what, input.has_call(place, callee).then_some(callee)),
    })
}

/// `call` is the method that the line calls for the copy, if it is known to be there.
fn remedy(language: Language, what: Purpose, call: Option<&str>) -> String {
    match (language, what) {
        (Language::Rust, Purpose::Format) => "Write into one `String` that is kept and cleared: \
            `text.clear(); write!(text, \"{value}\")?;`, or pass `format_args!(…)` on."
            .into(),
        (Language::Rust, _) => {
            let in_place_of = call.map_or(String::new(), |call| format!(" in place of `.{call}()`"));
            format!(
                "Borrow instead: `let value = &original;`{in_place_of}, with `&str`, `&[T]` or `&T` as the type of what takes \
                 it. Clone only in the branch that keeps the value."
            )
        }
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
        p.source("/u/src/a.rs", 7, "let name = look(&thing.name.clone());");
        let found = p.only("clone-of-owned");
        assert_eq!(found.title, "look (a.rs:7) makes 1,000 copies that are soon thrown away");
        assert_eq!((found.estimate.allocations, found.estimate.allocated_bytes.0), (1000, 20_000));
        assert!(found.remedy.contains("`.clone()`"), "{}", found.remedy);
    }

    #[test]
    fn a_call_that_the_line_does_not_have_is_not_spoken_of() {
        let mut p = Program::default();
        let look = p.stack(&user(CLONE, "app::look|/u/src/a.rs|7"));
        for _ in 0..1000 {
            let block = p.alloc(look, 20);
            p.free(block);
        }
        let remedy = p.only("clone-of-owned").remedy;
        assert!(remedy.contains("let value = &original;") && !remedy.contains("in place of"), "{remedy}");
        p.source("/u/src/a.rs", 7, "#[derive(Clone)] // .clone()");
        assert!(!p.only("clone-of-owned").remedy.contains("in place of"));
    }

    #[test]
    fn copies_in_a_dependency_are_reported_with_its_name_and_without_advice_for_its_code() {
        let mut p = Program::default();
        let mut stack =
            user(CLONE, "ignore::walk::Work::run|/r/registry/src/i/ignore-0.4.23/src/walk.rs|1500");
        stack.push("app::search|/u/src/main.rs|12");
        let look = p.stack(&stack);
        for _ in 0..300_000 {
            let block = p.alloc(look, 20);
            p.free(block);
        }
        let found = p.only("clone-of-owned");
        assert_eq!(
            found.title,
            "Work::run of ignore 0.4.23 (walk.rs:1500) makes 300,000 copies that are soon thrown away"
        );
        assert!(
            found.remedy.contains("code of ignore 0.4.23, which search (main.rs:12) calls"),
            "{}",
            found.remedy
        );
        assert!(!found.remedy.contains("orrow"), "{}", found.remedy);
        assert_eq!(found.severity, crate::Severity::Medium);
    }

    #[test]
    fn in_an_interpreter_nothing_is_advised() {
        let mut p = Program::default();
        p.module("/r/.pyenv/versions/3.12.1/bin/python3.12");
        let dup = p.stack(&["strdup||", "list_resize|/tmp/build/Objects/listobject.c|70"]);
        (0..500).for_each(|_| {
            let block = p.alloc(dup, 20);
            p.free(block);
        });
        assert_eq!(p.found("clone-of-owned"), []);
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
