//! A checkup as a document.

use super::{Checkup, Launch};
use crate::document::{
    Alert, Block, Cell, Column, Document, Evidence, Finding, Mark, Role, Row, Section, Shown, Table, Words,
};
use heapwise_environment::{Finding as Found, Severity};
use std::collections::HashSet;

pub(super) fn document(checkup: &Checkup) -> Document {
    let outcome = Section::untitled([Block::line(Mark::Plain, Words::of(Role::Strong, checkup.outcome()))]);
    let (notes, found): (Vec<&Found>, Vec<&Found>) =
        checkup.findings.iter().partition(|finding| finding.severity == Severity::Note);
    let fix = "heapwise doctor --fix shows the edits of your configuration, and makes them";
    let fix = Section::untitled([Block::line(Mark::Plain, Words::name(fix))]).only(Shown::Terminal);
    let is_fixable = checkup.findings.iter().any(|finding| finding.fixable);
    let sections = [
        findings("Findings", "the worst first", &found, true),
        findings("Notes", "these slow nothing down", &notes, false),
        launches(&checkup.launches),
        seen(checkup),
        unread(checkup),
        is_fixable.then_some(fix),
    ];
    Document {
        title: Words::own("heapwise doctor"),
        aside: checkup.subject.title(),
        sections: std::iter::once(outcome).chain(sections.into_iter().flatten()).collect(),
    }
}

fn findings(title: &'static str, aside: &str, found: &[&Found], is_numbered: bool) -> Option<Section> {
    // The cost of launches of one project is the same: it is reported once.
    let mut shown = HashSet::new();
    let finding = |(at, finding): (usize, &&Found)| {
        let is_new = finding.cost.is_empty() || shown.insert(finding.cost.clone()) || !is_numbered;
        let tags = [finding.severity.id(), finding.check];
        let fixable = finding.fixable.then(|| "fixable".to_owned());
        Block::Finding(Finding {
            number: is_numbered.then_some(at + 1),
            title: finding.title.clone(),
            tags: tags.map(str::to_owned).into_iter().chain(fixable).collect(),
            evidence: Evidence::Lines(finding.evidence.clone()),
            cost: if is_new { finding.cost.clone() } else { "as above".to_owned() },
            remedy: finding.remedy.clone(),
            ..Finding::default()
        })
    };
    let blocks: Vec<Block> = found.iter().enumerate().map(finding).collect();
    (!blocks.is_empty()).then(|| Section::new(title, blocks).aside(aside))
}

fn launches(launches: &[Launch]) -> Option<Section> {
    let on_pages = |title| Column::new(title).only(Shown::Pages);
    let columns = [
        Column::new("").only(Shown::Terminal),
        Column::new("launch").brief(),
        on_pages("file"),
        on_pages("tool"),
        on_pages("debug heap on Windows"),
        on_pages("why"),
    ];
    let row = |launch: &Launch| {
        let (short, answer, role) = match launch.debug_heap {
            Some(true) => ("yes", "yes", Role::Caveat),
            Some(false) => ("no", "no", Role::Own),
            None => ("?", "unknown", Role::Faint),
        };
        let line = format!("{}  {} ({})", launch.name, launch.place, launch.tool);
        let cells = [
            Cell::text(Words::of(role, short)),
            Cell::text(Words::name(&*launch.name)).or(line),
            Cell::text(Words::name(&*launch.place)),
            Cell::text(&*launch.tool),
            Cell::own(answer),
            Cell::text(&*launch.why),
        ];
        Row { note: launch.why.clone(), ..Row::of(cells) }
    };
    let rows: Vec<Row> = launches.iter().map(row).collect();
    let table = Table { rows, is_headless: true, ..Table::new(columns) };
    let aside = "which of them have the debug heap on Windows";
    (!launches.is_empty()).then(|| Section::new("Launches", [Block::Table(table)]).aside(aside))
}

fn seen(checkup: &Checkup) -> Option<Section> {
    let facts: Vec<_> =
        checkup.seen.iter().map(|(name, what)| (Words::own(*name), what.as_str().into())).collect();
    (!facts.is_empty()).then(|| Section::new("Seen", [Block::Facts(facts)]).folded())
}

fn unread(checkup: &Checkup) -> Option<Section> {
    let items: Vec<_> = checkup.unread.iter().map(|line| (line.as_str().into(), String::new())).collect();
    let alert = Alert { lead: "Not looked at", items, ..Alert::default() };
    (!alert.items.is_empty()).then(|| Section::new("Not looked at", [Block::Alert(alert)]))
}
