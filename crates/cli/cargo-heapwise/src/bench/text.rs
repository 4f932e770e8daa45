//! The result for a terminal.

use super::compare::{Comparison, Level, Pair, Row, Verdict};
use super::count;
use super::measure::BenchMeasure;
use super::numbers::{mean, percent, signed};
use heapwise_report::escape::terminal::escape;
use std::fmt::Write;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// All of it.
pub(crate) fn render(comparison: &Comparison<'_>, color: bool) -> String {
    let paint = |style: &'static str, text: &str| {
        if color { format!("{style}{text}{PLAIN}") } else { text.to_owned() }
    };
    let mut out = match comparison.baseline {
        None => format!("\n{}\n", paint(BOLD, "HEAP PER ITERATION")),
        Some(name) => format!("\n{}  compared with baseline {name}\n", paint(BOLD, "HEAP PER ITERATION")),
    };
    if comparison.baseline.is_none() {
        measured(&mut out, comparison);
        return out;
    }
    for row in &comparison.rows {
        let verdict = format!("{:<9}", row.verdict.name());
        let verdict = match row.verdict {
            Verdict::Worse => paint(RED, &verdict),
            Verdict::Better => paint(GREEN, &verdict),
            _ => verdict,
        };
        let _ = writeln!(out, "  {verdict} {}  {}", escape(row.target), escape(row.id));
        if row.verdict != Verdict::Same {
            table(&mut out, &row.pairs.iter().map(cells).collect::<Vec<_>>(), "            ");
        }
        if let Some(words) = first(row) {
            let _ = writeln!(out, "            {words}");
        }
    }
    let _ = writeln!(out, "{}", summary(comparison));
    out
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

/// What changed in the first iteration alone, which is told and not judged.
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

fn cells(pair: &Pair) -> Vec<String> {
    let (old, new) = (pair.old.as_ref().map(level), pair.new.as_ref().map(level));
    let levels = match (old, new) {
        (Some(old), Some(new)) if pair.verdict != Verdict::Same => format!("{old} → {new}"),
        (old, new) => new.or(old).unwrap_or_default(),
    };
    let mut cells = vec![pair.measure.title().to_owned(), levels];
    if let Some(change) = pair.change() {
        if pair.verdict == Verdict::Same {
            cells.push("same".to_owned());
        } else {
            cells.extend([
                signed(change),
                pair.share().map_or(String::new(), percent),
                pair.verdict.name().to_owned(),
            ]);
        }
    }
    cells
}

/// Rows whose cells stand below one another: the first one and the last one left, numbers right.
fn table(out: &mut String, rows: &[Vec<String>], margin: &str) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::from(margin);
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let is_left = column == 0 || column >= 4;
            let (before, after) = if is_left { ("", gap.as_str()) } else { (gap.as_str(), "") };
            let _ = write!(line, "{before}{cell}{after}  ");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn measured(out: &mut String, comparison: &Comparison<'_>) {
    let titles = BenchMeasure::ALL.map(|measure| measure.title().to_owned());
    let mut rows = vec![[vec![String::new()], titles.to_vec()].concat()];
    let mut target = None;
    for row in &comparison.rows {
        if target != Some(row.target) {
            rows.push(vec![format!("{}:", escape(row.target))]);
            target = Some(row.target);
        }
        let levels = |of: fn(&Level) -> String| {
            row.pairs.iter().map(move |p| p.new.as_ref().map_or(String::new(), of))
        };
        rows.push(std::iter::once(format!("  {}", escape(row.id))).chain(levels(level)).collect());
        if row.pairs.iter().filter_map(|pair| pair.new).any(|new| new.is_first_special()) {
            let first = |level: &Level| count(level.first);
            rows.push(std::iter::once("    first iteration".to_owned()).chain(levels(first)).collect());
        }
    }
    table(out, &rows, "  ");
}

#[cfg(test)]
mod tests {
    use super::super::compare::testing::{found, sides};
    use super::super::threshold::Thresholds;
    use super::*;

    #[test]
    fn changes_are_told_with_numbers() {
        let [old, new] = sides();
        let comparison = Comparison::new(Some("main"), Some(&old), &new, Thresholds::default());
        let text = render(&comparison, false);
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
        assert!(render(&comparison, true).contains("\x1b[31mworse"));
    }

    #[test]
    fn a_first_iteration_that_changed_is_told() {
        let [mut old, mut new] = [[found("t", "a", [0, 0, 0])], [found("t", "a", [0, 0, 0])]];
        old[0].bench.first.allocated_bytes = 5000;
        new[0].bench.first.allocated_bytes = 70_000;
        let text = render(&Comparison::new(Some("m"), Some(&old), &new, Thresholds::default()), false);
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
        let text = render(&Comparison::new(None, None, &new, Thresholds::default()), false);
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
}
