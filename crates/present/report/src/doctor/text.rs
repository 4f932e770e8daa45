//! A checkup for a terminal.

use super::{Checkup, Launch};
use crate::Style;
use crate::escape::terminal::escape;
use crate::text::page::{Ink, Page, left};
use heapwise_environment::{Finding, Severity};
use std::collections::HashSet;

pub(super) fn text(checkup: &Checkup, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&[
        (Some(Ink::Heading), "heapwise doctor"),
        (None, "  "),
        (Some(Ink::Faint), &escape(&checkup.subject.title())),
    ]);
    page.paragraph(None, "", &checkup.outcome());
    let (notes, found): (Vec<&Finding>, Vec<&Finding>) =
        checkup.findings.iter().partition(|finding| finding.severity == Severity::Note);
    if !found.is_empty() {
        page.heading("FINDINGS", "the worst first");
        // Launches of one project all cost the same.
        let mut told = HashSet::new();
        for (i, one) in found.iter().enumerate() {
            finding(&mut page, &format!("{:>3}. ", i + 1), one, &mut told);
        }
    }
    if !notes.is_empty() {
        page.heading("NOTES", "these slow nothing down");
        for one in notes {
            finding(&mut page, "  -  ", one, &mut HashSet::new());
        }
    }
    launches(&mut page, &checkup.launches);
    if !checkup.seen.is_empty() {
        page.heading("SEEN", "");
        for (name, what) in &checkup.seen {
            page.paragraph(None, &left(&format!("  {name}"), 18), &escape(what));
        }
    }
    if !checkup.unread.is_empty() {
        page.heading("NOT LOOKED AT", "");
        for line in &checkup.unread {
            page.paragraph(Some(Ink::Caveat), "  ! ", &escape(line));
        }
    }
    if checkup.findings.iter().any(|finding| finding.fixable) {
        page.empty();
        page.paragraph(
            Some(Ink::Name),
            "",
            "heapwise doctor --fix shows the edits of your configuration, and makes them",
        );
    }
    page.finish()
}

fn finding<'a>(page: &mut Page, number: &str, finding: &'a Finding, told: &mut HashSet<&'a str>) {
    page.paragraph(Some(Ink::Heading), number, &escape(&finding.title));
    let fix = if finding.fixable { " · fixable" } else { "" };
    page.line(&[(Some(Ink::Faint), &format!("     {} · {}{fix}", finding.severity.id(), finding.check))]);
    for line in &finding.evidence {
        page.paragraph(None, "     ", &escape(line));
    }
    if !finding.cost.is_empty() {
        let cost = if told.insert(&finding.cost) { &finding.cost } else { "as above" };
        page.paragraph(None, "     costs: ", &escape(cost));
    }
    page.paragraph(None, "     → ", &escape(&finding.remedy));
}

fn launches(page: &mut Page, launches: &[Launch]) {
    if launches.is_empty() {
        return;
    }
    page.heading("LAUNCHES", "which of them have the debug heap on Windows");
    for launch in launches {
        let (word, ink) = match launch.debug_heap {
            Some(true) => ("yes", Some(Ink::Caveat)),
            Some(false) => ("no ", None),
            None => ("?  ", Some(Ink::Faint)),
        };
        let what = format!("{}  {} ({})", escape(&launch.name), escape(&launch.place), escape(&launch.tool));
        page.line(&[(ink, &format!("  {word}  ")), (None, &what)]);
        page.paragraph(Some(Ink::Faint), "       ", &escape(&launch.why));
    }
}
