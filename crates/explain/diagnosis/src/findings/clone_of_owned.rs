//! `clone-of-owned`: copies that are thrown away soon after they were made, where a borrow would do.
//!
//! Seen are copies that were short-lived (freed within a few allocations of their thread), or of which only a few were ever
//! live at one time. They were not kept, so they were only read. How many of a line's copies these are does not matter, only how
//! many there are: it may copy one thing to keep it and another one to look at it.

use super::{Occurrence, Rule, without_copies};
use crate::finding::Certainty;
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Language, Part, Place, RuleInput};
use crate::units::{bytes, count, share};

pub(crate) struct CloneOfOwned;

/// What is made of something that exists, the most likely to be there already first.
const PURPOSES: [Purpose; 5] =
    [Purpose::Copy, Purpose::Format, Purpose::Cased, Purpose::Path, Purpose::Stream];
/// Fewer are no pattern.
const LEAST: u64 = 100;
/// So many of the things that a line calls are named.
const MOST_NAMED: usize = 3;

/// What a place makes for these purposes and soon throws away: all of it together, how many, and sentences for each of its calls.
pub(super) fn thrown_away<'a>(place: &Place<'a>, wanted: &[Purpose]) -> Option<(Part<'a>, u64, Vec<String>)> {
    let mut parts = place.parts(wanted);
    parts.retain(|part| part.thrown_away() >= LEAST);
    let evidence = parts.iter().take(MOST_NAMED).flat_map(seen).collect();
    let (part, soon) = Part::together(parts)?;
    Some((part, soon, evidence))
}

/// What was seen of one call.
fn seen(part: &Part<'_>) -> [String; 2] {
    let callee = if part.callee.is_empty() { "copying" } else { part.callee };
    let (all, size) = (count(part.allocations), bytes(part.average()));
    let short = part.short_lived.min(part.allocations);
    [
        format!("`{callee}` allocated {all} blocks here, of {size} on average"),
        if part.temporary * 2 >= part.allocations {
            format!(
                "{} of them were freed before anything else was allocated",
                share(part.temporary, part.allocations)
            )
        } else if short * 2 >= part.allocations || !part.is_sequential() {
            format!(
                "{} of them were freed within 15 more allocations of their thread",
                share(short, part.allocations)
            )
        } else {
            format!("at most {} of them were live at one time", count(part.most_blocks))
        },
    ]
}

impl Rule for CloneOfOwned {
    fn id(&self) -> &'static str {
        "clone-of-owned"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter(|place| !super::clone_per_lookup::is_lookup(place));
        places
            .flat_map(|place| PURPOSES.into_iter().filter_map(move |what| find(input, place, what)))
            .collect()
    }
}

fn find<'a>(input: &RuleInput<'_>, place: &'a Place<'a>, what: Purpose) -> Option<Occurrence<'a>> {
    let (part, soon, evidence) = thrown_away(place, &[what])?;
    // What is put together is not there to be borrowed: where most is kept, the line is about what is kept.
    if what != Purpose::Copy && soon.saturating_mul(2) < part.allocations {
        return None;
    }
    let things = match what {
        Purpose::Copy => "copies",
        Purpose::Path => "paths",
        _ => "strings",
    };
    let all = count(part.allocations);
    let title = match soon.saturating_mul(10) >= part.allocations.saturating_mul(9) {
        true => format!("{} makes {all} {things} that are soon thrown away", place.label()),
        false => {
            format!("{} makes {all} {things}, of which {} are soon thrown away", place.label(), count(soon))
        }
    };
    Some(Occurrence {
        certainty: if what == Purpose::Copy { Certainty::Likely } else { Certainty::Hint },
        title,
        place: Some(place),
        evidence,
        estimate: if what == Purpose::Copy {
            without_copies(&part, soon)
        } else {
            super::without(&part, part.allocations.saturating_sub(soon), part.reallocations)
        },
        sites: part.ids(),
        remedy: remedy(input, place, what, part.callee),
    })
}

fn remedy(input: &RuleInput<'_>, place: &Place<'_>, what: Purpose, callee: &str) -> String {
    match (place.language, what) {
        (Language::Rust, Purpose::Cased) => {
            let condition = if callee.contains("ascii") { "Compare" } else { "If the texts are ASCII, compare" };
            format!(
                "{condition} without a new string, `a.eq_ignore_ascii_case(b)`, or change the letters of one `String` that is kept: \
                 `text.clear(); text.push_str(word); text.make_ascii_uppercase();`. Where it is a key to sort by, \
                 `sort_by_cached_key` makes one string for each value."
            )
        }
        (Language::Rust, Purpose::Path) if matches!(callee, "with_extension" | "with_file_name") => format!(
            "Change one `PathBuf` that is kept: `path.clear(); path.push(original); path.{}(…);`.",
            callee.replace("with", "set")
        ),
        (Language::Rust, Purpose::Path) => {
            "Keep one `PathBuf` for the folder: `path.push(name); …; path.pop();`.".into()
        }
        (Language::Rust, Purpose::Format | Purpose::Stream) => "Write into one `String` that is kept and cleared: \
            `text.clear(); write!(text, \"{value}\")?;`, or pass `format_args!(…)` on."
            .into(),
        (Language::Rust, _) => {
            // A clone may be asked for in other words, or by another line of the same statement.
            let is_there = CALLS.contains(&callee) && input.has_call(place, callee);
            let in_place_of = if is_there { format!(" in place of `.{callee}()`") } else { String::new() };
            format!(
                "Borrow instead: `let value = &original;`{in_place_of}, with `&str`, `&[T]` or `&T` as the type of what takes \
                 it. Clone only in the branch that keeps the value. A copy that is changed can be made in one buffer that is kept: \
                 `buffer.clone_from(&original);`."
            )
        }
        (Language::C, _) => {
            "Use the original through a `const char *`, or copy into one buffer that is kept: \
            `snprintf(buffer, sizeof buffer, …);`."
                .into()
        }
        (Language::Cxx, Purpose::Stream) => "Keep one stream outside of the loop and empty it: `stream.str(\"\"); stream.clear();`. \
            Numbers need no stream: `std::to_chars` and `std::from_chars` work on a buffer and a `std::string_view`."
            .into(),
        (Language::Cxx, Purpose::Format) if matches!(callee, "operator+" | "__str_concat") => {
            "Append the parts one after another, to one string that is kept: `text += a; text += b;` in place of `text += a + b;`."
                .into()
        }
        (Language::Cxx, Purpose::Format) => "Write into one `std::string` or array that is kept: `text.clear();` and `text += …;`, or \
            `std::to_chars` for a number."
            .into(),
        (Language::Cxx, _) if callee == "substr" => {
            "Look at the part without copying it: `std::string_view(text).substr(from, length)`.".into()
        }
        (Language::Cxx, _) if INTO_CONTAINER.contains(&callee) => "Move it into the container where it is not needed afterwards: \
            `v.push_back(std::move(value));`, or make it there with `emplace_back(…)`. A container of pointers or \
            `std::string_view` copies nothing."
            .into(),
        (Language::Cxx, _) => {
            let of_map = if looks_up(input, place) { KEY_OF_MAP } else { "" };
            format!(
                "Bind it with `const auto &`, and take it as `const std::string &`, `std::string_view` or `const T &`. Copy only what \
                 is kept, and `std::move` it there.{of_map}"
            )
        }
    }
}

/// What makes a copy in Rust by its name. Other functions that a line calls make one on the way to something else.
const CALLS: [&str; 8] =
    ["clone", "cloned", "clone_from", "into", "into_owned", "to_owned", "to_string", "to_vec"];

/// What puts a copy into a container of C++.
const INTO_CONTAINER: [&str; 5] = ["push_back", "emplace_back", "emplace", "insert", "push"];

const KEY_OF_MAP: &str = " A map finds without a `std::string` for the key if its comparison is transparent: \
    `std::map<std::string, T, std::less<>>`.";

/// Whether the line seems to look something up in a map.
fn looks_up(input: &RuleInput<'_>, place: &Place<'_>) -> bool {
    place.has(Purpose::Node)
        || place.has(Purpose::MapGrow)
        || ["find", "count", "contains", "at"].iter().any(|name| input.has_call(place, name))
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
    fn paths_of_which_most_are_kept_are_no_finding() {
        const JOIN: &str = "_join|/rustc/1/library/std/src/path.rs|2660";
        for (n_kept, n_found) in [(3, 0), (1, 1)] {
            let mut p = Program::default();
            let push = p.stack(&user(&[JOIN], "app::push|/u/src/a.rs|7"));
            for at in 0..40_000 {
                let block = p.alloc(push, 40);
                if at % 4 >= n_kept {
                    p.free(block);
                }
            }
            assert_eq!(p.found("clone-of-owned").len(), n_found, "{n_kept} of 4 are kept");
        }
    }

    #[test]
    fn text_in_other_letters_and_changed_paths_have_advice_of_their_own() {
        const CASED: &str = "alloc::str::<impl str>::to_lowercase|/rustc/1/library/alloc/src/str.rs|440";
        const ASCII: &str = "to_ascii_uppercase|/rustc/1/library/alloc/src/str.rs|600";
        const CHANGED: &str = "with_extension|/rustc/1/library/std/src/path.rs|2700";
        let cases = [
            (CASED, "If the texts are ASCII, compare without"),
            (ASCII, "Compare without a new string"),
            (CHANGED, "path.set_extension(…);"),
        ];
        for (callee, wanted) in cases {
            let mut p = Program::default();
            let stack = p.stack(&user(
                &["alloc|/rustc/1/library/alloc/src/alloc.rs|95", callee],
                "app::look|/u/src/a.rs|7",
            ));
            for _ in 0..50_000 {
                let block = p.alloc(stack, 20);
                p.free(block);
            }
            assert_eq!(p.found("clone-of-owned").len(), 1, "{callee}");
            let found = p.only("clone-of-owned");
            assert!(found.remedy.contains(wanted), "{callee}: {}", found.remedy);
            assert_eq!(found.estimate.allocations, 50_000);
        }
    }

    #[test]
    fn what_copies_on_the_way_to_something_else_is_not_to_be_left_out() {
        let mut p = Program::default();
        let mut stack = CLONE.to_vec();
        stack.push("try_for_each<u8>|/rustc/1/library/core/src/iter/traits/iterator.rs|2400");
        let look = p.stack(&user(&stack, "app::look|/u/src/a.rs|7"));
        for _ in 0..1000 {
            let block = p.alloc(look, 20);
            p.free(block);
        }
        p.source("/u/src/a.rs", 7, "parts.try_for_each(|part| show(part));");
        let remedy = p.only("clone-of-owned").remedy;
        assert!(!remedy.contains("try_for_each"), "{remedy}");
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
    fn the_package_that_the_program_calls_is_the_one_to_ask() {
        let mut p = Program::default();
        let mut stack =
            user(CLONE, "regex_automata::all|/r/registry/src/i/regex-automata-0.4.14/src/util.rs|217");
        stack.extend([
            "regex::captures|/r/registry/src/i/regex-1.12.4/src/string.rs|356",
            "elasticlunr::stem|/r/registry/src/i/elasticlunr-rs-3.0.2/src/en.rs|238",
            "elasticlunr::add_doc|/r/registry/src/i/elasticlunr-rs-3.0.2/src/lib.rs|331",
            "app::search|/u/src/main.rs|12",
        ]);
        let look = p.stack(&stack);
        for _ in 0..300_000 {
            let block = p.alloc(look, 20);
            p.free(block);
        }
        let remedy = p.only("clone-of-owned").remedy;
        let chain = "code of regex-automata 0.4.14, which stem of elasticlunr-rs 3.0.2 (en.rs:238) calls for search (main.rs:12).";
        assert!(
            remedy.contains(chain) && remedy.contains("See whether elasticlunr-rs has an option"),
            "{remedy}"
        );
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
