//! What was promised, compared with what was delivered.

use super::Results;
use super::services::Goal;
use heapwise_analysis::units::signed_percent;
use heapwise_trial::statistics::Spread;
use std::fmt::Write;

/// A promise is kept if at least this share of the saving is there.
const KEPT: f64 = 0.8;

pub(super) fn table(all: &[Results]) -> String {
    let mut text = String::from(
        "Promised by `heapwise tune` on the program; delivered in a fresh project with its lines, without preload and variables. \
         Medians, with the least and the greatest.\n\n\
         | service | goal | recommended | promised | without the fix | with it | delivered | |\n\
         |---|---|---|---:|---:|---:|---:|---|\n",
    );
    for results in all {
        let Results { service, goal, promise, .. } = results;
        let promised = if promise.is_stay { "to stay".to_owned() } else { change(promise.factor) };
        let delivered = results.delivered().map_or_else(|| "–".to_owned(), change);
        let _ = writeln!(
            text,
            "| {service} | {} | {} | {promised} | {} | {} | {delivered} | {} |",
            goal.name(),
            promise.candidate,
            shown(*goal, &results.without),
            shown(*goal, &results.with),
            verdict(results),
        );
    }
    for results in all {
        if let Some(failure) = &results.failure {
            let _ = writeln!(text, "\n{}: {}", results.service, failure.trim_end());
        }
    }
    text
}

fn change(factor: f64) -> String {
    signed_percent(factor - 1.0, 0)
}

fn shown(goal: Goal, runs: &[f64]) -> String {
    let (unit, name) = match goal {
        Goal::RssAfter => (1024.0 * 1024.0, "MiB"),
        Goal::Cpu => (1e9, "s"),
    };
    let decimals = if goal == Goal::Cpu { 2 } else { 1 };
    let spread = Spread::of(runs.iter().map(|needed| needed / unit));
    spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.decimals$} {name}"))
}

fn verdict(results: &Results) -> &'static str {
    let promise = &results.promise;
    let Some(delivered) = results.delivered() else { return "**MISSED**: nothing to build" };
    if !promise.is_confirmed {
        return "**MISSED**: not tried on the program";
    }
    if delivered > results.goal.aim() {
        return "**MISSED**: too little";
    }
    if 1.0 - delivered < (1.0 - promise.factor) * KEPT {
        return "**MISSED**: less than promised";
    }
    "kept"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuned::promise::Promise;

    fn results(goal: Goal, factor: f64, without: f64, with: f64) -> Results {
        let promise = Promise { is_confirmed: true, factor, ..Promise::default() };
        Results { service: "s", goal, promise, without: vec![without; 3], with: vec![with; 3], failure: None }
    }

    #[test]
    fn a_promise_is_kept_if_what_was_said_is_there_and_enough() {
        let of = |goal, factor, with| verdict(&results(goal, factor, 100.0, with));
        assert_eq!(of(Goal::RssAfter, 0.25, 30.0), "kept");
        assert_eq!(of(Goal::RssAfter, 0.25, 45.0), "**MISSED**: less than promised");
        assert_eq!(of(Goal::RssAfter, 0.6, 60.0), "**MISSED**: too little");
        assert_eq!(of(Goal::Cpu, 0.7, 70.0), "kept");
        assert_eq!(of(Goal::Cpu, 0.8, 95.0), "**MISSED**: too little");
        let mut stays = results(Goal::Cpu, 1.0, 1.0, 1.0);
        stays.without.clear();
        stays.with.clear();
        stays.promise.is_stay = true;
        stays.failure = Some("no".into());
        let text = table(&[stays, results(Goal::RssAfter, 0.2, 1048576.0, 262144.0)]);
        assert!(text.contains("| to stay | – | – | – | **MISSED**: nothing to build |"), "{text}");
        assert!(
            text.contains("| −80 % | 1.0 (1.0..1.0) MiB | 0.2 (0.2..0.2) MiB | −75 % | kept |"),
            "{text}"
        );
        assert!(text.ends_with("s: no\n"), "{text}");
    }
}
