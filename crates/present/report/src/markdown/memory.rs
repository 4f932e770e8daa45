//! What resident memory consists of.

use super::escape::{Spot, prose};
use super::table::Table;
use crate::units::{bytes, share};
use heapwise_analysis::{Analysis, Breakdown, Bytes};
use heapwise_diagnosis::Diagnosis;

/// A term of the accounts: its name, how to find it, and what it means.
type Part = (&'static str, fn(&Breakdown) -> Bytes, &'static str);

/// The terms, which add up to the last one.
const PARTS: [Part; 8] = [
    ("live", |b| b.live, "requested and not given back"),
    ("rounding", |b| b.rounding, "what the allocator adds to requests"),
    ("holes", |b| b.holes, "free, in pages with live blocks"),
    ("retained", |b| b.retained, "pages without live blocks, not returned"),
    ("metadata", |b| b.metadata, "the allocator's own"),
    ("not heap", |b| b.not_heap, "code, stacks, files"),
    ("unaccounted", |b| b.unaccounted, ""),
    ("**resident**", |b| b.rss, ""),
];

/// The verdict, and the accounts as far as pages were measured.
pub(super) fn memory(out: &mut String, analysis: &Analysis, diagnosis: &Diagnosis) {
    let accounting = &analysis.accounting;
    let columns = [("at the peak:", &accounting.at_peak), ("at the end:", &accounting.at_end)];
    let columns: Vec<(&str, &Breakdown)> =
        columns.into_iter().filter_map(|(title, b)| Some((title, b.as_ref()?))).collect();
    if diagnosis.verdict.is_none() && columns.is_empty() {
        return;
    }
    out.push_str("\n#### Resident memory\n");
    if let Some(verdict) = &diagnosis.verdict {
        let (sentence, remedy) = (prose(&verdict.sentence, Spot::Line), prose(&verdict.remedy, Spot::Line));
        out.push_str(&format!("\n**Verdict:** {sentence} {remedy}\n"));
    }
    if columns.is_empty() {
        return;
    }
    let mut titles = vec!["part"];
    for (title, _) in &columns {
        titles.extend([*title, "share:"]);
    }
    titles.push("what it is");
    let mut table = Table::new(&titles);
    for (name, part, meaning) in PARTS {
        let mut cells = vec![name.to_owned()];
        for (_, breakdown) in &columns {
            let part = part(breakdown).0;
            cells.extend([bytes(part), share(part, breakdown.rss.0)]);
        }
        cells.push(meaning.to_owned());
        table.row(&cells);
    }
    out.push('\n');
    out.push_str(&table.finish());
}
