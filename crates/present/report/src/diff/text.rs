//! The comparison for people.

use super::rows::{Row, Way, rows};
use super::wording::{amount, by, judgement, name, outcome, percent, sites};
use super::{Diff, DiffOptions, Recording};
use crate::escape::terminal::escape;
use crate::names::fit;
use crate::style::Style;
use crate::text::head::ending;
use crate::text::page::{Ink, Page, counted, left, right};
use heapwise_diagnosis::compare::{Change, Status};

/// Columns of an amount.
const WIDE: usize = 11;
/// Columns of a measure's name.
const NAME: usize = 15;

pub(super) fn text(diff: &Diff<'_>, options: &DiffOptions, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&[(Some(Ink::Heading), "heapwise diff")]);
    recording(&mut page, "old", &diff.old);
    recording(&mut page, "new", &diff.new);
    if !diff.comparison.caveats.is_empty() {
        page.heading("WARNINGS", "");
        for caveat in &diff.comparison.caveats {
            page.paragraph(Some(Ink::Caveat), "  ! ", &escape(&caveat.to_string()));
        }
    }
    page.empty();
    page.paragraph(Some(Ink::Heading), "", &outcome(diff.comparison));

    page.heading("TOTALS", "old → new; what varies depends on the moment, too");
    for change in &diff.comparison.totals {
        let relative = percent(change.amount(), change.old);
        change_line(
            &mut page,
            "  ",
            change,
            &format!("{}  {}", right(&relative, 9), judgement(diff.comparison, change)),
        );
    }
    if diff.comparison.is_same() {
        return page.finish();
    }
    page.line(&[
        (None, &left("  call sites", NAME + 2)),
        (Some(Ink::Faint), &format!("  {}", sites(diff.comparison))),
    ]);
    let better = rows(diff, options, Way::Better);
    let worse = rows(diff, options, Way::Worse);
    places(&mut page, diff, options, "WORSE", &worse);
    places(&mut page, diff, options, "BETTER", &better);
    left_out(&mut page, diff);
    page.finish()
}

fn recording(page: &mut Page, what: &str, recording: &Recording<'_>) {
    let command = recording.analysis.meta.command.join(" ");
    let text = format!("{}: {}", escape(recording.file), escape(&fit(&command, 200)));
    page.line(&[(Some(Ink::Faint), what), (None, "  "), (None, &text)]);
    page.line(&[(None, "     "), (Some(Ink::Faint), &ending(recording.analysis))]);
}

fn change_line(page: &mut Page, indent: &str, change: &Change, note: &str) {
    let numbers = format!(
        "{indent}{}{} → {}  {}  ",
        left(name(change.measure), NAME),
        right(&amount(change.measure, change.old), WIDE),
        left(&amount(change.measure, change.new), WIDE),
        right(&by(change), WIDE)
    );
    page.line(&[(None, &numbers), (Some(Ink::Faint), note)]);
}

fn places(page: &mut Page, diff: &Diff<'_>, options: &DiffOptions, title: &str, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let n = counted(rows.len() as u64, "place", "places");
    page.heading(title, &format!("{n}; the percentages are parts of the whole program's"));
    for row in rows.iter().take(options.top) {
        place(page, row);
        for change in &row.changes {
            let whole = diff.comparison.whole(change.measure);
            let part = right(&percent(change.amount(), whole), 9);
            change_line(page, "    ", change, &part);
        }
    }
    if rows.len() > options.top {
        let more = counted((rows.len() - options.top) as u64, "more place", "more places");
        page.line(&[(Some(Ink::Faint), &format!("  and {more}"))]);
    }
}

fn place(page: &mut Page, row: &Row<'_>) {
    let status = match row.status {
        Status::Changed => "",
        Status::New => "  (new)",
        Status::Gone => "  (gone)",
    };
    let was = if row.is_past { "was " } else { "" };
    let at = if row.at.is_empty() { String::new() } else { format!("  {was}{}", row.at) };
    let via = if row.via.is_empty() { String::new() } else { format!("  via {}", row.via) };
    let room = page.columns - 2;
    let at = fit(&at, room.saturating_sub(12 + status.len()));
    let function = fit(&row.function, room.saturating_sub(at.chars().count() + status.len()));
    let via = fit(&via, room - (function.chars().count() + at.chars().count() + status.len()));
    // A few letters of a name are worse than none.
    let via = if via.chars().count() < 12 && via.contains('…') { String::new() } else { via };
    page.line(&[
        (None, "  "),
        (Some(Ink::Name), &function),
        (Some(Ink::Heading), status),
        (None, &at),
        (Some(Ink::Faint), &via),
    ]);
}

/// What is too small for a line.
fn left_out(page: &mut Page, diff: &Diff<'_>) {
    let n = diff.comparison.places.iter().filter(|place| !diff.comparison.matters(&place.sum)).count() as u64;
    if n > 0 {
        page.empty();
        let places = counted(n, "place differs", "places differ");
        page.paragraph(
            Some(Ink::Faint),
            "",
            &format!("{places} by no more than noise; --format json has all."),
        );
    }
}
