//! For a terminal.

use super::wording;
use crate::escape::terminal::escape;
use crate::style::Style;
use crate::text::page::{Ink, Page, left, right};
use heapwise_trial::compare::{Comparison, RunMeasure, Standing};

/// From so many columns on, numbers have their ranges, and names their versions.
const WIDE: usize = 118;

pub(super) fn text(comparison: &Comparison, style: Style) -> String {
    let mut page = Page::new(style);
    let command = wording::command(comparison);
    page.line(&[(Some(Ink::Heading), &format!("heapwise compare -- {}", escape(&command)))]);
    page.paragraph(Some(Ink::Faint), "", &wording::course(comparison));
    if let Some(drive) = wording::drive(comparison) {
        page.paragraph(Some(Ink::Faint), "", &escape(&drive));
    }
    page.paragraph(Some(Ink::Faint), "", &escape(&comparison.setup.machine.to_string()));
    let findings = wording::findings(comparison);
    if !findings.is_empty() {
        page.heading("NOT THE SAME", "what the program did otherwise than as it is");
        for (name, what) in findings {
            page.paragraph(Some(Ink::Caveat), "  ! ", &escape(&format!("{name}: {what}")));
        }
    }
    table(&mut page, comparison);
    beside(&mut page, comparison);
    let mind: Vec<String> =
        wording::unavailable(comparison).into_iter().chain(comparison.notes.iter().cloned()).collect();
    if !mind.is_empty() {
        page.heading("MIND", "");
        for note in mind {
            page.paragraph(Some(Ink::Caveat), "  ! ", &escape(&note));
        }
    }
    page.heading("WHAT IT MEANS", "");
    for sentence in wording::conclusion(comparison) {
        page.paragraph(None, "  → ", &escape(&sentence));
    }
    page.finish()
}

/// What a column is called where there is little room.
fn title(measure: RunMeasure) -> &'static str {
    match measure {
        RunMeasure::Wall => "wall",
        RunMeasure::Cpu => "CPU",
        RunMeasure::EndRss => "RSS at end",
        RunMeasure::AfterLoad => "RSS loaded",
        RunMeasure::AfterSettle => "RSS settled",
        RunMeasure::Faults => "faults",
        RunMeasure::PeakRss => "peak RSS",
    }
}

fn table(page: &mut Page, comparison: &Comparison) {
    let measures = comparison.measures();
    let rows = |is_wide: bool| -> Vec<Vec<String>> {
        let row = |standing: &Standing| measures.iter().map(|m| cell(standing, *m, is_wide)).collect();
        comparison.standings.iter().map(row).collect()
    };
    let longest_name = |is_wide: bool| {
        comparison.standings.iter().map(|s| name(s, is_wide).chars().count()).max().unwrap_or(0)
    };
    // Ranges are shown where nothing has to be cut for them.
    let wide = rows(true);
    let needed = |at: usize| wide.iter().map(|row| row[at].chars().count() + 2).max().unwrap_or(0);
    let all: usize = (0..measures.len()).map(needed).sum();
    let is_wide = page.columns >= WIDE && all + longest_name(true).min(24) + 2 <= page.columns;
    let cells = if is_wide { wide } else { rows(false) };
    let width = |at: usize| {
        let longest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        longest.max(title(measures[at]).chars().count())
    };
    let widths: Vec<usize> = (0..measures.len()).map(width).collect();
    let numbers: usize = widths.iter().map(|width| width + 2).sum();
    // What is left is for names; numbers are worth more than the end of a name.
    let names = page.columns.saturating_sub(numbers + 2).clamp(8, 40);
    let names = names.min(longest_name(is_wide).max(8));
    let aside = if is_wide {
        "of runs that count, and in brackets the least and the greatest"
    } else {
        "of runs that count"
    };
    page.heading("MEDIANS", aside);
    let row = |cells: Vec<String>| -> String {
        cells.iter().zip(&widths).map(|(cell, width)| format!("  {}", right(cell, *width))).collect()
    };
    let head = row(measures.iter().map(|m| title(*m).to_owned()).collect());
    page.line(&[(None, "  "), (None, &" ".repeat(names)), (Some(Ink::Faint), &head)]);
    for (standing, cells) in comparison.standings.iter().zip(cells) {
        let name = left(&escape(&name(standing, is_wide)), names);
        page.line(&[(None, "  "), (Some(Ink::Name), &name), (None, &row(cells))]);
    }
}

fn name(standing: &Standing, is_wide: bool) -> String {
    if is_wide { wording::who(standing) } else { standing.candidate.label.clone() }
}

fn cell(standing: &Standing, measure: RunMeasure, is_wide: bool) -> String {
    let Some(spread) = standing.spread(measure) else { return "–".to_owned() };
    let median = wording::number(measure, spread.median);
    if !is_wide || measure == RunMeasure::Faults || measure == RunMeasure::Wall {
        return median;
    }
    let bare =
        |number: f64| wording::number(measure, number).split(' ').next().unwrap_or_default().to_owned();
    // The unit of the median stands for all three where it is theirs.
    let unit = |number: f64| wording::number(measure, number).split(' ').nth(1).map(str::to_owned);
    if unit(spread.low) == unit(spread.median) && unit(spread.high) == unit(spread.median) {
        return format!("{median} ({}..{})", bare(spread.low), bare(spread.high));
    }
    median
}

/// Each candidate beside the program as it is.
fn beside(page: &mut Page, comparison: &Comparison) {
    if comparison.setup.rounds < 3 {
        return;
    }
    page.heading("BESIDE THE PROGRAM AS IT IS", &escape(&wording::aside(comparison.baseline())));
    let measures = comparison.measures();
    for standing in comparison.candidates() {
        let who = wording::who(standing);
        if who.chars().count() + 2 <= page.columns {
            page.line(&[(None, "  "), (Some(Ink::Name), &escape(&who))]);
        } else {
            page.line(&[(None, "  "), (Some(Ink::Name), &escape(&standing.candidate.label))]);
            page.line(&[(None, "    "), (Some(Ink::Faint), &escape(&wording::aside(standing)))]);
        }
        if standing.counted.is_empty() {
            page.paragraph(None, "    ", "no run counts");
            continue;
        }
        for (what, those) in wording::verdicts(standing, &measures) {
            if those.is_empty() {
                continue;
            }
            page.paragraph(None, "    ", &format!("{what}: {}", those.join(", ")));
        }
        if let Some(freed) = wording::lazily_freed(standing) {
            page.paragraph(Some(Ink::Faint), "    ", &freed);
        }
    }
    if let Some(about) = wording::about_noise(comparison) {
        page.paragraph(Some(Ink::Faint), "  ", &about);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;

    #[test]
    fn it_fits_narrow_and_wide_terminals() {
        for width in [80, 120] {
            let text = text(&comparison(), Style { color: false, width });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(!text.contains('\x1b'), "{text}");
        }
    }

    #[test]
    fn findings_come_first_and_noise_is_said() {
        let text = text(&comparison(), Style { color: false, width: 80 });
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("NOT THE SAME") < at("MEDIANS"));
        assert!(
            at("  ! broken: killed by SIGSEGV, saying “\\u{1b}[31m<b>|`x`”, in all runs") < at("MEDIANS")
        );
        assert!(text.contains("less: CPU time −50 % ("), "{text}");
        assert!(text.contains("within the noise: wall time"), "{text}");
        assert!(text.contains("Least CPU time: quick, 500.0 ms instead of 1.00 s, −50 %"), "{text}");
        assert!(text.contains("no run counts"), "{text}");
        assert!(text.contains("absent was left out: not installed"), "{text}");
    }
}
