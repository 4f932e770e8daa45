//! Outcomes as a document.

use super::figures::figures;
use super::wording::{is_number, short, whole};
use crate::document::{Block, Cell, Column, Document, Figures, Mark, Section, Shown, Table, Title, Words};
use heapwise_trial::lab::{self, Cell as Measured, Outcome};

/// The table in which an experiment has what an article says.
const OF_ARTICLE: &str = "article";

pub(super) fn document(outcome: &Outcome) -> Document {
    let sections = [
        Some(Section::untitled([Block::line(Mark::Plain, outcome.shows)])),
        Some(Section::untitled(setup(outcome))),
        Some(Section::conclusion(outcome.conclusion.iter().cloned())),
        Section::caveats(caveats(outcome)),
    ];
    Document {
        title: Words::own(format!("heapwise lab {}", outcome.experiment)),
        sections: sections.into_iter().flatten().chain(outcome.tables.iter().map(section)).collect(),
        ..Document::default()
    }
}

/// Of one experiment after the other; first what the articles say and what is so here.
pub(super) fn of_all(outcomes: &[Outcome]) -> Document {
    let machine = outcomes.first().map(|first| Block::line(Mark::Setup, first.machine.to_string()));
    let mut sections = vec![Section::untitled(machine)];
    sections.extend(verdicts(outcomes));
    for outcome in outcomes {
        let mut blocks = vec![Block::line(Mark::Plain, outcome.shows)];
        blocks.extend(setup(outcome).skip(1));
        blocks.extend(outcome.conclusion.iter().map(|sentence| Block::line(Mark::Point, sentence.as_str())));
        let title = Title::Given(outcome.experiment.to_owned());
        sections.push(Section { title, ..Section::untitled(blocks) });
        sections.extend(Section::caveats(caveats(outcome)));
        let of_it = |table: &lab::Table| Section {
            title: Title::Given(format!("{}: {}", outcome.experiment, table.title)),
            ..section(table)
        };
        sections.extend(outcome.tables.iter().filter(|table| table.id != OF_ARTICLE).map(of_it));
    }
    Document { title: Words::own("heapwise lab --all".to_owned()), sections, ..Document::default() }
}

/// What the articles say of all experiments, in one table.
fn verdicts(outcomes: &[Outcome]) -> Option<Section> {
    let of_article = |outcome: &&Outcome| outcome.tables.iter().any(|table| table.id == OF_ARTICLE);
    let first = outcomes.iter().find(of_article)?.tables.iter().find(|table| table.id == OF_ARTICLE)?;
    let titles = std::iter::once("experiment").chain(first.columns.iter().map(|column| &*column.title));
    let mut shown = Table::new(titles.map(Column::new));
    for outcome in outcomes {
        for row in outcome.tables.iter().filter(|table| table.id == OF_ARTICLE).flat_map(|table| &table.rows)
        {
            shown.row(std::iter::once(Cell::text(outcome.experiment)).chain(row.iter().map(cell)));
        }
    }
    Some(Section::new("Beside the articles", [Block::Table(shown)]).only(Shown::Pages))
}

fn setup(outcome: &Outcome) -> impl Iterator<Item = Block> {
    let lines = std::iter::once(outcome.machine.to_string()).chain(outcome.setup.iter().cloned());
    lines.map(|line| Block::line(Mark::Setup, line))
}

fn caveats(outcome: &Outcome) -> impl Iterator<Item = String> {
    let interrupted = "it was interrupted: these are the runs until then".to_owned();
    outcome.is_interrupted.then_some(interrupted).into_iter().chain(outcome.caveats.iter().cloned())
}

fn section(table: &lab::Table) -> Section {
    let columns = table.columns.iter().map(|column| match column.is_detail {
        true => Column::detail(&*column.title),
        false => Column::new(&*column.title),
    });
    let mut shown = Table::new(columns);
    for row in &table.rows {
        shown.row(row.iter().map(cell));
    }
    // A terminal has it in sentences, with the reasons.
    let is_for_pages = table.is_detail || table.id == OF_ARTICLE;
    Section {
        title: Title::Given(table.title.clone()),
        aside: table.aside.clone(),
        is_folded: table.is_detail,
        shown: if is_for_pages { Shown::Pages } else { Shown::Everywhere },
        blocks: vec![Block::Table(shown), Block::Figures(Figures(figures(table)))],
        ..Section::default()
    }
}

fn cell(cell: &Measured) -> Cell {
    match cell {
        Measured::Text(text) => Cell::text(text.as_str()),
        // Ratios and growths are read as words: the median alone would be incomplete.
        _ if is_number(cell) => Cell::spread(short(cell), whole(cell)),
        _ => Cell::own(whole(cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Written;
    use super::super::testing::{by_allocator, outcome};
    use crate::style::Style;

    #[test]
    fn it_fits_eighty_columns_and_has_no_unwanted_colours() {
        let text = Written::One(&outcome()).text(Style { color: false, width: 80 });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(
            text.contains("  tcmalloc-debug  1,000,000  20.1 s  106 (98.2..112)  1.04 ± 0.03  O(n)\n"),
            "{text}"
        );
        assert!(text.contains("  → It is slow.\n") && text.contains("  ! hostile \\u{1b}[31m\n"), "{text}");
        assert!(!text.contains("Every size"), "details are not for a terminal: {text}");
    }

    #[test]
    fn colours_are_there_for_who_wants_them() {
        let text = Written::One(&outcome()).text(Style { color: true, width: 80 });
        assert!(text.contains("\x1b[1mhash-map: drop\x1b[0m"), "{text}");
    }

    #[test]
    fn tables_are_tables_and_details_are_folded() {
        let text = Written::One(&outcome()).markdown();
        assert!(
            text.contains("| condition | entries | time | times plain | growth |\n|---|---:|---:|---|---|\n"),
            "{text}"
        );
        assert!(
            text.contains("| tcmalloc-debug | 1,000,000 | 20.1 s (19.0 s..21.0 s) | 106 (98.2..112) |"),
            "{text}"
        );
        assert!(text.contains("<summary>Every size</summary>"), "{text}");
        assert!(text.contains("| 1.95 ± 0.10  O(n^2) |"), "{text}");
    }

    #[test]
    fn all_begin_with_what_the_articles_say() {
        let outcomes = [by_allocator(), outcome()];
        let text = Written::All(&outcomes).markdown();
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("Beside the articles") < at("shootout: threads end"), "{text}");
        assert!(at("shootout: threads end") < at("debug-heap: hash-map: drop"), "{text}");
        assert!(
            text.contains("| shootout | glibc returns nearly all | 99 % | 97 % | reproduces |"),
            "{text}"
        );
        let text = Written::All(&outcomes).text(Style { color: false, width: 80 });
        assert!(
            !text.contains("BESIDE THE ARTICLES") && text.contains("  → glibc returns nearly all: repro"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = Written::All(&outcomes).html();
        assert!(page.matches("<circle").count() >= 6 && !page.contains("NaN"), "{page}");
    }
}
