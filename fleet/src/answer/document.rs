//! An answer as a page for a browser, and as Markdown.

use super::chart::Chart;
use super::text::shown;
use super::{Column, Grid};
use crate::engine::Left;
use heapwise_report::document::{
    self, Block, Cell, Column as Head, Document, Figures, Section, Table, Words,
};
use serde_json::Value;

/// What an answer is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// The command, such as `heapwise fleet ask growth`.
    pub(crate) title: &'a str,
    /// The question in words, or in SQL.
    pub(crate) question: &'a str,
    /// The question in SQL.
    pub(crate) sql: &'a str,
}

/// One file for a browser, with a picture, without a script.
pub(crate) fn html(about: About<'_>, grid: &Grid, left: &[Left]) -> String {
    document::html(&document(about, grid, left))
}

/// For a comment or a wiki.
pub(crate) fn markdown(about: About<'_>, grid: &Grid, left: &[Left]) -> String {
    document::markdown(&document(about, grid, left))
}

/// The same before it is written.
pub(crate) fn document(about: About<'_>, grid: &Grid, left: &[Left]) -> Document {
    let mut table = Table::new(grid.columns.iter().map(|column| Head::new(title(&column.name))));
    for row in &grid.rows {
        table.row(grid.columns.iter().zip(row).map(|(column, value)| cell(column, value)));
    }
    let nothing = grid.rows.is_empty().then(|| Block::line(document::Mark::Plain, "The answer has no rows."));
    let picture = Chart::of(about.sql, grid).map(|chart| Block::Figures(picture(&chart, grid)));
    let blocks = nothing.into_iter().chain(picture).chain([Block::Table(table)]);
    let caveats = left.iter().map(|left| format!("{} is left out: {}", left.path, left.why));
    let sections = Section::caveats(caveats).into_iter().chain([Section::untitled(blocks)]);
    Document {
        title: Words::own(about.title),
        aside: about.question.to_owned(),
        sections: sections.collect(),
    }
}

/// A column's name as a title, which can be broken between its words.
fn title(name: &str) -> String {
    name.replace('_', " ")
}

fn cell(column: &Column, value: &Value) -> Cell {
    match value {
        Value::Null => Cell::nothing(),
        Value::Number(_) => Cell::number(shown(column, value, true)),
        _ => Cell::text(Words::name(shown(column, value, true))),
    }
}

/// The bars of at most so many rows, the first ones.
const MOST_BARS: usize = 30;

fn picture(chart: &Chart, grid: &Grid) -> Figures {
    let names: Vec<&str> = chart.numbers.iter().map(|&column| grid.columns[column].name.as_str()).collect();
    let row = |row: &Vec<Value>| {
        let label = |&column: &usize| shown(&grid.columns[column], &row[column], true);
        let labels: Vec<String> = chart.labels.iter().map(label).collect();
        // Less than nothing has no bar.
        let number = |&column: &usize| row[column].as_f64().unwrap_or(0.0).max(0.0);
        (labels.join(" "), chart.numbers.iter().map(number).collect())
    };
    let are_bytes = names.iter().all(|name| super::text::is_bytes(name));
    let titles: Vec<String> = names.iter().map(|name| title(name)).collect();
    Figures::bars(titles.join(", "), are_bytes, titles, grid.rows.iter().take(MOST_BARS).map(row))
}
