//! The result as a document: for a terminal with a table for each benchmark that changed, and for a comment on a pull request with
//! a row for each.
//!
//! On a page, changed benchmarks are in a visible table, the others are folded. Names of benchmarks are chosen by the author of
//! the pull request, and stay text.

use super::compare::{Comparison, Level, Pair, Row, Verdict};
use super::measure::BenchMeasure;
use super::numbers::{mean, percent, signed};
use heapwise_report::Style;
use heapwise_report::document::{
    self, Block, Cell, Column, Document, Mark, Role, Section, Table, Title, Words,
};
use heapwise_report::units::count;

/// Columns that a terminal is given. Numbers are not cut for a narrower one.
const WIDTH: usize = 120;
/// How far measures stand below their benchmark.
const MARGIN: usize = 12;

/// For a terminal.
pub(crate) fn text(comparison: &Comparison<'_>, color: bool) -> String {
    let blocks =
        if comparison.baseline.is_some() { compared(comparison) } else { vec![measured(comparison)] };
    let aside = comparison.baseline.map(|name| format!("compared with baseline {name}"));
    let section = Section::new("Heap per iteration", blocks).aside(aside.unwrap_or_default());
    let document = Document { sections: vec![section], ..Document::default() };
    // Apart from what benchmarks have printed.
    format!("\n{}", document::terminal(&document, Style { color, width: WIDTH }))
}

fn compared(comparison: &Comparison<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for row in &comparison.rows {
        let columns = [Column::new("").least(9), Column::new("").before(" "), Column::new("")];
        let names = [row.target, row.id].map(|name| Cell::text(Words::of(Role::Own, name)));
        let verdict = Cell::text(Words::of(role(row.verdict), row.verdict.name()));
        blocks.push(lines(columns, 2, [std::iter::once(verdict).chain(names).collect()]));
        if row.verdict != Verdict::Same {
            let columns = ["", "", "", "", ""].map(Column::new);
            blocks.push(lines(columns, MARGIN, row.pairs.each_ref().map(cells)));
        }
        blocks.extend(first(row).map(|words| lines([Column::new("")], MARGIN, [vec![Cell::own(words)]])));
    }
    blocks.push(Block::line(Mark::Unbroken(0), summary(comparison)));
    blocks
}

/// Rows whose cells stand below one another.
fn lines(
    columns: impl IntoIterator<Item = Column>,
    indent: usize,
    rows: impl IntoIterator<Item = Vec<Cell>>,
) -> Block {
    let mut table = Table { is_headless: true, indent, ..Table::new(columns) };
    rows.into_iter().for_each(|cells| table.row(cells));
    Block::Table(table)
}

fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Worse => Role::Bad,
        Verdict::Better => Role::Good,
        _ => Role::Own,
    }
}

/// How many came out how.
pub(crate) fn summary(comparison: &Comparison<'_>) -> String {
    let order = [
        (Verdict::Worse, "worse"),
        (Verdict::Better, "better"),
        (Verdict::Varies, "differing no more than iterations or threshold"),
        (Verdict::Same, "the same"),
        (Verdict::New, "new"),
        (Verdict::Vanished, "only in the baseline"),
    ];
    let n = comparison.rows.len();
    let parts = order.into_iter().map(|(verdict, words)| (comparison.count(verdict), words));
    let parts: Vec<_> = parts.filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
    format!("{n} benchmark{}: {}", if n == 1 { "" } else { "s" }, parts.join(", "))
}

/// What changed in the first iteration alone: it is reported and does not affect the verdict.
pub(crate) fn first(row: &Row<'_>) -> Option<String> {
    let changes = row.first_changes();
    let words = changes.map(|(m, [old, new])| format!("{} {} → {}", m.title(), count(old), count(new)));
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| format!("first iteration: {}", words.join(", ")))
}

/// A mean, with its range if iterations differ.
pub(crate) fn level(level: &Level) -> String {
    if level.min == level.max {
        return mean(level.mean);
    }
    format!("{} ({}..{})", mean(level.mean), count(level.min), count(level.max))
}

fn levels(pair: &Pair) -> [Option<String>; 2] {
    [&pair.old, &pair.new].map(|side| side.as_ref().map(level))
}

fn cells(pair: &Pair) -> Vec<Cell> {
    let levels = match levels(pair) {
        [Some(old), Some(new)] if pair.verdict != Verdict::Same => format!("{old} → {new}"),
        [old, new] => new.or(old).unwrap_or_default(),
    };
    let mut cells = vec![Cell::own(pair.measure.title()), Cell::number(levels)];
    match pair.change() {
        None => {}
        Some(_) if pair.verdict == Verdict::Same => cells.push(Cell::number("same")),
        Some(change) => cells.extend([
            Cell::number(signed(change)),
            Cell::number(pair.share().map_or(String::new(), percent)),
            Cell::own(pair.verdict.name()),
        ]),
    }
    cells
}

fn measured(comparison: &Comparison<'_>) -> Block {
    let titles = BenchMeasure::ALL.map(|measure| measure.title());
    let mut table = Table::new(std::iter::once("").chain(titles).map(Column::new));
    let mut target = None;
    for row in &comparison.rows {
        if target != Some(row.target) {
            table.row([Cell::own(format!("{}:", row.target))]);
            target = Some(row.target);
        }
        let levels = |of: fn(&Level) -> String| {
            row.pairs.iter().map(move |p| Cell::number(p.new.as_ref().map_or(String::new(), of)))
        };
        table.row(std::iter::once(Cell::own(format!("  {}", row.id))).chain(levels(level)));
        if row.pairs.iter().filter_map(|pair| pair.new).any(|new| new.is_first_special()) {
            let first = |level: &Level| count(level.first);
            table.row(std::iter::once(Cell::own("    first iteration")).chain(levels(first)));
        }
    }
    Block::Table(table)
}

/// For a comment on a pull request.
pub(crate) fn markdown(comparison: &Comparison<'_>) -> String {
    let title = Words::own("Heap per iteration");
    let Some(baseline) = comparison.baseline else {
        let sections = vec![Section::untitled([rows(comparison.rows.iter())])];
        return document::markdown(&Document { title, sections, ..Document::default() });
    };
    let verdict = match comparison.worse() {
        0 => Words::own("No benchmark needs more than its iterations vary by."),
        1 => Words::of(Role::Strong, "1 benchmark needs more."),
        n => Words::of(Role::Strong, format!("{n} benchmarks need more.")),
    };
    let verdict = verdict.and(Role::Own, format!(" {}.", summary(comparison)));
    let mut sections = vec![Section::untitled([Block::line(Mark::Plain, verdict)])];
    let is_changed =
        |row: &&Row<'_>| !matches!(row.verdict, Verdict::Same | Verdict::Varies) || first(row).is_some();
    let (mut changed, rest): (Vec<_>, Vec<_>) = comparison.rows.iter().partition(is_changed);
    // Worse benchmarks come first.
    changed.sort_by_key(|row| match row.verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        _ => 2,
    });
    if !changed.is_empty() {
        sections.push(Section::untitled([rows(changed)]));
    }
    if !rest.is_empty() {
        let title = Title::Given(format!("{} without a change that counts", rest.len()));
        sections.push(Section { title, ..Section::untitled([rows(rest)]).folded() });
    }
    let allowed = BenchMeasure::ALL.map(|m| format!("{} {}", m.title(), comparison.thresholds.of(m)));
    let about = format!(
        "Means of iterations, the first one left out. A benchmark is worse if every iteration needs more than each of the baseline's, \
         and the mean more than is allowed ({}).",
        allowed.join(", ")
    );
    sections.push(Section::untitled([Block::line(Mark::Plain, Words::own(about))]));
    let title = title.and(Role::Own, ", compared with baseline ").and(Role::Name, baseline);
    document::markdown(&Document { title, sections, ..Document::default() })
}

fn rows<'a>(rows: impl IntoIterator<Item = &'a Row<'a>>) -> Block {
    let mut table = Table::new(["benchmark", "requests", "bytes", "peak bytes", ""].map(Column::new));
    for row in rows {
        let name = Words::name(row.target).and(Role::Own, " ").and(Role::Name, row.id);
        let verdict = if row.verdict == Verdict::Measured { "" } else { row.verdict.name() };
        let first = first(row).map(|words| format!("; {words}")).unwrap_or_default();
        let verdict = Words::of(role(row.verdict), verdict).and(Role::Own, first);
        let pairs = row.pairs.each_ref().map(|pair| Cell::text(in_a_cell(pair)).at_the_right());
        table.row(std::iter::once(Cell::text(name)).chain(pairs).chain([Cell::text(verdict)]));
    }
    Block::Table(table)
}

fn in_a_cell(pair: &Pair) -> Words {
    match levels(pair) {
        [Some(old), Some(new)] if pair.verdict != Verdict::Same => {
            let share = pair.share().map(|share| format!(" ({})", percent(share)));
            let new_role = if pair.verdict == Verdict::Worse { Role::Bad } else { Role::Own };
            let words = Words::own(format!("{old} → ")).and(new_role, new);
            words.and(Role::Own, share.unwrap_or_default())
        }
        [old, new] => Words::own(new.or(old).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::testing::{found, sides};
    use super::super::threshold::Thresholds;
    use super::*;
    use comrak::{Options, markdown_to_html};

    fn html(markdown: &str) -> String {
        let mut options = Options::default();
        (options.extension.table, options.extension.autolink) = (true, true);
        markdown_to_html(markdown, &options)
    }

    #[test]
    fn changes_are_reported_with_numbers() {
        let [old, new] = sides();
        let comparison = Comparison::new(Some("main"), Some(&old), &new, Thresholds::default());
        let text = super::text(&comparison, false);
        let expected = "
HEAP PER ITERATION  compared with baseline main
  worse     contest  grown
            requests   0 → 1   +1    worse
            bytes     0 → 48  +48    worse
            peak      0 → 48  +48    worse
  better    contest  less
            requests    2,000 → 1,500     −500  −25 %  better
            bytes              40,000     same
            peak      40,000 → 30,000  −10,000  −25 %  better
  same      contest  same
  varies    contest  slightly
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("new       other  new\\u{1b}[31m\n            requests   7\n"), "{text}");
        let summary = "6 benchmarks: 1 worse, 1 better, 1 differing no more than iterations or threshold, 1 the same, 1 new, 1 only \
                       in the baseline\n";
        assert!(text.ends_with(summary), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(super::text(&comparison, true).contains("\x1b[31mworse"));
    }

    #[test]
    fn a_first_iteration_that_changed_is_reported() {
        let [mut old, mut new] = [[found("t", "a", [0, 0, 0])], [found("t", "a", [0, 0, 0])]];
        old[0].bench.first.allocated_bytes = 5000;
        new[0].bench.first.allocated_bytes = 70_000;
        let text = super::text(&Comparison::new(Some("m"), Some(&old), &new, Thresholds::default()), false);
        assert!(
            text.contains("  same      t  a\n            first iteration: bytes 5,000 → 70,000\n"),
            "{text}"
        );
    }

    #[test]
    fn without_a_baseline_there_is_a_table_with_the_first_iteration_apart() {
        let mut new = vec![found("contest", "parse", [3, 4096, 1024]), found("contest", "sum", [0, 0, 0])];
        new[0].bench.first.allocations = 12;
        new[0].bench.max.allocated_bytes = 5000;
        new[0].bench.mean.allocated_bytes = 4186.4;
        let text = super::text(&Comparison::new(None, None, &new, Thresholds::default()), false);
        let expected = "
HEAP PER ITERATION
                       requests                  bytes   peak
  contest:
    parse                     3  4,186.4 (4,096..5,000)  1,024
      first iteration        12                  4,096  1,024
    sum                       0                      0      0
";
        let words = |text: &str| {
            text.lines()
                .map(|line| line.split_whitespace().map(str::to_owned).collect())
                .collect::<Vec<Vec<_>>>()
        };
        assert_eq!(words(&text), words(expected), "{text}");
    }

    #[test]
    fn a_pull_request_sees_what_changed_and_names_are_text() {
        let [old, new] = sides();
        let text = super::markdown(&Comparison::new(Some("main"), Some(&old), &new, Thresholds::default()));
        assert!(text.starts_with("### Heap per iteration, compared with baseline `main`\n\n**1 benchmark needs more.** 6 benchmarks"));
        assert!(
            text.contains("| `contest` `grown` | 0 → **1** | 0 → **48** | 0 → **48** | **worse** |"),
            "{text}"
        );
        assert!(
            text.contains("| 2,000 → 1,500 (−25 %) | 40,000 | 40,000 → 30,000 (−25 %) | better |"),
            "{text}"
        );
        assert!(text.contains("<summary>2 without a change that counts</summary>"), "{text}");
        let html = html(&text);
        assert_eq!(html.matches("<tr>").count(), 8, "{html}");
        assert_eq!(html.matches("<td").count(), 6 * 5, "{html}");
        // Ours alone: the fold's begin and its end.
        assert_eq!(html.matches("raw HTML omitted").count(), 2, "{html}");
        assert!(html.contains("<code>gone | &lt;b&gt;</code>"), "{html}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn more_than_fits_into_a_comment_is_counted() {
        let many: Vec<_> = (0..3000).map(|n| found("t", &format!("benchmark {n}"), [1, 1, 1])).collect();
        let text = super::markdown(&Comparison::new(None, None, &many, Thresholds::default()));
        assert!(text.len() < 65_000 && text.contains("more are left out here"), "{}", text.len());
        assert_eq!(html(&text).matches("<table>").count(), 1);
    }
}
