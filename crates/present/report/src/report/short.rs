//! The report on a terminal by default: a screen and a half with what matters most. `--full` has all of it.

use super::inside;
use super::places::TABLES;
use super::{Subject, counted, findings};
use crate::document::{Block, Mark, Section, Words};
use crate::units::{about, bytes, count, share, time};
use heapwise_analysis::{AllocatorTime, Measure, SiteId};
use heapwise_diagnosis::{Certainty, Estimate, Finding, Severity};
use std::collections::HashSet;

/// So many findings are shown, each in full.
pub(super) const FINDINGS: usize = 3;
/// So many places.
pub(super) const PLACES: usize = 5;
/// One part in so many of the time, or of the live peak, is worth something. Where allocating takes less of the run, what holds
/// memory is shown and not what allocates; and a finding that saves less is left to the whole report.
pub(super) const WORTH: u64 = 50;

/// A place that holds less than one part in so many of all resident memory is not worth a line.
pub(super) const LEAST_HELD: u64 = 100;

/// A call takes less than this, but for few.
const MOST_OF_CALL_NS: u64 = 1_000;
/// Of fewer calls there may be none that was measured.
const FEW_CALLS: u64 = 512;

/// The most rewarding findings.
pub(super) fn first_findings(subject: &Subject<'_>) -> Vec<Section> {
    findings::some(subject, &shown(subject), only_together(subject))
}

/// Whether there are findings and none is shown since each saves too little.
pub(super) fn shows_none(subject: &Subject<'_>) -> bool {
    subject.options.top > 0 && !subject.diagnosis.findings.is_empty() && worth(subject).is_empty()
}

/// Where those that are shown are in the whole list.
fn shown(subject: &Subject<'_>) -> Vec<usize> {
    let mut shown = worth(subject);
    shown.truncate(FINDINGS.min(subject.options.top));
    shown
}

/// Findings that are worth it, by their places in the whole list.
pub(super) fn worth(subject: &Subject<'_>) -> Vec<usize> {
    let all = &subject.diagnosis.findings;
    let Some(last) = all.iter().rposition(|finding| is_worth(subject, finding)) else {
        return if only_together(subject).is_some() { (0..all.len()).collect() } else { Vec::new() };
    };
    // What matters more is not left out where something behind it is shown.
    let counts = |at: &usize| all[*at].severity > Severity::Low || is_worth(subject, &all[*at]);
    (0..=last).filter(counts).collect()
}

/// Whether following a finding saves enough to begin with it. What has no estimate is for the reader to judge, unless it is a hint.
fn is_worth(subject: &Subject<'_>, finding: &Finding) -> bool {
    let (estimate, totals) = (&finding.estimate, &subject.analysis.totals);
    if *estimate == Estimate::default() {
        return finding.certainty > Certainty::Hint;
    }
    is_much(saved(subject, finding), run(subject, finding))
        || is_much(estimate.peak_bytes.0, totals.peak_live_bytes.0)
}

fn is_much(part: u64, whole: u64) -> bool {
    part > 0 && part.saturating_mul(WORTH) >= whole
}

fn n_requests(subject: &Subject<'_>) -> u64 {
    subject.analysis.totals.allocations + subject.analysis.totals.reallocations
}

/// What a finding saves of [`run`].
fn saved(subject: &Subject<'_>, finding: &Finding) -> u64 {
    let estimate = &finding.estimate;
    match time_in_calls(subject) {
        // The estimate is of the call alone; what its share of all calls takes is another one, and the larger one counts.
        Some(spent) => {
            let requests = u128::from(n_requests(subject).max(1));
            estimate.time.0.max((u128::from(spent) * u128::from(estimate.requests()) / requests) as u64)
        }
        // Time that is not in calls was measured all the same.
        None if estimate.requests() == 0 => estimate.time.0,
        None => estimate.requests(),
    }
}

/// The time of the run, or all requests where the time of calls was not measured and the finding is about them.
fn run(subject: &Subject<'_>, finding: &Finding) -> u64 {
    match time_in_calls(subject) {
        None if finding.estimate.requests() > 0 => n_requests(subject),
        _ => subject.analysis.duration.0,
    }
}

/// What to say where no finding saves enough time, but all of them do together. Each site counts once.
pub(super) fn only_together(subject: &Subject<'_>) -> Option<String> {
    let (all, duration) = (&subject.diagnosis.findings, subject.analysis.duration.0);
    measured(subject)?;
    let (mut sites, mut together, mut n) = (HashSet::<SiteId>::new(), 0_u64, 0);
    for finding in all {
        if is_worth(subject, finding) {
            return None;
        }
        let saves = finding.estimate.time.0 > 0;
        if saves && finding.sites.iter().all(|site| !sites.contains(site)) {
            sites.extend(&finding.sites);
            together = together.saturating_add(finding.estimate.time.0);
            n += 1;
        }
    }
    is_much(together, duration).then(|| {
        format!(
            "no finding saves {} of the time alone; {} together save {} of {}",
            share(1, WORTH),
            count(n),
            about(together),
            time(duration)
        )
    })
}

/// What to say if nothing is worth it.
pub(super) fn nothing(subject: &Subject<'_>) -> String {
    let verdict = match subject.diagnosis.unseen {
        // That is not the whole program.
        Some(_) => "of what is recorded, no",
        // There may be time to gain, if by nothing that is recognised.
        None if !takes_little(subject) => "no",
        None => "nothing here is worth a change: no",
    };
    let spent = spent(subject).map(|spent| format!("; {spent}")).unwrap_or_default();
    format!("{verdict} finding saves {} of the time or of the live peak{spent}", share(1, WORTH))
}

/// What calls of the allocator take of the run, and its error where that is large; what they take at most, about, where too few were
/// measured.
fn spent(subject: &Subject<'_>) -> Option<String> {
    let calls = if subject.diagnosis.unseen.is_some() { "its calls" } else { "calls of the allocator" };
    let run = time(subject.analysis.duration.0);
    let Some(spent) = measured(subject) else {
        let most = time_in_calls(subject).filter(|most| *most > 0)?;
        return Some(format!("{calls} take at most about {} of {run}", time(most)));
    };
    let is_vague = spent.error.0.saturating_mul(2) > spent.time.0;
    let error = if is_vague { format!(" (± {})", time(spent.error.0)) } else { String::new() };
    Some(format!("{calls} take {}{error} of {run}", time(spent.time.0)))
}

/// That there is little to gain, where calls of the allocator take little of the run, or blocks are next to nothing of what is resident.
pub(super) fn little_to_gain(subject: &Subject<'_>) -> Option<String> {
    let time = spent(subject).filter(|_| takes_little(subject));
    let time = time.map(|spent| format!("there is little time to gain: {spent}"));
    let (live, rss) = (subject.analysis.totals.peak_live_bytes.0, subject.analysis.memory.peak_rss.0);
    let memory = (live.saturating_mul(LEAST_HELD) < rss).then(|| {
        format!("there is little memory to gain: {} of {} is live at the peak", bytes(live), bytes(rss))
    });
    let parts: Vec<String> = time.into_iter().chain(memory).collect();
    let part = if subject.diagnosis.unseen.is_some() { "in what is recorded " } else { "" };
    (!parts.is_empty()).then(|| format!("{part}{}", parts.join("; ")))
}

/// Time in calls of the allocator, where that was measured.
fn measured(subject: &Subject<'_>) -> Option<AllocatorTime> {
    subject.analysis.allocator_time()
}

/// Its nanoseconds. Where too few calls were measured, all of them count as long ones.
fn time_in_calls(subject: &Subject<'_>) -> Option<u64> {
    if let Some(spent) = measured(subject) {
        return Some(spent.time.0);
    }
    let roughly = subject.analysis.measured_time().filter(|time| time.samples > 0);
    let is_short = roughly.is_some() || n_requests(subject) < FEW_CALLS;
    let at_most = n_requests(subject).saturating_mul(MOST_OF_CALL_NS);
    is_short.then(|| at_most.max(roughly.map_or(0, |time| time.time.0)))
}

/// The places that cost most.
pub(super) fn first_places(subject: &Subject<'_>) -> Vec<Section> {
    let measure = if is_about_time(subject) { Measure::Allocations } else { Measure::PeakBytes };
    let ranking = TABLES.iter().find(|ranking| ranking.measure == measure);
    ranking.map(|ranking| inside::in_short(subject, ranking, PLACES)).unwrap_or_default()
}

/// Whether calls of the allocator take enough time to be what a reader looks at first: what they take at least counts, within the error of
/// what was measured. Where it was not measured, counts are all that there is.
pub(super) fn is_about_time(subject: &Subject<'_>) -> bool {
    let error = measured(subject).map_or(0, |spent| spent.error.0);
    let least = time_in_calls(subject).map(|spent| spent.saturating_sub(error));
    least.is_none_or(|least| is_much(least, subject.analysis.duration.0))
}

/// Whether so much time can be gained by nothing that is recognised.
pub(super) fn has_time_to_gain(subject: &Subject<'_>) -> bool {
    time_in_calls(subject).is_some() && is_about_time(subject)
}

/// Whether calls take little of the run, within the error of what was measured, or it is not known what they take.
fn takes_little(subject: &Subject<'_>) -> bool {
    let most = measured(subject).map(|spent| spent.time.0.saturating_add(spent.error.0));
    !most.or_else(|| time_in_calls(subject)).is_some_and(|most| is_much(most, subject.analysis.duration.0))
}

/// What is left out.
pub(super) fn more(subject: &Subject<'_>) -> Vec<Section> {
    let hidden = (subject.diagnosis.findings.len() - shown(subject).len()) as u64;
    let findings = (hidden > 0).then(|| counted(hidden, "more finding", "more findings"));
    let rest = "memory over time, all tables of places, threads";
    let list = findings.into_iter().chain([rest.to_owned()]).collect::<Vec<_>>().join(", ");
    let text = Words::faint(format!("heapwise report --full has the rest: {list}"));
    vec![Section::untitled([Block::line(Mark::Plain, text)])]
}
