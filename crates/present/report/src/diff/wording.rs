//! Differences in words and numbers.

use crate::units::{bytes, count, signed, signed_percent, time};
use heapwise_diagnosis::Comparison;
use heapwise_diagnosis::compare::{Change, Exceeded, Measure, Status};

/// The name of a measure in tables.
pub(super) fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Allocations => "allocations",
        Measure::Reallocations => "reallocations",
        Measure::AllocatedBytes => "bytes",
        Measure::TemporaryAllocations => "temporary",
        Measure::PeakBytes => "peak live",
        Measure::PeakBlocks => "blocks at the peak",
        Measure::LiveAtExitBytes => "never freed",
        Measure::LiveAtExitBlocks => "blocks never freed",
        Measure::PeakRssBytes => "peak RSS",
        Measure::DurationNs => "duration",
    }
}

/// An amount with its unit.
pub(super) fn amount(measure: Measure, n: u64) -> String {
    match measure {
        Measure::DurationNs => time(n),
        _ if measure.is_bytes() => bytes(n),
        _ => count(n),
    }
}

/// How much more or less, with its sign.
pub(super) fn by(change: &Change) -> String {
    let difference = u64::try_from(change.amount().unsigned_abs()).unwrap_or(u64::MAX);
    match change.amount() {
        0 => "same".to_owned(),
        amount_changed => signed(amount_changed < 0, amount(change.measure, difference)),
    }
}

/// A difference as a part of something, with its sign.
pub(super) fn percent(difference: i128, whole: u64) -> String {
    if difference == 0 || whole == 0 {
        return String::new();
    }
    let share = difference as f64 / whole as f64;
    match share.abs() {
        s if s < 0.001 => signed(share < 0.0, "<0.1 %"),
        s if s < 0.0995 => signed_percent(share, 1),
        s if s < 100.0 => signed_percent(share, 0),
        s => format!("×{}", count((s + 1.0).round() as u64)),
    }
}

/// Whether a total became better or worse, as far as that can be said.
pub(super) fn judgement(comparison: &Comparison, change: &Change) -> &'static str {
    if comparison.varies(change.measure) {
        return "varies";
    }
    if !comparison.is_notable(change) {
        return "";
    }
    if change.amount() < 0 { "better" } else { "worse" }
}

/// The outcome in one sentence.
pub(super) fn outcome(comparison: &Comparison) -> String {
    if comparison.is_same() {
        let sites = comparison.n_same_sites as u64;
        return format!(
            "No difference: the counts are the same in all and at each of {} call sites.",
            count(sites)
        );
    }
    if comparison.is_noise() {
        return "No difference beyond noise.".to_owned();
    }
    let part = |what: &str| {
        let changes = comparison.totals.iter().filter(|change| judgement(comparison, change) == what);
        let changes: Vec<String> = changes
            .map(|change| match percent(change.amount(), change.old) {
                none if none.is_empty() => format!("{} {}", name(change.measure), by(change)),
                percent => format!("{} {percent}", name(change.measure)),
            })
            .collect();
        (!changes.is_empty()).then(|| format!("{what}: {}", changes.join(", ")))
    };
    let parts: Vec<String> = ["better", "worse"].into_iter().filter_map(part).collect();
    if parts.is_empty() {
        return "The totals are the same within noise, and places differ.".to_owned();
    }
    let sentence = parts.join("; ");
    format!("{}{}.", sentence[..1].to_uppercase(), &sentence[1..])
}

/// How many call sites differ, in words.
pub(super) fn sites(comparison: &Comparison) -> String {
    let of = |status| comparison.sites.iter().filter(|site| site.status == status).count() as u64;
    let [changed, new, gone] = [Status::Changed, Status::New, Status::Gone].map(of).map(count);
    format!("{changed} changed, {new} new, {gone} gone, {} the same", count(comparison.n_same_sites as u64))
}

/// A threshold that is exceeded, in one line.
pub(super) fn exceeded(exceeded: &Exceeded) -> String {
    let Exceeded { expression, change, limit } = exceeded;
    let measure = change.measure;
    let mut by = by(change);
    let percent = percent(change.amount(), change.old);
    if !percent.is_empty() {
        by = format!("{by}, {percent}");
    }
    // With short units, a limit that is barely exceeded would look as if it were met.
    let exact = |n: u64| if measure.is_bytes() { format!("{} B", count(n)) } else { count(n) };
    if [change.old, change.new].into_iter().any(|amount| change.is_unmeasured(amount)) {
        let of = |amount| if change.is_unmeasured(amount) { "not measured".into() } else { exact(amount) };
        let (old, new) = (of(change.old), of(change.new));
        return format!("{expression}: {} {old} → {new}, so it cannot be judged", measure.name());
    }
    let (old, new, limit) = (exact(change.old), exact(change.new), exact(*limit));
    format!("{expression}: {} {old} → {new} ({by}), at most {limit} is accepted", measure.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign() {
        let change = |measure, old, new| Change { measure, old, new };
        let cases = [
            (change(Measure::Allocations, 1000, 2500), "+1,500", "+150 %"),
            (change(Measure::AllocatedBytes, 2048, 1024), "−1.00 KiB", "−50 %"),
            (change(Measure::Reallocations, 5, 5), "same", ""),
            (change(Measure::Reallocations, 0, 5), "+5", ""),
            (change(Measure::Allocations, 10_000, 10_009), "+9", "+<0.1 %"),
            (change(Measure::Allocations, 1, 1000), "+999", "×1,000"),
            (change(Measure::PeakRssBytes, 1024, 4096), "+3.00 KiB", "+300 %"),
        ];
        for (change, expected, part) in cases {
            let percent = percent(change.amount(), change.old);
            assert_eq!((by(&change).as_str(), percent.as_str()), (expected, part));
        }
    }
}
