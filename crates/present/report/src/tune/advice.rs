//! The recommendation, the lines to paste, and the costs.

use super::tables::change;
use super::{Tuned, Untried};
use crate::document::{Snippet, Title};
use crate::report::together::together;
use crate::units::{bytes, share, time};
use heapwise_allocators::Candidate;
use heapwise_trial::compare::{RunMeasure, Standing, Verdict};
use heapwise_trial::statistics::MATTERS;
use heapwise_trial::tune::{Choice, Objective, Ranked, Reason, Verified, has_enough_rounds, real};

pub(super) fn caveats(tuned: &Tuned<'_>) -> Vec<String> {
    let mut caveats: Vec<String> = tuned.analysis.warnings.iter().map(ToString::to_string).collect();
    caveats.extend(together(tuned.analysis, tuned.process));
    for ranked in &tuned.found.ranked {
        if let Some(trouble) = &ranked.trouble {
            caveats.push(format!("{}: {trouble}", ranked.candidate));
        }
    }
    if let Some(comparison) = tuned.comparison {
        for standing in &comparison.standings {
            let findings = standing.findings.iter();
            caveats.extend(findings.map(|f| format!("{}: {}", standing.candidate.label, f.what)));
        }
        caveats.extend(comparison.unavailable.iter().map(|u| format!("{}: {}", u.label, u.reason)));
        caveats.extend(comparison.notes.iter().cloned());
    }
    caveats.extend(interrupt(tuned));
    caveats.extend(tuned.notes.iter().cloned());
    if let Some(Untried::Failed(why)) = tuned.untried {
        caveats.push(format!("Nothing was tried on the program itself: {why}"));
    }
    caveats
}

/// Whether the search, or what followed it, was ended early.
pub(super) fn is_interrupted(tuned: &Tuned<'_>) -> bool {
    tuned.found.is_interrupted || is_interrupted_later(tuned)
}

fn is_interrupted_later(tuned: &Tuned<'_>) -> bool {
    match tuned.comparison {
        Some(comparison) => comparison.is_interrupted,
        None => tuned.untried == Some(&Untried::Interrupted),
    }
}

/// What is unknown because the user interrupted.
fn interrupt(tuned: &Tuned<'_>) -> Option<String> {
    let found = tuned.found;
    Some(match (found.is_interrupted, found.tried()) {
        (true, 0) => "Interrupted before anything was replayed.".to_owned(),
        (true, tried) if tried < found.ranked.len() => format!(
            "Interrupted when {tried} of {} candidates were replayed; others may be better.",
            found.ranked.len()
        ),
        (true, _) => "Interrupted before the best were distinguished; others may be better.".to_owned(),
        _ if is_interrupted_later(tuned) => {
            "Interrupted while the best were tried on the program itself; the search was complete.".to_owned()
        }
        _ => return None,
    })
}

pub(super) fn conclusion(tuned: &Tuned<'_>) -> Vec<String> {
    let mut sentences = vec![what_to_do(tuned)];
    sentences.extend(cost(tuned));
    sentences.extend(call(tuned));
    sentences.push(allocator_share(tuned));
    sentences
}

fn what_to_do(tuned: &Tuned<'_>) -> String {
    let now = &tuned.found.baseline().candidate;
    match tuned.choice {
        Choice::Stay(Reason::NothingIsBetter) => format!(
            "Stay with {now}: on replays nothing {} by {:.0} % or more.",
            better(tuned),
            MATTERS * 100.0
        ),
        Choice::Stay(Reason::Interrupted) => format!(
            "Nothing is recommended instead of {now}: the search was interrupted before it could tell whether something {}.",
            better(tuned)
        ),
        Choice::Stay(Reason::Unrecorded) => format!(
            "Nothing is recommended, neither {now} nor another candidate: {}.",
            heapwise_diagnosis::unseen(tuned.analysis)
                .map_or("a good part of the memory is not recorded".to_owned(), |unseen| unseen.sentence)
        ),
        Choice::Stay(Reason::NotConfirmed) => format!(
            "Stay with {now}: what was better on replays was not on the program itself, or only by noise or less than {:.0} %.",
            MATTERS * 100.0
        ),
        Choice::Take { candidate, verified: Verified::ByTheProgram, factor } => format!(
            "Take {candidate} ({}): on the program itself {} is at {}.",
            candidate.version(),
            judged_on_the_program(tuned, candidate),
            change(*factor)
        ),
        Choice::Take { candidate, verified: Verified::ByReplay, factor } => format!(
            "Take {candidate} ({}): on replays {} is at {}. {}",
            candidate.version(),
            judged(tuned, Objective::title),
            change(*factor),
            not_confirmed(tuned)
        ),
    }
}

/// The goal in words: for one measure, less of it.
fn better(tuned: &Tuned<'_>) -> String {
    match tuned.found.goal.weights() {
        [(measure, _)] => format!("needs less {}", measure.title()),
        _ => "does better at the goal".to_owned(),
    }
}

/// What a factor refers to: a measure, or the goal, whose weights are at the head of the report.
fn judged(tuned: &Tuned<'_>, title: impl Fn(Objective) -> &'static str) -> &'static str {
    match tuned.found.goal.weights() {
        [(measure, _)] => title(*measure),
        _ => "the goal",
    }
}

/// The same for the program itself, where memory after the load is one of several measures.
fn judged_on_the_program(tuned: &Tuned<'_>, candidate: &Candidate) -> &'static str {
    let standing = standing(tuned, candidate);
    judged(tuned, |measure| {
        standing.and_then(|s| real(measure, s)).map_or(measure.title(), RunMeasure::title)
    })
}

/// Why a recommendation is based on replays only, and what to do about it.
fn not_confirmed(tuned: &Tuned<'_>) -> String {
    const NOT_TRIED: &str = "It was not tried on the program itself";
    if let Some(comparison) = tuned.comparison.filter(|c| !has_enough_rounds(&tuned.found.goal, c)) {
        let why = if comparison.is_interrupted { "it was interrupted" } else { "--runs 5 is enough" };
        return format!(
            "The program itself ran too few rounds to tell ({}): {why}.",
            comparison.setup.rounds
        );
    }
    match tuned.untried {
        Some(Untried::NoCommand) => format!("{NOT_TRIED}; add its command after -- to try it."),
        Some(Untried::NotWanted) => format!("{NOT_TRIED}; without --confirm 0 it would be."),
        Some(Untried::Interrupted) => format!("{NOT_TRIED}, for the search was interrupted."),
        Some(Untried::Failed(_)) => format!("{NOT_TRIED}, for that did not work."),
        Some(Untried::NothingToTry) | None => format!("{NOT_TRIED}."),
    }
}

fn ranked<'a>(tuned: &'a Tuned<'_>, candidate: &Candidate) -> Option<&'a Ranked> {
    tuned.found.ranked.iter().find(|r| r.candidate == *candidate)
}

fn standing<'a>(tuned: &Tuned<'a>, candidate: &Candidate) -> Option<&'a Standing> {
    tuned.comparison?.standing(candidate)
}

/// Other effects of the recommendation.
fn cost(tuned: &Tuned<'_>) -> Option<String> {
    let Choice::Take { candidate, verified, .. } = tuned.choice else { return None };
    let changes: Vec<String> = match verified {
        Verified::ByTheProgram => {
            let standing = standing(tuned, candidate)?;
            let measures =
                tuned.comparison?.measures().into_iter().filter(|real| *real != RunMeasure::Faults);
            let changes = measures.filter_map(|real| {
                let difference = standing.differences.get(&real)?;
                Some(match difference.verdict {
                    Verdict::Lower | Verdict::Higher => format!(
                        "{} {} ({}..{})",
                        real.title(),
                        change(difference.ratio),
                        change(difference.low),
                        change(difference.high)
                    ),
                    Verdict::WithinNoise | Verdict::TooFew => format!("{} within the noise", real.title()),
                })
            });
            changes.collect()
        }
        Verified::ByReplay => {
            let (its, base) = (ranked(tuned, candidate)?, tuned.found.baseline());
            let changes = Objective::ALL.into_iter().filter_map(|measure| {
                let (a, b) = (its.numbers.of(measure)?.median, base.numbers.of(measure)?.median);
                let title = if measure == Objective::Cpu { "CPU time for the heap" } else { measure.title() };
                Some(format!("{title} {}", change(a / b.max(1.0))))
            });
            changes.collect()
        }
    };
    (!changes.is_empty()).then(|| format!("What it changes: {}.", changes.join(", ")))
}

/// The alternative of a call that returns pages to the system, if that has a large effect.
fn call(tuned: &Tuned<'_>) -> Option<String> {
    if !tuned.found.goal.wants(Objective::RssAfter) {
        return None;
    }
    let now = tuned.found.baseline();
    let (after, purged) = (now.numbers.of(Objective::RssAfter)?.median, now.numbers.purged()?);
    let call = now.candidate.fix().calls.into_iter().next()?;
    (purged < after * 0.7).then(|| {
        format!(
            "Or stay with {} and call `{}`, {}: on the replay it left {} of {}. That was tried on the replay only.",
            now.candidate,
            call.rust,
            call.place,
            bytes(purged as u64),
            bytes(after as u64)
        )
    })
}

/// How much of the program's time could be saved at most.
fn allocator_share(tuned: &Tuned<'_>) -> String {
    let found = tuned.found;
    let Some(now) = found.baseline().numbers.of(Objective::Cpu) else {
        return "How much time the heap takes was not measured.".to_owned();
    };
    // If the program itself was measured, its processor time is used.
    let measured =
        tuned.comparison.and_then(|c| c.baseline().spread(RunMeasure::Cpu)).map(|spread| spread.median);
    let whole = measured.unwrap_or(now.median + found.other_ns);
    let best = found
        .ranked
        .iter()
        .filter_map(|r| Some((r, r.numbers.of(Objective::Cpu)?)))
        .filter(|(r, s)| found.is_finalist(r) && s.high < now.low)
        .min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let (its, all) = (time(now.median as u64), time(whole as u64));
    let base = if now.median < whole {
        let share = share(now.median as u64, whole.max(1.0) as u64);
        format!("The heap takes {its} of about {all} of processor time ({share}), page faults included.")
    } else {
        // Threads that only allocate wait for each other more than those of the program.
        format!(
            "The heap takes {its} on the replay, and the program no more than {all} in all: nearly all is for the heap."
        )
    };
    let noise = whole * crate::replay::SEEN;
    match best {
        Some((best, spread)) if now.median - spread.median > noise => {
            // Real programs saved between 0.6 and 1.7 times of what was predicted.
            let (low, high) = ((now.low - spread.high) * 0.6, (now.high - spread.low) * 1.7);
            // No candidate saves more than the whole.
            let high = high.min(now.median);
            format!(
                "{base} With {} the program would take between {} and {} less.",
                best.candidate,
                time(low.max(0.0) as u64),
                time(high.max(0.0) as u64)
            )
        }
        _ => format!("{base} No other candidate is measurably faster."),
    }
}

/// The lines to paste. Empty if the recommendation is to change nothing.
pub(super) fn snippets(tuned: &Tuned<'_>) -> Vec<Snippet> {
    let Choice::Take { candidate, .. } = tuned.choice else { return Vec::new() };
    let fix = candidate.fix();
    let mut snippets = Vec::new();
    let mut add = |title: &'static str, language: Option<&'static str>, lines: Vec<String>| {
        if !lines.is_empty() {
            snippets.push(Snippet { title: Title::Own(title), language, lines });
        }
    };
    add("Rust: in Cargo.toml, under [dependencies]", Some("toml"), fix.cargo.clone());
    add("Rust: in the main file", Some("rust"), fix.rust.clone());
    let line = fix.environment_line();
    let environment = if line.is_empty() { Vec::new() } else { vec![line] };
    add("Or in the environment, for a program that has the allocator", Some("sh"), environment);
    add("Other languages", None, fix.other_languages.clone());
    add("Caveats", None, fix.caveats.clone());
    snippets
}
