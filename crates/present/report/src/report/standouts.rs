//! Places that stand out, in words; for programs in which nothing else was found.

use super::places::{Ranking, TABLES};
use super::{Subject, short};
use crate::document::{Block, Mark, Role, Section, Words};
use crate::units::{bytes, share};
use heapwise_analysis::Measure;

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    if !subject.diagnosis.findings.is_empty() {
        return Vec::new();
    }
    let little_time = short::little_time(subject);
    let is_memory = |measure| matches!(measure, Measure::PeakBytes | Measure::LiveAtExitBytes);
    let rankings = TABLES.iter().filter(|ranking| little_time.is_none() || is_memory(ranking.measure));
    let mut lines: Vec<Block> = rankings.filter_map(|ranking| line(subject, ranking)).collect();
    if let Some(little_time) = little_time {
        lines.insert(0, Block::line(Mark::Item, little_time));
    }
    if subject.diagnosis.unseen.is_some() {
        // Nothing was found in what is recorded; that is not the whole program.
        let text = "only recorded blocks are judged; see above for what is not recorded";
        lines.insert(0, Block::line(Mark::Item, Words::of(Role::Caveat, text)));
    }
    if lines.is_empty() { Vec::new() } else { vec![Section::new("Findings", lines)] }
}

fn line(subject: &Subject<'_>, ranking: &Ranking) -> Option<Block> {
    let whole = ranking.measure.of_run(subject.analysis);
    let row = subject.rows.top(ranking.measure, 1).first().copied()?;
    if subject.analysis.sampled.is_some() && row.samples < heapwise_diagnosis::ENOUGH_SAMPLES {
        return None;
    }
    let part = ranking.measure.of(&row.sums);
    // A tenth of the whole is worth mentioning; less is not where to begin. Of an estimate, what it is at least counts.
    if whole == 0 || row.interval(ranking.measure).low.saturating_mul(10) < whole {
        return None;
    }
    let what = match ranking.measure {
        Measure::Allocations if subject.diagnosis.unseen.is_some() => {
            format!("makes {} of the recorded allocations", share(part, whole))
        }
        Measure::Allocations => format!("makes {} of all allocations", share(part, whole)),
        Measure::PeakBytes => format!("holds {} of the live peak ({})", share(part, whole), bytes(part)),
        Measure::TemporaryAllocations if whole * 10 >= subject.analysis.totals.allocations => {
            format!("makes {} of the temporary allocations", share(part, whole))
        }
        Measure::LiveAtExitBytes if part >= 1 << 20 => {
            let goes_on = subject.analysis.processes.iter().any(|process| process.still_running);
            format!("still holds {} at {}", bytes(part), if goes_on { "the end" } else { "exit" })
        }
        _ => return None,
    };
    Some(Block::line(Mark::Item, format!("{} {what}", row.in_words())))
}
