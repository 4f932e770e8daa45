//! The lines of a file, with what they allocate in the margin.

use super::files::caveats;
use super::regions::regions;
use super::{AnnotateOptions, Annotation, text_of};
use crate::document::listing::{Amount, Listing, ListingLine, ListingRow};
use crate::document::{Alert, Block, Document, Mark, Role, Section, Words};
use crate::names;
use crate::report::counted;
use crate::source::{Absence, SourceFile, shown};
use crate::units::{bytes, count, digits, share, time};
use heapwise_diagnosis::{Costs, FileCosts};
use std::path::Path;

/// Lines that are shown before and after each one that allocates.
const AROUND: u32 = 3;
/// A line with this share of the program's allocations, or of its live peak, is hot.
const HOT: f64 = 0.05;
/// And one with this is warm.
const WARM: f64 = 0.005;

pub(super) fn document(
    annotation: &Annotation<'_>,
    file: &FileCosts<'_>,
    source: Result<&SourceFile, Absence>,
    options: &AnnotateOptions,
) -> Document {
    let text = text_of(file, source);
    let mut sections = vec![Section::untitled([Block::line(Mark::Plain, summary(annotation, file))])];
    sections.extend(caveats(annotation));
    sections.extend(text.as_ref().err().map(|why| absent(*why)));
    sections.push(Section::untitled([Block::Listing(listing(
        annotation,
        file,
        text.ok().as_deref(),
        options.full,
    ))]));
    sections.push(Section::untitled([Block::line(Mark::Plain, Words::faint(LEGEND))]));
    let name = names::file(file.path, options.folder.as_deref());
    // Of a file elsewhere the name is a part of its path.
    let is_elsewhere =
        options.folder.as_deref().is_none_or(|folder| !Path::new(file.path).starts_with(folder));
    let aside = if is_elsewhere && name != file.path { file.path.to_owned() } else { String::new() };
    Document { title: Words::own("heapwise annotate: ").and(Role::Name, name), aside, sections }
}

const LEGEND: &str = "own: of the line itself; with callees: of all stacks through it, each once. Peak: live bytes at the \
                      peak of the program. Temporary: freed before the next allocation of their thread. Time is estimated.";

fn summary(annotation: &Annotation<'_>, file: &FileCosts<'_>) -> Words {
    let totals = &annotation.analysis.totals;
    let part = |costs: &Costs| {
        format!(
            "{} ({} of all), {} at the peak",
            counted(costs.allocations, "allocation", "allocations"),
            share(costs.allocations, totals.allocations),
            bytes(costs.peak_bytes)
        )
    };
    let mut text = part(&file.own);
    if file.whole != file.own {
        text.push_str(&format!("; with callees {}", part(&file.whole)));
    }
    let in_lines = file.lines.iter().map(|line| line.own.allocations).fold(0, u64::wrapping_add);
    let without = file.own.allocations.wrapping_sub(in_lines);
    if without > 0 {
        text.push_str(&format!(
            "; {} of it in code without a line",
            counted(without, "allocation", "allocations")
        ));
    }
    Words::own(text)
}

fn absent(why: Absence) -> Section {
    let (what, remedy) = why.in_words();
    let items = vec![(format!("no text is shown: {what}").into(), remedy.to_owned())];
    Section::new("Source", [Block::Alert(Alert { items, ..Alert::default() })])
}

/// What stands in the margin.
const COLUMNS: [Amount; 8] = {
    const fn column(title: &'static str, group: &'static str, width: usize, needs: usize) -> Amount {
        Amount { title, group, width, needs }
    }
    const OWN: &str = "own";
    const WHOLE: &str = "with callees";
    [
        column("allocs", OWN, 6, 0),
        column("bytes", OWN, 8, 0),
        column("peak", OWN, 8, 0),
        column("temp.", OWN, 6, 100),
        column("time", OWN, 8, 100),
        column("allocs", WHOLE, 7, 0),
        column("bytes", WHOLE, 8, 120),
        column("peak", WHOLE, 8, 120),
    ]
};

/// Without a text, lines are numbers with the names of their functions.
fn listing(
    annotation: &Annotation<'_>,
    file: &FileCosts<'_>,
    text: Option<&[&str]>,
    is_full: bool,
) -> Listing {
    let last = text.map_or(u32::MAX, |lines| u32::try_from(lines.len()).unwrap_or(u32::MAX));
    let allocating = file.lines.iter().filter(|line| !line.whole.is_nothing()).map(|line| line.number);
    let ranges = match text {
        Some(_) if is_full => vec![1..=last],
        Some(_) => regions(allocating, AROUND, last),
        None => allocating.map(|line| line..=line).collect(),
    };
    let mut rows = Vec::new();
    let mut before = 0;
    for range in ranges {
        if text.is_some() && *range.start() > before + 1 {
            rows.push(ListingRow::Gap);
        }
        before = *range.end();
        for number in range {
            let line =
                file.lines.binary_search_by_key(&number, |line| line.number).ok().map(|at| &file.lines[at]);
            let text = match text {
                Some(lines) => lines.get(number as usize - 1).map(|line| shown(line)),
                None => line.and_then(|line| line.function).map(names::function),
            };
            let (own, whole) = line.map(|line| (line.own, line.whole)).unwrap_or_default();
            let (amounts, role) = (amounts(&own, &whole), role(annotation, &own));
            rows.push(ListingRow::Line(ListingLine {
                number,
                text: text.unwrap_or_default(),
                amounts,
                role,
            }));
            rows.extend(
                annotation.findings.of_line(file.path, number).iter().map(|at| note(annotation, *at)),
            );
        }
    }
    if text.is_some() && before < last {
        rows.push(ListingRow::Gap);
    }
    Listing { columns: COLUMNS.to_vec(), title: if text.is_some() { "source" } else { "function" }, rows }
}

/// The amounts of a line, one for each column. What is nothing is not shown: most lines allocate nothing.
fn amounts(own: &Costs, whole: &Costs) -> Vec<String> {
    let some = |n: u64, text: fn(u64) -> String| if n == 0 { String::new() } else { text(n) };
    vec![
        some(own.allocations, short_count),
        some(own.allocated_bytes, bytes),
        some(own.peak_bytes, bytes),
        some(own.temporary_allocations, short_count),
        some(own.time.0, time),
        some(whole.allocations, short_count),
        some(whole.allocated_bytes, bytes),
        some(whole.peak_bytes, bytes),
    ]
}

/// A count in at most six columns: `9,999`, `10.2k`, `1.25M`.
fn short_count(n: u64) -> String {
    const UNITS: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    if n < 10_000 {
        return count(n);
    }
    let mut value = n as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{}{}", digits(value), UNITS[unit])
}

fn role(annotation: &Annotation<'_>, own: &Costs) -> Role {
    match own.share(annotation.analysis) {
        _ if own.is_nothing() => Role::Faint,
        share if share >= HOT => Role::Bad,
        share if share >= WARM => Role::Strong,
        _ => Role::Own,
    }
}

/// A finding below a line.
fn note(annotation: &Annotation<'_>, at: usize) -> ListingRow {
    let finding = &annotation.diagnosis.findings[at];
    let (severity, id) = (finding.severity.id(), finding.id);
    ListingRow::Note(format!("finding {} ({severity}, {id}): {}", at + 1, finding.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short_and_exact_where_they_are_small() {
        let shown = [0, 999, 9_999, 10_000, 999_499, 999_500, 10_697_388, u64::MAX].map(short_count);
        assert_eq!(shown, ["0", "999", "9,999", "10.0k", "999k", "1.00M", "10.7M", "18.4E"]);
        let widths = COLUMNS.iter().map(|column| column.title.len() <= column.width);
        assert!(widths.into_iter().all(|fits| fits));
    }
}
