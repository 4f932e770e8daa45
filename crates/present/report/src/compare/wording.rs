//! Sentences and numbers that are the same in all formats for people.

use crate::report::counted;
use crate::units::{bytes, count, signed_percent, time};
use heapwise_trial::compare::{Comparison, Difference, FindingKind, RunMeasure, Standing, Verdict, Winner};
use heapwise_trial::statistics::MATTERS;

/// A number of a measure, with its unit.
pub(super) fn number(measure: RunMeasure, number: f64) -> String {
    let whole = number.max(0.0).round() as u64;
    match measure {
        m if m.is_memory() => bytes(whole),
        m if m.is_time() => time(whole),
        _ => count(whole),
    }
}

/// A ratio as a change: `−31 %`, `+0.8 %`, `×3.4`.
pub(super) fn change(ratio: f64) -> String {
    let share = ratio - 1.0;
    match share.abs() {
        _ if ratio >= 2.995 => format!("×{ratio:.1}"),
        s if s < 0.0995 => signed_percent(share, 1),
        _ => signed_percent(share, 0),
    }
}

/// A change with its interval: `−31 % (−35..−27)`.
pub(super) fn with_interval(difference: &Difference) -> String {
    let short = |ratio: f64| change(ratio).trim_end_matches(" %").to_owned();
    format!("{} ({}..{})", change(difference.ratio), short(difference.low), short(difference.high))
}

/// A difference as the text of a cell.
pub(super) fn cell(difference: &Difference) -> String {
    match difference.verdict {
        Verdict::Lower | Verdict::Higher => with_interval(difference),
        Verdict::WithinNoise => "within the noise".to_owned(),
        Verdict::TooFew => "too few rounds".to_owned(),
    }
}

/// Which candidate it is, with the exact version: `jemalloc 5.3.1`, `default (libjemalloc.so.2)`.
pub(super) fn who(standing: &Standing) -> String {
    let candidate = &standing.candidate;
    match aside(standing) {
        aside if aside.is_empty() => candidate.label.clone(),
        aside if candidate.library.is_none() => format!("{} ({aside})", candidate.label),
        aside => format!("{} {aside}", candidate.label),
    }
}

/// Its version; for the baseline, the allocator that was seen in it.
pub(super) fn aside(standing: &Standing) -> String {
    let candidate = &standing.candidate;
    if candidate.library.is_some() {
        return candidate.version.clone().unwrap_or_default();
    }
    let seen = standing.allocators_seen();
    if seen.is_empty() { "unchanged".to_owned() } else { seen.join(", ") }
}

/// The command as it could be typed.
pub(super) fn command(comparison: &Comparison) -> String {
    crate::report::command_line(&comparison.setup.command)
}

/// How the runs were made, in a line.
pub(super) fn course(comparison: &Comparison) -> String {
    let setup = &comparison.setup;
    let mut line = format!(
        "{}, interleaved and shuffled, after a warm-up round; {} in all",
        counted(u64::from(setup.rounds), "round", "rounds"),
        time(setup.took_ns)
    );
    if comparison.is_interrupted {
        line.push_str("; interrupted, these are the results until then");
    }
    line
}

/// How a server was driven, if it is one.
pub(super) fn drive(comparison: &Comparison) -> Option<String> {
    let setup = &comparison.setup;
    if !setup.is_server {
        return None;
    }
    let settle = setup.settle_ns.map_or_else(String::new, |ns| format!(", then idle for {}", time(ns)));
    Some(match &setup.load {
        Some(load) => format!("as a server under the load `{load}`{settle}; times are those of the load"),
        None => format!(
            "as a server without a load{settle}: there are no times to compare; --load gives it something to do"
        ),
    })
}

/// Lines about what candidates did differently, the name first.
pub(super) fn findings(comparison: &Comparison) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for standing in &comparison.standings {
        for finding in &standing.findings {
            let often = if finding.runs == finding.of {
                "in all runs".to_owned()
            } else {
                format!("in {} of {} runs", finding.runs, finding.of)
            };
            lines.push((standing.candidate.label.clone(), format!("{}, {often}", finding.what)));
        }
        if let Some(reason) = &standing.left_out {
            lines.push((standing.candidate.label.clone(), reason.clone()));
        }
    }
    lines
}

/// Lines about candidates that are not available.
pub(super) fn unavailable(comparison: &Comparison) -> Vec<String> {
    comparison.unavailable.iter().map(|u| format!("{} was left out: {}", u.label, u.reason)).collect()
}

/// What a candidate significantly needs less of, more of, and where there is no significant difference.
pub(super) fn verdicts(standing: &Standing, measures: &[RunMeasure]) -> [(&'static str, Vec<String>); 4] {
    let of = |wanted: Verdict| -> Vec<String> {
        let those = measures.iter().filter(|m| standing.verdict(**m) == Some(wanted));
        those
            .filter_map(|m| {
                let difference = standing.differences.get(m)?;
                Some(match wanted {
                    Verdict::Lower | Verdict::Higher => {
                        format!("{} {}", m.title(), with_interval(difference))
                    }
                    _ => m.title().to_owned(),
                })
            })
            .collect()
    };
    [
        ("less", of(Verdict::Lower)),
        ("more", of(Verdict::Higher)),
        ("within the noise", of(Verdict::WithinNoise)),
        ("too few rounds to tell", of(Verdict::TooFew)),
    ]
}

/// Memory that is counted as resident and was freed lazily, if it is worth mentioning.
pub(super) fn lazily_freed(standing: &Standing) -> Option<String> {
    let freed = |sample: &heapwise_trial::compare::Sample| {
        let memory = sample.after_settle.or(sample.after_load).or(sample.end)?;
        let freed = memory.lazily_freed_bytes?;
        (freed * 100 > memory.rss_bytes).then_some(freed as f64)
    };
    let spread = heapwise_trial::compare::Spread::of(standing.counted().filter_map(freed))?;
    Some(format!(
        "{} more count as resident at the end, but were freed lazily (MADV_FREE): the kernel reclaims them when it \
         needs memory",
        bytes(spread.median as u64)
    ))
}

/// The conclusion, in sentences.
pub(super) fn conclusion(comparison: &Comparison) -> Vec<String> {
    let winners: Vec<&Winner> =
        comparison.winners.iter().filter(|winner| is_worth_a_choice(winner.measure)).collect();
    if winners.is_empty() {
        return vec!["No conclusion: no run counts.".to_owned()];
    }
    if comparison.candidates().iter().all(|s| s.counted.is_empty()) {
        return no_candidate_counts(comparison);
    }
    if comparison.setup.rounds < 3 {
        return vec![
            "Fewer than three rounds cannot distinguish a difference from noise: use more (--runs)."
                .to_owned(),
        ];
    }
    let (worth, not_better): (Vec<&Winner>, Vec<&Winner>) =
        winners.into_iter().partition(|winner| is_worth_a_change(comparison, winner));
    let mut sentences: Vec<String> =
        worth.into_iter().filter_map(|winner| best(comparison, winner)).collect();
    if not_better.is_empty() {
        return sentences;
    }
    let titles: Vec<&str> = not_better.iter().map(|winner| winner.measure.title()).collect();
    let how = if not_better.iter().all(|winner| winner.best.is_none()) {
        "significantly better".to_owned()
    } else {
        format!("better by {:.0} % or more", MATTERS * 100.0)
    };
    let start = if sentences.is_empty() { "Stay with what you have: no" } else { "No" };
    sentences.push(format!("{start} candidate is {how} in {}.", listed(&titles, "or")));
    sentences
}

/// The conclusion if no run of a candidate counts.
fn no_candidate_counts(comparison: &Comparison) -> Vec<String> {
    let names = |is_wanted: &dyn Fn(&Standing) -> bool| -> Vec<&str> {
        let wanted = comparison.candidates().iter().filter(|standing| is_wanted(standing));
        wanted.map(|standing| standing.candidate.label.as_str()).collect()
    };
    let has_not_reached =
        |standing: &Standing| standing.findings.iter().any(|f| f.kind == FindingKind::NotInUse);
    let (without, others) = (names(&has_not_reached), names(&|standing| !has_not_reached(standing)));
    if without.is_empty() {
        return vec![
            "Stay with what you have: the program does not do its work with any candidate.".to_owned(),
        ];
    }
    const REMEDY: &str = "Put the program itself behind --, without what clears its environment (env -i, sudo) or starts it in \
                          another way, and see that it is linked dynamically.";
    if others.is_empty() {
        return vec![format!("No conclusion: the allocators did not reach the program. {REMEDY}")];
    }
    vec![
        format!("No conclusion about {}: they did not reach the program. {REMEDY}", listed(&without, "and")),
        format!("With {} the program does not do its work.", listed(&others, "and")),
    ]
}

/// The cost of page faults is in the times already. What is resident at the exit depends as much on what the allocator returns to
/// the system at that moment, when it is of no use any more, as on what it kept before.
fn is_worth_a_choice(measure: RunMeasure) -> bool {
    !matches!(measure, RunMeasure::Faults | RunMeasure::EndRss)
}

/// Whether the best candidate needs so much less that it is advice.
fn is_worth_a_change(comparison: &Comparison, winner: &Winner) -> bool {
    let best = winner.best.and_then(|at| comparison.standings.get(at));
    let difference = best.and_then(|best| best.differences.get(&winner.measure));
    difference.is_some_and(|difference| difference.ratio <= 1.0 - MATTERS)
}

fn best(comparison: &Comparison, winner: &Winner) -> Option<String> {
    let best = comparison.standings.get(winner.best?)?;
    let difference = best.differences.get(&winner.measure)?;
    let (own, before) = (best.spread(winner.measure)?, comparison.baseline().spread(winner.measure)?);
    let mut sentence = format!(
        "Least {}: {}, {} instead of {}, {}",
        winner.measure.title(),
        best.candidate.label,
        number(winner.measure, own.median),
        number(winner.measure, before.median),
        with_interval(difference)
    );
    let others: Vec<&str> = winner
        .indistinguishable
        .iter()
        .filter_map(|at| Some(comparison.standings.get(*at)?.candidate.label.as_str()))
        .collect();
    if !others.is_empty() {
        sentence.push_str(&format!("; {} cannot be distinguished from it", listed(&others, "and")));
    }
    sentence.push('.');
    Some(sentence)
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// What intervals are, and how much noise there was.
pub(super) fn about_noise(comparison: &Comparison) -> Option<String> {
    // A candidate with fewer than three rounds has no interval that is shown. Rounds that it missed make its interval wider.
    let of = |measure: RunMeasure| {
        let all = comparison.candidates().iter().filter_map(move |s| s.differences.get(&measure));
        all.filter(|difference| difference.verdict != Verdict::TooFew)
    };
    let measures = comparison.measures();
    let sure = measures.iter().flat_map(|m| of(*m)).map(|d| (d.confidence * 100.0).round() as u32);
    let (least, most) = (sure.clone().min()?, sure.max()?);
    let confidence = if least == most { format!("{most} %") } else { format!("{least} % to {most} %") };
    let noise = measures.iter().filter_map(|m| {
        let best = of(*m).max_by_key(|difference| difference.rounds)?;
        Some(format!("{} {}", m.title(), share(best.noise)))
    });
    Some(format!(
        "In brackets are {confidence} intervals (Wilcoxon's signed ranks, rounds as pairs). Noise is what chance makes of two \
         runs of the baseline: {}.",
        noise.collect::<Vec<_>>().join(", ")
    ))
}

fn share(part: f64) -> String {
    match part * 100.0 {
        p if p < 0.05 => "0 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;
    use heapwise_trial::compare::Finding;

    #[test]
    fn allocators_that_did_not_reach_the_program_say_nothing_about_it() {
        let mut none = comparison();
        none.standings.truncate(2);
        none.standings[1].counted.clear();
        assert!(conclusion(&none)[0].starts_with("Stay with what you have"), "{:?}", conclusion(&none));
        let what = String::new();
        none.standings[1].findings = vec![Finding { kind: FindingKind::NotInUse, what, runs: 6, of: 6 }];
        let [sentence] = &conclusion(&none)[..] else { panic!("one sentence: {:?}", conclusion(&none)) };
        assert!(sentence.starts_with("No conclusion: the allocators did not reach the program. Put "));
        // Next to one that crashes.
        none.standings.push(comparison().standings[2].clone());
        let both = conclusion(&none);
        assert!(both[0].starts_with("No conclusion about quick: ") && both[1].starts_with("With broken "));
    }

    #[test]
    fn what_is_less_by_a_few_percent_is_no_advice() {
        let mut little = comparison();
        assert!(conclusion(&little)[0].starts_with("Least CPU time: quick, "), "{:?}", conclusion(&little));
        let cpu = little.standings[1].differences.get_mut(&RunMeasure::Cpu).expect("it is measured");
        cpu.ratio = 0.97;
        assert_eq!(
            conclusion(&little),
            [
                "Stay with what you have: no candidate is better by 5 % or more in wall time, CPU time or peak RSS."
            ]
        );
    }

    #[test]
    fn intervals_are_those_of_rounds_that_there_are() {
        let whole = comparison();
        assert!(about_noise(&whole).is_some_and(|about| about.contains("94 % intervals")));
        // The first candidate has one round only, whose interval is none.
        let mut few = comparison();
        let mut less = few.standings[1].clone();
        for difference in less.differences.values_mut() {
            *difference = Difference {
                verdict: Verdict::TooFew,
                confidence: 0.0,
                noise: 9.0,
                rounds: 1,
                ..*difference
            };
        }
        few.standings.insert(1, less.clone());
        assert_eq!(about_noise(&few), about_noise(&whole));
        few.standings.truncate(2);
        assert_eq!(about_noise(&few), None);
        // And one with three of five.
        less.differences
            .values_mut()
            .for_each(|d| (d.verdict, d.confidence, d.rounds) = (Verdict::Lower, 0.75, 3));
        few.standings = vec![few.standings[0].clone(), less, whole.standings[1].clone()];
        assert!(
            about_noise(&few)
                .is_some_and(|a| a.contains("75 % to 94 % intervals") && a.contains("wall time 1.2 %"))
        );
    }

    #[test]
    fn a_server_without_a_load_has_no_times() {
        let mut idle = comparison();
        idle.setup.is_server = true;
        idle.winners.retain(|winner| !winner.measure.is_time());
        assert!(drive(&idle).is_some_and(|drive| drive.contains("without a load: there are no times")));
        for standing in &mut idle.standings {
            standing.samples.iter_mut().for_each(|s| (s.wall_ns, s.cpu_ns) = (None, None));
            standing.differences.retain(|measure, _| !measure.is_time());
        }
        assert!(idle.measures().iter().all(|measure| !measure.is_time()));
        let page = super::super::html(&idle);
        assert!(!page.contains("CPU time and memory together") && !page.contains("NaN"), "{page}");
        let markdown = super::super::markdown(&idle);
        assert!(!markdown.contains("wall time") && !markdown.contains("CPU time"), "{markdown}");
        // A candidate whose runs count, but that has no differences, is not said to lack runs.
        idle.standings[1].differences.clear();
        let markdown = super::super::markdown(&idle);
        assert!(
            markdown.contains("| `quick` 1\\.2.3 | – |") && markdown.contains("no run counts"),
            "{markdown}"
        );
    }

    #[test]
    fn changes_have_a_sign_and_two_digits() {
        let words = [0.69, 1.008, 0.5, 1.0, 3.4, 2.0].map(change);
        assert_eq!(words, ["−31 %", "+0.8 %", "−50 %", "+0.0 %", "×3.4", "+100 %"]);
        assert_eq!([listed(&["a"], "or"), listed(&["a", "b", "c"], "and")], ["a", "a, b and c"]);
        assert_eq!([0.0, 0.012, 0.31].map(share), ["0 %", "1.2 %", "31 %"]);
    }
}
