//! The list of experiments.

use crate::document::{self, Block, Cell, Column, Document, Section, Shown, Table, Words};
use crate::schema::lab::{Experiment, List, SCHEMA};
use crate::style::Style;
use heapwise_trial::lab::{self, EXPERIMENTS};

/// A line each.
pub fn list_text(style: Style) -> String {
    document::terminal(&document(), style)
}

fn document() -> Document {
    let named = |e: &&dyn lab::Experiment| (Words::name(e.name()), Words::from(e.about()));
    let mut table = Table { is_headless: true, indent: 0, ..Table::new(["", ""].map(Column::new)) };
    EXPERIMENTS.iter().map(named).for_each(|(name, about)| table.row([name, about].map(Cell::text)));
    let facts = Block::Facts(EXPERIMENTS.iter().map(named).collect());
    let blocks = [Block::Table(table).only(Shown::Terminal), facts.only(Shown::Pages)];
    Document { sections: vec![Section::untitled(blocks)], ..Document::default() }
}

/// The same for machines.
pub fn list_json() -> String {
    let one = |e: &&dyn lab::Experiment| Experiment {
        about: e.about().to_owned(),
        name: e.name().to_owned(),
        shows: e.shows().to_owned(),
    };
    let experiments = EXPERIMENTS.iter().map(one).collect();
    crate::schema::pretty(&List { experiments, schema: SCHEMA.to_owned() })
}

/// The same for a document.
pub fn list_markdown() -> String {
    document::markdown(&document())
}

/// The same for a browser.
pub fn list_html() -> String {
    document::html(&document())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_has_one_line() {
        let text = list_text(Style { color: false, width: 80 });
        assert_eq!(text.lines().count(), EXPERIMENTS.len());
        assert!(text.contains("debug-heap     what a checking heap costs"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.ends_with('…')));
        assert!(list_json().contains("\"debug-heap\"") && list_markdown().contains("`debug-heap`"));
    }
}
