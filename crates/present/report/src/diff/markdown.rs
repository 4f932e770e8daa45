//! The comparison for a comment on a pull request.

use super::rows::{Row, Way, rows};
use super::wording::{amount, by, exceeded, judgement, name, outcome, percent, sites};
use super::{Diff, DiffOptions, Recording};
use crate::markdown::escape::{Spot, code, prose};
use crate::markdown::head::{command_line, warn};
use crate::markdown::places::{cell, stack};
use crate::markdown::table::{Table, folded};
use crate::text::head::ending;
use crate::text::page::counted;
use heapwise_diagnosis::compare::Status;

pub(super) fn markdown(diff: &Diff<'_>, options: &DiffOptions) -> String {
    let mut out = "### heapwise diff\n\n".to_owned();
    for (what, recording) in [("old", &diff.old), ("new", &diff.new)] {
        let Recording { file, analysis } = recording;
        let (file, command) = (code(file, Spot::Line), command_line(analysis));
        out.push_str(&format!("- {what}: {command} in {file}, {}\n", ending(analysis)));
    }
    warn(&mut out, diff.comparison.caveats.iter().map(ToString::to_string));
    if !diff.exceeded.is_empty() {
        out.push_str("\n> [!CAUTION]\n> Thresholds that are exceeded:\n");
        for one in diff.exceeded {
            out.push_str(&format!("> - {}\n", prose(&exceeded(one), Spot::Line)));
        }
    }
    out.push_str(&format!("\n**{}**\n\n", prose(&outcome(diff.comparison), Spot::Line)));
    totals(&mut out, diff);
    if diff.comparison.is_same() {
        return out;
    }
    out.push_str(&format!("\nCall sites: {}.\n", sites(diff.comparison)));
    let mut stacks = String::new();
    for (title, way) in [("Worse", Way::Worse), ("Better", Way::Better)] {
        let rows = rows(diff, options, way);
        places(&mut out, diff, options, title, &rows);
        for row in rows.iter().take(options.top) {
            if let Some((analysis, site)) = row.site {
                let name = code(&row.function, Spot::Line);
                let stack = stack(analysis, site, &options.as_text());
                stacks.push_str(&format!("{title}: {name}{}\n\n{stack}\n", status(row)));
            }
        }
    }
    if !stacks.is_empty() {
        out.push_str(&folded("Stacks of these places", &stacks));
    }
    out
}

fn totals(out: &mut String, diff: &Diff<'_>) {
    let mut table = Table::new(&["total", "old:", "new:", "change:", "%:", ""]);
    for change in &diff.comparison.totals {
        table.row(&[
            name(change.measure).to_owned(),
            amount(change.measure, change.old),
            amount(change.measure, change.new),
            by(change),
            percent(change.amount(), change.old).replace('<', "&lt;"),
            judgement(diff.comparison, change).to_owned(),
        ]);
    }
    out.push_str(&table.finish());
}

fn places(out: &mut String, diff: &Diff<'_>, options: &DiffOptions, title: &str, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new(&["place", "what", "old:", "new:", "change:", "of the whole:"]);
    for row in rows.iter().take(options.top) {
        for (i, change) in row.changes.iter().enumerate() {
            let whole = diff.comparison.whole(change.measure);
            table.row(&[
                if i == 0 { place(row) } else { String::new() },
                name(change.measure).to_owned(),
                amount(change.measure, change.old),
                amount(change.measure, change.new),
                by(change),
                percent(change.amount(), whole).replace('<', "&lt;"),
            ]);
        }
    }
    out.push_str(&format!("\n#### {title}\n\n{}", table.finish()));
    if rows.len() > options.top {
        let more = counted((rows.len() - options.top) as u64, "more place", "more places");
        out.push_str(&format!("\nand {more}\n"));
    }
}

fn place(row: &Row<'_>) -> String {
    let mut place = format!("{}{}", cell(&row.function), status(row));
    if !row.at.is_empty() {
        place.push_str(if row.is_past { " was " } else { " " });
        place.push_str(&cell(&row.at));
    }
    if !row.via.is_empty() {
        place.push_str(&format!(" via {}", cell(&row.via)));
    }
    place
}

fn status(row: &Row<'_>) -> &'static str {
    match row.status {
        Status::Changed => "",
        Status::New => " (new)",
        Status::Gone => " (gone)",
    }
}
