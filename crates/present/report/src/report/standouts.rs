//! Places that stand out, in words; for programs in which nothing else was found, or nothing that saves enough.

use super::places::{Ranking, TABLES};
use super::rows::Row;
use super::{Subject, findings, short};
use crate::document::{Block, Mark, Role, Section, Words};
use crate::units::{bytes, count, share};
use heapwise_analysis::{Measure, SiteId};

/// What else the reader has to know where something was not recorded.
pub(crate) const ONLY_RECORDED: &str = "only recorded blocks are judged; see above for what is not recorded";

/// A place, and what it stands out with.
#[derive(Clone, Debug)]
pub(crate) struct Standout {
    pub(crate) sites: Vec<SiteId>,
    /// Each with the measure: `makes 31 % of all allocations (48,201)`.
    pub(crate) facts: Vec<(Measure, String)>,
}

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    if !subject.diagnosis.findings.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<Block> = facts(subject).map(|fact| line(&fact)).collect();
    if let Some(little) = short::little_to_gain(subject) {
        lines.insert(0, Block::line(Mark::Item, little));
    }
    if subject.diagnosis.unseen.is_some() {
        lines.insert(0, Block::line(Mark::Item, Words::of(Role::Caveat, ONLY_RECORDED)));
    }
    if lines.is_empty() { Vec::new() } else { vec![Section::new("Findings", lines)] }
}

/// The same for a terminal, where findings that save too little are left out.
pub(super) fn in_short(subject: &Subject<'_>) -> Vec<Section> {
    if !short::shows_none(subject) {
        return sections(subject);
    }
    let is_of_time = short::has_time_to_gain(subject);
    let places = facts(subject).filter(|_| is_of_time).map(|fact| line(&fact));
    vec![findings::none(subject, short::nothing(subject), places)]
}

/// Each place once, with all of its facts, in the order of the first of each.
pub(super) fn places(subject: &Subject<'_>) -> Vec<Standout> {
    let mut places: Vec<(*const Row, Standout)> = Vec::new();
    for Fact { row, measure, what } in facts(subject) {
        match places.iter_mut().find(|(of, _)| std::ptr::eq(*of, row)) {
            Some((_, place)) => place.facts.push((measure, what)),
            None => {
                places.push((row, Standout { sites: row.sites().collect(), facts: vec![(measure, what)] }));
            }
        }
    }
    places.into_iter().map(|(_, place)| place).collect()
}

struct Fact<'a> {
    row: &'a Row,
    measure: Measure,
    what: String,
}

fn line(fact: &Fact<'_>) -> Block {
    Block::line(Mark::Item, format!("{} {}", fact.row.in_words(), fact.what))
}

/// The place that leads in each measure that matters here: where calls take little time, what allocates does not.
fn facts<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = Fact<'a>> {
    let is_of_time = short::is_about_time(subject);
    let rankings = TABLES.iter().filter(move |ranking| is_of_time || is_of_memory(ranking.measure));
    rankings.filter_map(|ranking| fact(subject, ranking))
}

fn is_of_memory(measure: Measure) -> bool {
    matches!(measure, Measure::PeakBytes | Measure::LiveAtExitBytes)
}

fn fact<'a>(subject: &'a Subject<'_>, ranking: &Ranking) -> Option<Fact<'a>> {
    let measure = ranking.measure;
    let whole = measure.of_run(subject.analysis);
    let row = subject.rows.top(measure, 1).first().copied()?;
    if subject.analysis.sampled.is_some() && row.samples < heapwise_diagnosis::ENOUGH_SAMPLES {
        return None;
    }
    let part = measure.of(&row.sums);
    // A tenth of the whole is worth mentioning; less is not where to begin. Of an estimate, what it is at least counts.
    if whole == 0 || row.interval(measure).low.saturating_mul(10) < whole {
        return None;
    }
    // What holds next to nothing of all memory holds nothing that could be gained.
    if is_of_memory(measure) && part.saturating_mul(short::LEAST_HELD) < subject.analysis.memory.peak_rss.0 {
        return None;
    }
    let part_of = format!("{} of", share(part, whole));
    let what = match measure {
        Measure::Allocations if subject.diagnosis.unseen.is_some() => {
            format!("makes {part_of} the recorded allocations ({})", count(part))
        }
        Measure::Allocations => format!("makes {part_of} all allocations ({})", count(part)),
        Measure::PeakBytes => format!("holds {part_of} the live peak ({})", bytes(part)),
        Measure::TemporaryAllocations if whole * 10 >= subject.analysis.totals.allocations => {
            format!("makes {part_of} the temporary allocations ({})", count(part))
        }
        Measure::LiveAtExitBytes if part >= 1 << 20 => {
            let goes_on = subject.analysis.processes.iter().any(|process| process.still_running);
            format!("still holds {} at {}", bytes(part), if goes_on { "the end" } else { "exit" })
        }
        _ => return None,
    };
    Some(Fact { row, measure, what })
}
