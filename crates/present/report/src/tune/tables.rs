//! The tables of a search.

use super::Tuned;
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::units::{bytes, signed_percent, time};
use heapwise_trial::compare::{Comparison, Difference, RunMeasure, Standing, Verdict};
use heapwise_trial::statistics::Spread;
use heapwise_trial::tune::{Objective, Ranked};

/// Candidates that are shown at once; the others are folded.
const SHOWN: usize = 12;

fn size(spread: Option<Spread>) -> Cell {
    let Some(Spread { median, low, high }) = spread else { return Cell::nothing() };
    let word = |n: f64| bytes(n as u64);
    Cell::spread(word(median), format!("{} ({}..{})", word(median), word(low), word(high)))
}

fn duration(spread: Option<Spread>) -> Cell {
    let Some(Spread { median, low, high }) = spread else { return Cell::nothing() };
    let word = |n: f64| time(n.round() as u64);
    Cell::spread(word(median), format!("{} ({}..{})", word(median), word(low), word(high)))
}

/// A factor as a change: 0.7 is −30 %.
pub(super) fn change(factor: f64) -> String {
    signed_percent(factor - 1.0, 0)
}

fn score(ranked: &Ranked, is_baseline: bool) -> Cell {
    let Some(score) = ranked.score.filter(|_| !is_baseline) else {
        return if is_baseline { Cell::number("now") } else { Cell::nothing() };
    };
    let [value, low, high] = [score.value, score.low, score.high].map(change);
    if low == value && high == value {
        return Cell::number(value);
    }
    Cell::number(format!("{value} ({}..{})", low.trim_end_matches(" %"), high.trim_end_matches(" %")))
}

/// The candidates by the goal, best first; the current allocator is never folded.
pub(super) fn ranked(tuned: &Tuned<'_>) -> Section {
    let found = tuned.found;
    let has = |measure: Objective| found.ranked.iter().any(|r| r.numbers.of(measure).is_some());
    let measures: Vec<Objective> = Objective::ALL.into_iter().filter(|m| has(*m)).collect();
    let mut columns = vec![Column::new("candidate"), Column::detail("version"), Column::new("goal")];
    for measure in &measures {
        let title = match measure {
            Objective::PeakRss => "peak RSS",
            Objective::RssAfter => "RSS after",
            Objective::Cpu => "CPU",
            Objective::Latency => "p99.9",
        };
        let is_detail = *measure == Objective::Latency && !found.goal.wants(Objective::Latency);
        columns.push(if is_detail { Column::detail(title) } else { Column::new(title) });
    }
    columns.push(Column::detail("after a call that returns pages to the system"));
    columns.push(Column::new("front"));
    let row = |(at, ranked): (usize, &Ranked)| {
        let mut row = vec![
            Cell::text(ranked.candidate.to_string()),
            Cell::text(crate::replay::version(&ranked.version)),
            match &ranked.trouble {
                // The reason is given below; names of candidates need the room.
                Some(_) => Cell::text("failed"),
                None => score(ranked, at == found.baseline),
            },
        ];
        for measure in &measures {
            let spread = ranked.numbers.of(*measure);
            row.push(match measure {
                Objective::PeakRss | Objective::RssAfter => size(spread),
                Objective::Cpu | Objective::Latency => duration(spread),
            });
        }
        let purged = ranked.numbers.purged();
        row.push(purged.map_or_else(Cell::nothing, |rss| Cell::number(bytes(rss as u64))));
        row.push(Cell::text(if ranked.is_on_front { "*" } else { "" }));
        Row::of(row)
    };
    let all = found.ranked.iter().enumerate();
    let (shown, more): (Vec<_>, Vec<_>) = all.partition(|(at, _)| *at < SHOWN || *at == found.baseline);
    let rows = shown.into_iter().map(row).collect();
    let more = more.into_iter().map(row).collect();
    let [a, b] = found.front_of.map(Objective::title);
    let table = Table { rows, more, ..Table::new(columns) };
    Section::new("On replays", [Block::Table(table)]).aside(format!("* none is better in both {a} and {b}"))
}

/// The results on the program itself.
pub(super) fn confirmed(tuned: &Tuned<'_>) -> Option<Section> {
    let comparison = tuned.comparison?;
    let measures: Vec<RunMeasure> =
        comparison.measures().into_iter().filter(|m| *m != RunMeasure::Faults).collect();
    let columns = std::iter::once("candidate").chain(measures.iter().map(|m| short(*m)));
    let mut table = Table::new(columns.map(Column::new));
    for standing in &comparison.standings {
        let name = Cell::text(standing.candidate.label.clone());
        table.row(std::iter::once(name).chain(measures.iter().map(|measure| cell(standing, *measure))));
    }
    Some(Section::new("On the program itself", [Block::Table(table)]).aside(course(comparison)))
}

/// A title that leaves room for names of candidates.
fn short(measure: RunMeasure) -> &'static str {
    match measure {
        RunMeasure::Wall => "wall",
        RunMeasure::Cpu => "CPU",
        RunMeasure::EndRss => "end RSS",
        RunMeasure::AfterLoad => "after load",
        RunMeasure::AfterSettle => "after idle",
        RunMeasure::PeakRss | RunMeasure::Faults => measure.title(),
    }
}

fn course(comparison: &Comparison) -> String {
    format!("medians of {} rounds, shuffled; ~ is within the noise", comparison.setup.rounds)
}

fn cell(standing: &Standing, measure: RunMeasure) -> Cell {
    let Some(spread) = standing.spread(measure) else { return Cell::nothing() };
    let number = if measure.is_memory() { bytes(spread.median as u64) } else { time(spread.median as u64) };
    match standing.differences.get(&measure) {
        None => Cell::number(number),
        Some(difference) => Cell::spread(
            format!("{number} {}", verdict(difference)),
            format!(
                "{number} {} ({}..{})",
                verdict(difference),
                change(difference.low),
                change(difference.high)
            ),
        ),
    }
}

fn verdict(difference: &Difference) -> String {
    match difference.verdict {
        Verdict::Lower | Verdict::Higher => change(difference.ratio),
        Verdict::WithinNoise | Verdict::TooFew => "~".to_owned(),
    }
}
