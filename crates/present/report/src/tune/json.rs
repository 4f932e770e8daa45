//! Fills `heapwise.tune/1`.

use super::{Tuned, Untried, advice};
use crate::schema::Spread;
use crate::schema::tune::{
    self as schema, Call, Choice, Fix, Goal, Pareto, Ranked, Reason, Score, Unconfirmed, Verified,
};
use heapwise_trial::tune::{self, Objective};

pub(super) fn json(tuned: &Tuned<'_>) -> String {
    let found = tuned.found;
    let weights = found.goal.weights().iter().map(|(m, weight)| (m.name().to_owned(), *weight));
    let front = found.ranked.iter().filter(|r| r.is_on_front).map(|r| r.candidate.to_string());
    crate::schema::pretty(&schema::Tuned {
        caveats: advice::caveats(tuned),
        choice: choice(tuned),
        command: tuned.analysis.meta.command.clone(),
        conclusion: advice::conclusion(tuned),
        confirmed: tuned.comparison.map(|comparison| crate::compare::contents(comparison)),
        fix: fix(tuned),
        goal: Goal { name: found.goal.to_string(), weights: weights.collect() },
        is_interrupted: advice::is_interrupted(tuned),
        machine: tuned.machine.into(),
        now: found.baseline().candidate.to_string(),
        other_ns: found.other_ns.round(),
        pareto: Pareto {
            candidates: front.collect(),
            measures: found.front_of.map(|m| m.name().to_owned()).into(),
        },
        ranked: found.ranked.iter().map(|r| ranked(tuned, r)).collect(),
        rungs: found.rungs.clone(),
        schema: schema::SCHEMA.to_owned(),
        unconfirmed: tuned.untried.map(|untried| match untried {
            Untried::NoCommand => Unconfirmed::NoCommand,
            Untried::NotWanted => Unconfirmed::NotWanted,
            Untried::NothingToTry => Unconfirmed::NothingToTry,
            Untried::Interrupted => Unconfirmed::Interrupted,
            Untried::Failed(_) => Unconfirmed::Failed,
        }),
    })
}

fn choice(tuned: &Tuned<'_>) -> Choice {
    match tuned.choice {
        tune::Choice::Stay(reason) => Choice {
            candidate: tuned.found.baseline().candidate.to_string(),
            factor: None,
            reason: Some(match reason {
                tune::Reason::NothingIsBetter => Reason::NothingIsBetter,
                tune::Reason::NotConfirmed => Reason::NotConfirmed,
                tune::Reason::Interrupted => Reason::Interrupted,
                tune::Reason::Unrecorded => Reason::Unrecorded,
            }),
            stay: true,
            verified: None,
        },
        tune::Choice::Take { candidate, verified, factor } => Choice {
            candidate: candidate.to_string(),
            factor: Some(*factor),
            reason: None,
            stay: false,
            verified: Some(match verified {
                tune::Verified::ByTheProgram => Verified::Program,
                tune::Verified::ByReplay => Verified::Replay,
            }),
        },
    }
}

/// What to paste, with explanations: how other languages get the allocator, caveats, and the call with a similar effect without
/// another allocator.
fn fix(tuned: &Tuned<'_>) -> Fix {
    let call = call(tuned);
    let tune::Choice::Take { candidate, .. } = tuned.choice else {
        return Fix { call, ..Fix::default() };
    };
    let fix = candidate.fix();
    let environment = fix.environment_line();
    let lines = fix.cargo.iter().chain(&fix.rust).chain([&environment]);
    Fix {
        call,
        text: lines.filter(|line| !line.is_empty()).cloned().collect(),
        caveats: fix.caveats,
        kind: match (fix.cargo.is_empty(), candidate.name()) {
            (true, _) => schema::FixKind::Environment,
            (false, "glibc") => schema::FixKind::Settings,
            (false, _) => schema::FixKind::Allocator,
        },
        cargo: fix.cargo,
        environment,
        other_languages: fix.other_languages,
        rust: fix.rust,
    }
}

/// A call into the current allocator, with the memory that was left after it on the replay. `None` if it was not tried.
fn call(tuned: &Tuned<'_>) -> Option<Call> {
    let now = tuned.found.baseline();
    let (after, purged) = (now.numbers.of(Objective::RssAfter)?.median, now.numbers.purged()?);
    let call = now.candidate.fix().calls.into_iter().next()?;
    Some(Call {
        c: call.c,
        place: call.place,
        rss_after_bytes: after.round(),
        rss_after_purge_bytes: purged.round(),
        rust: call.rust,
    })
}

fn ranked(tuned: &Tuned<'_>, ranked: &tune::Ranked) -> Ranked {
    let of = |measure| ranked.numbers.of(measure).map(Spread::rounded);
    let settings = ranked.candidate.settings().iter();
    Ranked {
        allocator: ranked.candidate.name().to_owned(),
        candidate: ranked.candidate.to_string(),
        cpu_ns: of(Objective::Cpu),
        is_now: ranked.candidate == tuned.found.baseline().candidate,
        is_on_front: ranked.is_on_front,
        latency_p999_ns: of(Objective::Latency),
        peak_rss_bytes: of(Objective::PeakRss),
        rss_after_bytes: of(Objective::RssAfter),
        rss_after_purge_bytes: ranked.numbers.purged().map(f64::round),
        rung: ranked.rung,
        score: ranked.score.map(|s| Score { high: s.high, low: s.low, value: s.value }),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        trouble: ranked.trouble.clone(),
        version: ranked.version.clone(),
    }
}
