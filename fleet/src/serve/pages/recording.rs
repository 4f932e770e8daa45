//! One recording: what it was, its memory over time, what was found, and its largest call sites.

use super::{Made, Problem, table, trail};
use crate::serve::look::Look;
use heapwise_report::document::{Block, Document, Figures, Link, Section, Words};
use heapwise_report::names;

/// Only its file, or that of its day, is opened.
const HERE: &str = "recording = $recording and date = $date and service = $folder";

/// What is asked of a table, with [`HERE`].
const SITES: &str = "select place, stack_id, peak_bytes, allocated_bytes, allocations, temporary_allocations, live_at_exit_bytes \
    from sites where {HERE} and stack_id is not null order by peak_bytes desc, allocated_bytes desc, stack_id limit 30";
const SAMPLES: &str = "select time_ns, live_bytes, rss_bytes from samples where {HERE} order by time_ns";
const FINDINGS: &str =
    "select title, severity, certainty, remedy from findings where {HERE} order by rank limit 50";
const ENVIRONMENT: &str =
    "select title, severity, cost, remedy from environment where {HERE} order by check_name limit 50";

const RECORDING: &str = "select * from recordings where recording = $recording limit 1";

/// Facts and their columns.
const FACTS: [(&str, &str); 16] = [
    ("command", "command"),
    ("started", "started"),
    ("duration", "duration_ns"),
    ("host", "host"),
    ("system", "system"),
    ("release", "release"),
    ("build id", "build_id"),
    ("allocator", "allocator"),
    ("heap variables", "settings"),
    ("allocations", "allocations"),
    ("allocated", "allocated_bytes"),
    ("live at the peak", "peak_live_bytes"),
    ("peak RSS", "peak_rss_bytes"),
    ("never freed", "never_freed_bytes"),
    ("lost events", "lost_events"),
    ("verdict", "verdict_sentence"),
];

/// A command may have a thousand files.
const MOST_LETTERS: usize = 300;

pub(super) async fn page(look: &Look<'_>) -> Made {
    let id = look.parameter("recording");
    let facts = look.rows(RECORDING, &[("recording", id)]).await?;
    let Some(row) = facts.first() else {
        return Err(Problem::Nothing(format!("There is no recording {id}.")));
    };
    let service = row.text("service_name");
    let home = Words::own("service ").then(Words::name(service)).to(&Link::new(&["service", service], []));
    let fact = |&(name, column): &(&'static str, &str)| {
        let text = match column {
            "command" | "settings" => row.texts(column).join(" "),
            // As a whole: to be compared with that of a file.
            "build_id" => row.text(column).to_owned(),
            _ => row.shown(column),
        };
        (row.is_known(column) && !text.is_empty())
            .then(|| (Words::own(name), Words::name(names::fit(&text, MOST_LETTERS))))
    };
    let facts = FACTS.iter().filter_map(fact).collect();
    let values = [("recording", id), ("date", row.text("date")), ("folder", row.text("service"))];
    let ask = async |sql: &str| look.rows(&sql.replace("{HERE}", HERE), &values).await;
    let samples = ask(SAMPLES).await?;
    let curve = |name: &str| {
        samples
            .iter()
            .filter(|row| row.is_known(name))
            .map(|row| [row.number("time_ns"), row.number(name)])
            .collect::<Vec<_>>()
    };
    let curves =
        [("live", "live_bytes"), ("RSS", "rss_bytes")].map(|(label, name)| (label.to_owned(), curve(name)));
    let findings = ask(FINDINGS).await?;
    let environment = ask(ENVIRONMENT).await?;
    let sites = ask(SITES).await?;
    let mut sections = vec![trail([home]), Section::untitled([Block::Facts(facts)])];
    if !samples.is_empty() {
        sections.push(Section::untitled([Block::Figures(Figures::lines("Memory over time", curves))]));
    }
    let no_link = |_: super::Row<'_>| None;
    if !findings.is_empty() {
        let columns = [
            ("what", "title"),
            ("severity", "severity"),
            ("certainty", "certainty"),
            ("what to do", "remedy"),
        ];
        sections.push(Section::new("Findings", [table(&findings, &columns, no_link)]));
    }
    if !environment.is_empty() {
        let columns = [
            ("what", "title"),
            ("severity", "severity"),
            ("what it costs", "cost"),
            ("what to do", "remedy"),
        ];
        sections
            .push(Section::new("What slows the heap from outside", [table(&environment, &columns, no_link)]));
    }
    let columns = [
        ("place", "place"),
        ("live at the peak", "peak_bytes"),
        ("allocated", "allocated_bytes"),
        ("allocations", "allocations"),
        ("temporary", "temporary_allocations"),
        ("never freed", "live_at_exit_bytes"),
    ];
    let link = |row: super::Row<'_>| Some(Link::new(&["service", service, "site", row.text("stack_id")], []));
    sections.push(
        Section::new("Call sites", [table(&sites, &columns, link)])
            .aside("those with most live bytes at the peak"),
    );
    Ok(Document { title: Words::own("recording ").then(Words::name(id)), sections, ..Document::default() })
}
