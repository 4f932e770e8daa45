//! What the program's spans allocated; nothing for a program that has none.

use super::places::cell;
use super::table::Table;
use crate::text::marks::{growth, name_of, odd};
use crate::text::page::counted;
use crate::units::{bytes, count, time};
use heapwise_analysis::Analysis;

/// The table of spans.
pub(super) fn spans(out: &mut String, analysis: &Analysis, top: usize) {
    let spans = &analysis.marks.spans;
    if spans.is_empty() {
        return;
    }
    let titles =
        ["span", "count:", "time:", "longest:", "requests:", "bytes:", "left at most:", "seen in half"];
    let mut table = Table::new(&titles);
    for span in spans.iter().take(top) {
        let numbers = [
            time(span.time.0),
            time(span.longest.0),
            count(span.allocations + span.reallocations),
            bytes(span.allocated_bytes.0),
            growth(span.largest_growth_bytes),
        ];
        let numbers = numbers.map(|number| if span.count == 0 { "–".to_owned() } else { number });
        let name = [cell(&name_of(&span.name)), count(span.count)];
        table.row(&[name.as_slice(), &numbers, &[odd(span)]].concat());
    }
    out.push_str(&format!("\n#### Spans\n\n{}", table.finish()));
    if spans.len() > top {
        out.push_str(&format!("\nand {}\n", counted((spans.len() - top) as u64, "more name", "more names")));
    }
}
