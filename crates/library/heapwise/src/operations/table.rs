//! The table for people, which is valid Markdown, too.

use super::{OperationReport, Report};
use heapwise_environment::harmless::escape;
use std::fmt;

const HEAD: [&str; 4] = ["Operation", "Mean bytes", "Mean count", "Peak live bytes"];
/// Letters of a name that are shown; longer names are cut.
const LONGEST: usize = 120;

impl fmt::Display for Report {
    /// The table, with a line for each that is missing something. Names are made harmless for terminals and Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self)
    }
}

/// Writes the table and notes about what is missing in it.
fn write(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    let rows: Vec<[String; 4]> = report.operations().map(row).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let [name, bytes, count, peak] = HEAD;
    let [a, b, c, d] = widths;
    writeln!(f, "| {name:a$} | {bytes:b$} | {count:c$} | {peak:d$} |")?;
    writeln!(f, "|-{:-<a$}-|-{:-<b$}-|-{:-<c$}-|-{:-<d$}-|", "", "", "", "")?;
    for [name, bytes, count, peak] in &rows {
        writeln!(f, "| {name:a$} | {bytes:>b$} | {count:>c$} | {peak:>d$} |")?;
    }
    report.operations().try_for_each(|operation| notes(f, operation))
}

fn row(operation: &OperationReport) -> [String; 4] {
    let mean = operation.mean();
    let per = |number: Option<f64>| number.map_or_else(|| "?".to_owned(), mean_number);
    let peak = operation.peak_live_bytes().map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
    [cell(operation.name()), per(mean.map(|m| m.allocated_bytes)), per(mean.map(|m| m.requests)), peak]
}

/// A mean: without decimals if it is whole or at least 1000, otherwise with two. A mean above 0 is never shown as 0.
fn mean_number(mean: f64) -> String {
    if mean.fract() == 0.0 || mean >= 1000.0 {
        format!("{mean:.0}")
    } else if mean < 0.005 {
        "<0.01".to_owned()
    } else {
        format!("{mean:.2}")
    }
}

/// A name that neither leaves its cell nor controls a terminal.
fn cell(name: &str) -> String {
    let mut shown: String = name.chars().take(LONGEST).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    escape(&shown).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('`', "'")
}

fn notes(f: &mut fmt::Formatter<'_>, operation: &OperationReport) -> fmt::Result {
    let name = cell(operation.name());
    match operation.unfinished_spans() {
        0 => {}
        1 => writeln!(f, "\n{name}: 1 span did not come to its end and is not counted")?,
        n => writeln!(f, "\n{name}: {n} spans did not come to their ends and are not counted")?,
    }
    match operation.late_guards() {
        0 => Ok(()),
        1 => writeln!(f, "\n{name}: 1 thread left its scope after the end, what it did is missing"),
        n => writeln!(f, "\n{name}: {n} times a thread left its scope after the end, what it did is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;

    #[test]
    fn means_are_as_exact_as_they_need_to_be() {
        let shown = [0.0, 0.0001, 0.25, 1.0, 999.999, 1000.4, 2_154_088_990.0].map(mean_number);
        assert_eq!(shown, ["0", "<0.01", "0.25", "1", "1000.00", "1000", "2154088990"]);
    }

    #[test]
    fn a_hostile_name_stays_in_its_cell() {
        let session = Session::new();
        drop(session.operation("a|b\n\u{1b}[31m<img>`x`\u{202e}").measure_thread());
        drop(session.operation("é".repeat(500)).measure_thread());
        drop(session.operation("short").measure_thread().iterations(0));
        let table = session.to_report().to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[2].starts_with("| a\\|b\\\\n\\\\u{1b}[31m&lt;img>'x'\\\\u{202e} "), "{table}");
        let lengths: Vec<usize> = lines[..5].iter().map(|line| line.chars().count()).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]) && lengths[0] < 200, "{table}");
        assert!(lines[4].starts_with("| short ") && lines[4].contains(" ? |"), "{table}");
        assert_eq!(lines[6], "short: 1 span did not come to its end and is not counted");
    }
}
