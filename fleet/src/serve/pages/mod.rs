//! The pages: a file for each, and one table that lists them.

mod flame;
mod question;
mod recording;
mod service;
mod services;
mod site;

use super::look::{Look, Row, Rows};
use futures::FutureExt;
use futures::future::BoxFuture;
use heapwise_report::document::{
    Block, Cell, Column, Document, Figures, Link, Mark, Role, Section, Table, Words,
};

/// A page.
pub(super) struct Page {
    /// Its address; names in brackets are parameters.
    pub(super) path: &'static str,
    pub(super) make: for<'a> fn(&'a Look<'a>) -> BoxFuture<'a, Made>,
}

/// What comes of a page.
type Made = Result<Document, Problem>;

/// Why there is no page.
#[derive(Debug)]
pub(super) enum Problem {
    /// The fleet does not have it.
    Nothing(String),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) const PAGES: &[Page] = &[
    Page { path: "/", make: |look| services::page(look).boxed() },
    Page { path: "/ask/{question}", make: |look| question::page(look).boxed() },
    Page { path: "/recording/{recording}", make: |look| recording::page(look).boxed() },
    Page { path: "/service/{service}", make: |look| service::page(look).boxed() },
    Page { path: "/service/{service}/flame", make: |look| flame::page(look).boxed() },
    Page { path: "/service/{service}/site/{site}", make: |look| site::page(look).boxed() },
];

/// The first line of each page: where it leads.
fn trail(more: impl IntoIterator<Item = Words>) -> Section {
    let home = Words::own("all services").to(&Link::new(&[], []));
    let line = more.into_iter().fold(home, |line, next| line.and(Role::Faint, " · ").then(next));
    Section::untitled([Block::line(Mark::Plain, line)])
}

/// A table of rows. Columns are their titles and names; the first cell may lead elsewhere.
fn table(rows: &Rows, columns: &[(&str, &str)], link: impl Fn(Row<'_>) -> Option<Link>) -> Block {
    let mut table = Table::new(columns.iter().map(|(title, _)| Column::new(*title)));
    for row in rows.iter() {
        table.row(columns.iter().enumerate().map(|(at, (_, name))| match link(row) {
            Some(link) if at == 0 => Cell::text(Words::name(name_of(&row.shown(name))).to(&link)),
            _ => row.cell(name),
        }));
    }
    Block::Table(table)
}

/// What has no name is still something that can be clicked on.
fn name_of(text: &str) -> String {
    if text.is_empty() { "(none)".to_owned() } else { text.to_owned() }
}

/// Bars for each day: what is live at the peak, and what else is resident then.
fn trend(caption: &str, rows: &Rows) -> Block {
    let bar = |row: Row<'_>| {
        let (live, rss) = (row.number("peak_live_bytes"), row.number("peak_rss_bytes"));
        (row.text("label").to_owned(), vec![live, (rss - live).max(0.0)])
    };
    let parts = ["live at the peak", "rest of the peak RSS"].map(str::to_owned);
    Block::Figures(Figures::bars(caption, true, parts, rows.iter().map(bar)))
}
