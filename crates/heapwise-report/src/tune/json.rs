//! The schema `heapwise.tune/1`: field names are a contract, see the README.

use super::{Tuned, Untried, advice};
use heapwise_statistics::Spread;
use heapwise_tune::{Choice, Measure, Ranked, Verified};
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
                heapwise_tune::Reason::NothingIsBetter => "nothing-is-better",
                heapwise_tune::Reason::NotConfirmed => "not-confirmed",
                heapwise_tune::Reason::Interrupted => "interrupted",
            },
        }),
        Choice::Take { candidate, verified, factor } => json!({
            "candidate": candidate.to_string(),
            "stay": false,
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
        "machine": tuned.machine,
        "now": found.baseline().candidate.to_string(),
        "ranked": found.ranked.iter().map(|r| ranked(tuned, r)).collect::<Vec<_>>(),
        "pareto": { "measures": found.front_of.map(Measure::name), "candidates": front.collect::<Vec<_>>() },
        "choice": choice,
        "fix": advice::fix(tuned),
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
        "peak_rss_bytes": of(Measure::PeakRss),
        "rss_after_bytes": of(Measure::RssAfter),
        "rss_after_purge_bytes": ranked.numbers.purged().map(f64::round),
        "cpu_ns": of(Measure::Cpu),
        "latency_p999_ns": of(Measure::Latency),
        "is_on_front": ranked.is_on_front,
        "trouble": ranked.trouble,
    })
}
