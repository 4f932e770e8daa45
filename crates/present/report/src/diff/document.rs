//! A comparison of recordings as a document.

use super::rows::{Row, Way, rows};
use super::wording::{amount, by, exceeded, judgement, name, outcome, percent, sites};
use super::{Diff, DiffOptions, Recording};
use crate::document::{
    Alert, Block, Cell, Column, Document, Mark, Place, Role, Section, Shown, Table, Words,
};
use crate::report::rows::stack_of;
use crate::report::{command_of, counted, ending, rest};
use heapwise_diagnosis::compare::{Change, Status};

/// Columns of an amount.
const WIDE: usize = 11;
/// Columns of a measure's name.
const NAME: usize = 15;

pub(super) fn document(diff: &Diff<'_>, options: &DiffOptions) -> Document {
    let recordings = [("old", &diff.old), ("new", &diff.new)];
    let facts = recordings.map(|(what, recording)| (Words::own(what), recorded(recording)));
    let outcome = Words::of(Role::Strong, outcome(diff.comparison));
    let mut sections = vec![Section::untitled([Block::Facts(facts.into())])];
    sections.extend(alerts(diff));
    sections.extend([Section::untitled([Block::line(Mark::Plain, outcome)]), totals(diff)]);
    if !diff.comparison.is_same() {
        let ways = [("Worse", Way::Worse), ("Better", Way::Better)];
        let ways = ways.map(|(title, way)| (title, rows(diff, options, way)));
        sections.extend(ways.iter().filter_map(|(title, rows)| places(diff, options, title, rows)));
        sections.extend(stacks(options, &ways));
        sections.extend(left_out(diff));
    }
    Document { title: Words::own("heapwise diff"), sections, ..Document::default() }
}

fn recorded(recording: &Recording<'_>) -> Words {
    let ending = format!(", {}", ending(recording.analysis));
    let file = Words::name(recording.file).and(Role::Own, ": ");
    file.and(Role::Name, command_of(recording.analysis)).and(Role::Own, ending)
}

fn alerts(diff: &Diff<'_>) -> Vec<Section> {
    let caveats = diff.comparison.caveats.iter().map(|caveat| (caveat.to_string().into(), String::new()));
    let warnings = Alert { items: caveats.collect(), ..Alert::default() };
    let over = diff.exceeded.iter().map(|one| (exceeded(one).into(), String::new())).collect();
    let title = "Thresholds that are exceeded";
    // On a terminal the command line reports this itself.
    let exceeded = Section::new(title, [Block::Alert(Alert { lead: title, is_severe: true, items: over })]);
    let all = [
        (diff.comparison.caveats.is_empty(), Section::new("Warnings", [Block::Alert(warnings)])),
        (diff.exceeded.is_empty(), exceeded.only(Shown::Pages)),
    ];
    all.into_iter().filter(|(is_empty, _)| !is_empty).map(|(_, section)| section).collect()
}

/// Columns of what changed and by how much.
fn columns(first: &str, part: &str) -> [Column; 5] {
    [
        Column::new(first).least(NAME),
        Column::new("old").least(WIDE).before(""),
        Column::new("new").least(WIDE).before(" → ").left(),
        Column::new("change").least(WIDE),
        Column::new(part).least(9),
    ]
}

fn cells(change: &Change, whole: u64) -> [Cell; 5] {
    [
        Cell::own(name(change.measure)),
        Cell::number(amount(change.measure, change.old)),
        Cell::number(amount(change.measure, change.new)),
        Cell::number(by(change)),
        Cell::number(percent(change.amount(), whole)),
    ]
}

fn totals(diff: &Diff<'_>) -> Section {
    let mut table = Table::new(columns("total", "%").into_iter().chain([Column::new("")]));
    table.is_headless = true;
    for change in &diff.comparison.totals {
        let judgement = Cell::text(Words::faint(judgement(diff.comparison, change)));
        table.row(cells(change, change.old).into_iter().chain([judgement]));
    }
    let mut section = Section::new("Totals", [Block::Table(table)]);
    if !diff.comparison.is_same() {
        section.blocks.push(Block::line(Mark::Labelled("call sites"), sites(diff.comparison)));
    }
    section.aside("old → new; what varies depends on the moment, too")
}

fn places(diff: &Diff<'_>, options: &DiffOptions, title: &'static str, rows: &[Row<'_>]) -> Option<Section> {
    let lead = [Column::new("place").lead()];
    let mut table = Table::new(lead.into_iter().chain(columns("what", "of the whole")));
    (table.is_headless, table.indent) = (true, 4);
    for row in rows.iter().take(options.top) {
        for (at, change) in row.changes.iter().enumerate() {
            let lead = if at == 0 { Cell::place(place(row)) } else { Cell::empty() };
            let whole = diff.comparison.whole(change.measure);
            table.row(std::iter::once(lead).chain(cells(change, whole)));
        }
    }
    table.rest = rest(rows.len(), options.top, "place", "places");
    let n = counted(rows.len() as u64, "place", "places");
    let aside = format!("{n}; the percentages are parts of the whole program's");
    (!rows.is_empty()).then(|| Section::new(title, [Block::Table(table)]).aside(aside))
}

fn place(row: &Row<'_>) -> Place {
    Place {
        function: row.function.clone(),
        status: status(row),
        at: row.at.clone(),
        is_past: row.is_past,
        via: row.via.clone(),
        ..Place::default()
    }
}

fn status(row: &Row<'_>) -> &'static str {
    match row.status {
        Status::Changed => "",
        Status::New => "new",
        Status::Gone => "gone",
    }
}

fn stacks(options: &DiffOptions, ways: &[(&'static str, Vec<Row<'_>>)]) -> Option<Section> {
    let mut blocks = Vec::new();
    for (title, rows) in ways {
        for row in rows.iter().take(options.top) {
            let Some((analysis, site)) = row.site else { continue };
            let lead = Words::own(format!("{title}: ")).and(Role::Name, &*row.function);
            let status = status(row);
            let status = if status.is_empty() { String::new() } else { format!(" ({status})") };
            let stack = stack_of(analysis, site, options.folder.as_deref());
            blocks.push(Block::Stack(lead.and(Role::Own, status), stack));
        }
    }
    (!blocks.is_empty()).then(|| Section::new("Stacks of these places", blocks).folded())
}

/// Changes that are too small for a line.
fn left_out(diff: &Diff<'_>) -> Option<Section> {
    let n = diff.comparison.places.iter().filter(|place| !diff.comparison.matters(&place.sum)).count() as u64;
    let places = counted(n, "place differs", "places differ");
    let line = Words::faint(format!("{places} by no more than noise; --format json has all."));
    (n > 0).then(|| Section::untitled([Block::line(Mark::Plain, line)]))
}
