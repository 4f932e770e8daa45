//! `read-to-string-per-item`: each file, or each line, is read into a separate buffer.
//!
//! With glibc large buffers in a row cost next to nothing, since it keeps their pages. Most other allocators return them, and the
//! system has to fill new ones with zeros: large buffers are worth a low finding whatever the model says.

use super::{Occurrence, Rule, with_one_kept};
use crate::finding::{Certainty, Severity};
use crate::foreign::InForeignCode;
use crate::purpose::Purpose;
use crate::rule_input::{Language, RuleInput};
use crate::units::{bytes, count};
use crate::weigh;

pub(crate) struct ReadPerItem;

/// Fewer than this is no loop.
const LEAST: u64 = 4;
/// Pages of so many bytes are new each time, with allocators that return them.
const LARGE: u64 = 64 << 10;
const LEAST_OF_LARGE: u64 = 1 << 20;

impl Rule for ReadPerItem {
    fn id(&self) -> &'static str {
        "read-to-string-per-item"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        let estimate = &occurrence.estimate;
        let saved = estimate.allocated_bytes.0;
        let is_large = saved >= LEAST_OF_LARGE && saved / estimate.allocations.max(1) >= LARGE;
        let of_other_allocators = is_large.then_some(Severity::Low);
        weigh::severity(input, occurrence.place, &occurrence.sites, estimate).max(of_other_allocators)
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let places = input.places.iter().filter_map(|place| {
            // A buffer that is handed in is only ever resized after its first block.
            let part = place.part(&[Purpose::Read])?;
            let soon = part.thrown_away();
            if soon < LEAST || soon * 2 < part.allocations {
                return None;
            }
            let lines = part.callee == "next" || part.callee.contains("get");
            let remedy = match place.language {
                Language::Rust if lines => "Read into one `String` that is cleared: `line.clear(); while reader.read_line(&mut line)? \
                    > 0 { …; line.clear(); }`.",
                Language::Rust => "Keep one buffer for all: `text.clear(); File::open(path)?.read_to_string(&mut text)?;`.",
                Language::Cxx => "Declare the `std::string` before the loops over lines and files: `std::getline(in, line)` empties it and \
                    keeps its memory.",
                Language::C => "Keep the pointer and its size for all lines and files: `char *line = NULL; size_t size = 0;` before the \
                    loop, `getline(&line, &size, in)` in it, and `free(line);` behind.",
            };
            Some(Occurrence {
                certainty: Certainty::Likely,
                title: match (lines, place.language) {
                    (false, _) => format!("{} reads each file into a new buffer", place.label()),
                    (true, Language::Rust) => format!("{} reads each line into a new buffer", place.label()),
                    // With `getline` it may be one for all lines of a file.
                    (true, _) => format!("{} reads lines into {} new buffers", place.label(), count(soon)),
                },
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!(
                        "{} buffers, of {} on average, {}",
                        count(part.allocations),
                        bytes(part.bytes / part.allocations.max(1)),
                        match part.is_sequential() {
                            true => "one after another".to_owned(),
                            false => format!("of which {} are soon freed", count(soon)),
                        }
                    ),
                    format!("{} were requested in all", bytes(part.bytes)),
                ],
                estimate: with_one_kept(&part, soon),
                remedy: remedy.into(),
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{PUSH_FIRST, Program, READ, user};

    #[test]
    fn a_buffer_for_each_file_is_reported_and_one_that_is_kept_is_not() {
        let (mut p, mut twin) = (Program::default(), Program::default());
        let line = "app::load|/u/src/a.rs|7";
        let other = "app::other|/u/src/a.rs|9";
        for program in [&mut p, &mut twin] {
            let rest = program.stack(&user(PUSH_FIRST, other));
            (0..1000).for_each(|_| _ = program.alloc(rest, 32));
        }
        let (read, again) = (p.stack(&user(READ, line)), twin.stack(&user(READ, line)));
        for i in 0..20 {
            let block = p.alloc(read, 100_000 + i);
            p.free(block);
        }
        let kept = twin.alloc(again, 100_000);
        (0..3).fold(kept, |block, i| twin.resize(block, again, 100_010 + i));
        let found = p.only("read-to-string-per-item");
        assert_eq!(found.title, "load (a.rs:7) reads each file into a new buffer");
        assert_eq!(found.estimate.allocations, 19);
        assert_eq!(twin.found("read-to-string-per-item"), []);
    }

    #[test]
    fn of_lines_that_are_kept_none_is_saved() {
        let mut p = Program::default();
        let read = p.stack(&user(READ, "app::load|/u/src/a.rs|7"));
        for i in 0..1000 {
            let block = p.alloc(read, 100);
            if i % 5 > 1 {
                p.free(block);
            }
        }
        let found = p.only("read-to-string-per-item");
        assert_eq!(found.estimate.allocations, 599);
        assert!(found.evidence[0].ends_with("of which 600 are soon freed"), "{:?}", found.evidence);
    }
}
