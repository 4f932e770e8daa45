//! `read-to-string-per-item`: each file, or each line, is read into a separate buffer.

use super::{Finding, Rule, without};
use crate::foreign::InForeignCode;
use crate::insight::Certainty;
use crate::purpose::Purpose;
use crate::rule_input::RuleInput;
use crate::units::{bytes, count};

pub(crate) struct ReadPerItem;

/// Fewer than this is no loop.
const LEAST: u64 = 4;

impl Rule for ReadPerItem {
    fn id(&self) -> &'static str {
        "read-to-string-per-item"
    }

    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Report
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        let places = input.places.iter().filter_map(|place| {
            // A buffer that is handed in is only ever resized after its first block.
            let part = place.part(&[Purpose::Read])?;
            if part.allocations < LEAST || !part.is_sequential() {
                return None;
            }
            let lines = part.callee == "next";
            let what = if lines { "line" } else { "file" };
            let remedy = if lines {
                "Read into one `String` that is cleared: `line.clear(); while reader.read_line(&mut line)? > 0 { …; \
                 line.clear(); }`."
            } else {
                "Keep one buffer for all: `text.clear(); File::open(path)?.read_to_string(&mut text)?;`."
            };
            Some(Finding {
                certainty: Certainty::Likely,
                title: format!("{} reads each {what} into a new buffer", place.label()),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    format!("{} buffers, of {} on average, one after another", count(part.allocations), bytes(part.bytes / part.allocations.max(1))),
                    format!("{} were asked for together", bytes(part.bytes)),
                ],
                estimate: without(&part, 1),
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
}
