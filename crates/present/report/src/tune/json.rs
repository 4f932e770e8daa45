//! The schema `heapwise.tune/1`: field names are a contract, see docs/tune.md.

use super::{Tuned, Untried, advice};
use heapwise_trial::statistics::Spread;
use heapwise_trial::tune::{Choice, Objective, Ranked, Verified};
use serde_json::{Map, Value, json};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.tune/1";

pub(super) fn value(tuned: &Tuned<'_>) -> Value {
    let found = tuned.found;
    let goal: Map<String, Value> =
        found.goal.weights().iter().map(|(m, weight)| (m.name().to_owned(), json!(weight))).collect();
    let front = found.ranked.iter().filter(|r| r.is_on_front).map(|r| r.candidate.to_string());
    let choice = match tuned.choice {
        Choice::Stay(reason) => json!({
            "candidate": found.baseline().candidate.to_string(),
            "stay": true,
            "reason": match reason {
                heapwise_trial::tune::Reason::NothingIsBetter => "nothing-is-better",
                heapwise_trial::tune::Reason::NotConfirmed => "not-confirmed",
                heapwise_trial::tune::Reason::Interrupted => "interrupted",
            },
            "verified": null,
            "factor": null,
        }),
        Choice::Take { candidate, verified, factor } => json!({
            "candidate": candidate.to_string(),
            "stay": false,
            "reason": null,
            "verified": match verified {
                Verified::ByTheProgram => "program",
                Verified::ByReplay => "replay",
            },
            "factor": factor,
        }),
    };
    json!({
        "schema": SCHEMA,
        "goal": { "name": found.goal.to_string(), "weights": goal },
        "command": tuned.analysis.meta.command,
        "machine": crate::machine::json(tuned.machine),
        "now": found.baseline().candidate.to_string(),
        "ranked": found.ranked.iter().map(|r| ranked(tuned, r)).collect::<Vec<_>>(),
        "pareto": { "measures": found.front_of.map(Objective::name), "candidates": front.collect::<Vec<_>>() },
        "choice": choice,
        "fix": fix(tuned),
        "confirmed": tuned.comparison.map(|c| {
            serde_json::from_str::<Value>(&crate::compare::json(c)).unwrap_or(Value::Null)
        }),
        "unconfirmed": tuned.untried.map(|untried| match untried {
            Untried::NoCommand => "no-command",
            Untried::NotWanted => "not-wanted",
            Untried::NothingToTry => "nothing-to-try",
            Untried::Interrupted => "interrupted",
            Untried::Failed(_) => "failed",
        }),
        "rungs": found.rungs,
        "other_ns": found.other_ns.round(),
        "is_interrupted": advice::is_interrupted(tuned),
        "caveats": advice::caveats(tuned),
        "conclusion": advice::conclusion(tuned),
    })
}

/// What to paste, with what is said beside it: how other languages get the allocator, what to mind, and the call that would do
/// something of the kind without another allocator.
fn fix(tuned: &Tuned<'_>) -> Value {
    let mut all = advice::fix(tuned);
    let taken = match tuned.choice {
        Choice::Take { candidate, .. } => Some(candidate.fix()),
        Choice::Stay(_) => None,
    };
    let (other_languages, caveats) = taken.map(|fix| (fix.other_languages, fix.caveats)).unwrap_or_default();
    all["other_languages"] = json!(other_languages);
    all["caveats"] = json!(caveats);
    all["call"] = call(tuned).unwrap_or_default();
    all
}

/// A call into the allocator that there is now, with what it left on the replay. Nothing if that was not tried.
fn call(tuned: &Tuned<'_>) -> Option<Value> {
    let now = tuned.found.baseline();
    let (after, purged) = (now.numbers.of(Objective::RssAfter)?.median, now.numbers.purged()?);
    let call = now.candidate.fix().calls.into_iter().next()?;
    Some(json!({
        "place": call.place,
        "c": call.c,
        "rust": call.rust,
        "rss_after_bytes": after.round(),
        "rss_after_purge_bytes": purged.round(),
    }))
}

fn ranked(tuned: &Tuned<'_>, ranked: &Ranked) -> Value {
    let settings: Map<String, Value> =
        ranked.candidate.settings().iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let spread =
        |s: Spread| json!({ "median": s.median.round(), "low": s.low.round(), "high": s.high.round() });
    let of = |measure| ranked.numbers.of(measure).map(spread);
    json!({
        "candidate": ranked.candidate.to_string(),
        "allocator": ranked.candidate.name(),
        "version": ranked.version,
        "settings": settings,
        "is_now": ranked.candidate == tuned.found.baseline().candidate,
        "rung": ranked.rung,
        "score": ranked.score.map(|s| json!({ "value": s.value, "low": s.low, "high": s.high })),
        "peak_rss_bytes": of(Objective::PeakRss),
        "rss_after_bytes": of(Objective::RssAfter),
        "rss_after_purge_bytes": ranked.numbers.purged().map(f64::round),
        "cpu_ns": of(Objective::Cpu),
        "latency_p999_ns": of(Objective::Latency),
        "is_on_front": ranked.is_on_front,
        "trouble": ranked.trouble,
    })
}
