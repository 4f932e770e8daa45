//! `read-to-string-per-item`: each file, or each line, is read into a buffer of its own.

use super::{Finding, Rule, without};
use crate::case::Case;
use crate::insight::Certainty;
use crate::units::{bytes, count};
use crate::what::What;

pub(crate) struct ReadPerItem;

/// Fewer than this is no loop.
const LEAST: u64 = 4;

impl Rule for ReadPerItem {
    fn id(&self) -> &'static str {
        "read-to-string-per-item"
    }

    fn find<'a>(&self, case: &'a Case<'a>) -> Vec<Finding<'a>> {
        let places = case.places.iter().filter_map(|place| {
            // A buffer that is handed in is only ever resized after its first block.
            let part = place.part(&[What::Read])?;
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
                    format!("{} were asked for, and at most {} buffers were live at one time", bytes(part.bytes), count(part.most_blocks)),
                ],
                estimate: without(&part, 1),
                remedy: remedy.into(),
            })
        });
        places.collect()
    }
}
