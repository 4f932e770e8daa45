//! For a comment on a pull request.

use super::wording;
use crate::markdown::escape::{Spot, code, prose};
use crate::markdown::head::warn;
use crate::markdown::table::{Table, folded};
use crate::names::fit;
use heapwise_trial::compare::{Comparison, RunMeasure, Standing};

/// Characters of a command line that are shown.
const LONGEST_COMMAND: usize = 200;

pub(super) fn markdown(comparison: &Comparison) -> String {
    let command = fit(&wording::command(comparison), LONGEST_COMMAND);
    let mut out = format!("### heapwise compare: {}\n\n", code(&command, Spot::Line));
    for sentence in wording::conclusion(comparison) {
        out.push_str(&format!("- {}\n", prose(&sentence, Spot::Line)));
    }
    let findings = wording::findings(comparison).into_iter().map(|(name, what)| format!("{name}: {what}"));
    let notes = wording::unavailable(comparison).into_iter().chain(comparison.notes.iter().cloned());
    warn(&mut out, findings.chain(notes));
    out.push('\n');
    out.push_str(&differences(comparison));
    out.push_str(&folded("Medians, with the least and the greatest", &medians(comparison)));
    let mut about = format!("{}. {}.", wording::course(comparison), comparison.setup.machine);
    if let Some(drive) = wording::drive(comparison) {
        about.push_str(&format!(" The program ran {drive}."));
    }
    if let Some(noise) = wording::about_noise(comparison) {
        about.push_str(&format!(" {noise}"));
    }
    out.push_str(&format!("\n{}\n", prose(&about, Spot::Line)));
    out
}

fn table(comparison: &Comparison, cell: impl Fn(&Standing, RunMeasure) -> String, skip: usize) -> String {
    let measures = comparison.measures();
    let titles: Vec<String> = std::iter::once("allocator".to_owned())
        .chain(measures.iter().map(|m| format!("{}:", m.title())))
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    for standing in comparison.standings.iter().skip(skip) {
        let mut row = vec![format!(
            "{} {}",
            code(&standing.candidate.label, Spot::Cell),
            prose(&wording::aside(standing), Spot::Cell)
        )];
        // Numbers and our own words.
        row.extend(measures.iter().map(|m| cell(standing, *m)));
        table.row(&row);
    }
    table.finish()
}

fn differences(comparison: &Comparison) -> String {
    let cell = |standing: &Standing, measure: RunMeasure| {
        let without = if standing.counted.is_empty() { "no run counts" } else { "–" };
        standing.differences.get(&measure).map_or(without.to_owned(), wording::cell)
    };
    table(comparison, cell, 1)
}

fn medians(comparison: &Comparison) -> String {
    let cell = |standing: &Standing, measure: RunMeasure| match standing.spread(measure) {
        None => "–".to_owned(),
        Some(spread) => {
            let [median, low, high] =
                [spread.median, spread.low, spread.high].map(|n| wording::number(measure, n));
            format!("{median} ({low}..{high})")
        }
    };
    table(comparison, cell, 0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;

    #[test]
    fn it_is_a_table_and_what_a_program_says_stays_text() {
        let text = markdown(&comparison());
        assert!(text.starts_with("### heapwise compare: `prog --x ''\\''\\u{1b}<b>'\\'''`\n"), "{text}");
        assert!(text.contains("| `quick` 1\\.2.3 | within the noise | −50 % ("), "{text}");
        assert!(
            text.contains("> - broken: killed by SIGSEGV, saying “\\\\u\\{1b\\}\\[31m\\<b\\>\\|`x`”"),
            "{text}"
        );
        assert!(!text.contains("<b>|"), "{text}");
    }
}
