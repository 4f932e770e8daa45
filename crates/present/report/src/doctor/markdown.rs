//! A checkup for a comment on a pull request.

use super::Checkup;
use crate::markdown::escape::{Spot, code, prose};
use crate::markdown::table::{Table, folded};

pub(super) fn markdown(checkup: &Checkup) -> String {
    let title = prose(&checkup.subject.title(), Spot::Line);
    let mut out = format!("### heapwise doctor\n\n{title}: **{}**\n", checkup.outcome());
    for finding in &checkup.findings {
        let title = prose(&finding.title, Spot::Line);
        out.push_str(&format!(
            "\n- **{title}** ({}, {})\n",
            finding.severity.id(),
            code(finding.check, Spot::Line)
        ));
        for line in &finding.evidence {
            out.push_str(&format!("  - {}\n", code(line, Spot::Line)));
        }
        if !finding.cost.is_empty() {
            out.push_str(&format!("  - costs: {}\n", prose(&finding.cost, Spot::Line)));
        }
        out.push_str(&format!("  - → {}\n", prose(&finding.remedy, Spot::Line)));
    }
    if !checkup.launches.is_empty() {
        let mut table = Table::new(&["launch", "file", "tool", "debug heap on Windows", "why"]);
        for launch in &checkup.launches {
            let answer = match launch.debug_heap {
                Some(true) => "yes",
                Some(false) => "no",
                None => "unknown",
            };
            table.row(&[
                code(&launch.name, Spot::Cell),
                code(&launch.place, Spot::Cell),
                prose(&launch.tool, Spot::Cell),
                answer.to_owned(),
                prose(&launch.why, Spot::Cell),
            ]);
        }
        out.push_str(&table.finish());
    }
    if !checkup.seen.is_empty() {
        let mut table = Table::new(&["seen", ""]);
        for (name, what) in &checkup.seen {
            table.row(&[(*name).to_owned(), prose(what, Spot::Cell)]);
        }
        out.push_str(&folded("What was looked at", &table.finish()));
    }
    if !checkup.unread.is_empty() {
        out.push_str("\n> [!WARNING]\n> Not looked at:\n");
        for line in &checkup.unread {
            out.push_str(&format!("> - {}\n", prose(line, Spot::Line)));
        }
    }
    out
}
