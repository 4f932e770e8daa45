//! How much a finding matters: its share in the whole program's use of the allocator.
//!
//! The share is that of the requests, of the modelled time or of the peak, whichever is largest; bytes count for half,
//! since a large block costs hardly more than a small one. A share alone says little about a small program, so each
//! step also requires an amount. What is below the lowest step is no finding at all: a report with twenty true remarks
//! that save nothing is not read.

use crate::insight::{Estimate, Severity};
use crate::rule_input::{Place, RuleInput};

/// What a severity requires.
struct Step {
    severity: Severity,
    /// Of the whole, from 0 to 1.
    share: f64,
    requests: u64,
    bytes: u64,
    peak_bytes: u64,
    time_ns: u64,
}

/// From the highest to the lowest.
const STEPS: [Step; 3] = [
    Step {
        severity: Severity::High,
        share: 0.2,
        requests: 100_000,
        bytes: 1 << 30,
        peak_bytes: 64 << 20,
        time_ns: 20_000_000,
    },
    Step {
        severity: Severity::Medium,
        share: 0.05,
        requests: 2_000,
        bytes: 4 << 20,
        peak_bytes: 1 << 20,
        time_ns: 500_000,
    },
    Step {
        severity: Severity::Low,
        share: 0.01,
        requests: 100,
        bytes: 256 << 10,
        peak_bytes: 256 << 10,
        time_ns: 20_000,
    },
];

/// How much it matters, `None` if not at all. `place` is where it is: without a line it is not recommended first.
pub(crate) fn severity(
    input: &RuleInput<'_>,
    place: Option<&Place<'_>>,
    estimate: &Estimate,
) -> Option<Severity> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let totals = &input.analysis.totals;
    let peak = totals.peak_live_bytes.0.max(input.analysis.memory.peak_rss.0);
    let largest = share(estimate.allocations, input.requests())
        .max(share(estimate.time.0, input.time.0))
        .max(share(estimate.allocated_bytes.0, totals.allocated_bytes.0) / 2.0)
        .max(share(estimate.peak_bytes.0, peak));
    let step = STEPS.iter().find(|step| {
        largest >= step.share
            && (estimate.allocations >= step.requests
                || estimate.allocated_bytes.0 >= step.bytes
                || estimate.peak_bytes.0 >= step.peak_bytes
                || estimate.time.0 >= step.time_ns)
    })?;
    let unnamed = place.is_some_and(|p| p.line.is_none());
    Some(if unnamed { step.severity.min(Severity::Medium) } else { step.severity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, Program, user};
    use heapwise_analysis::{Bytes, Nanos};

    /// The severity of a saving of so many requests in a program of 300,000.
    fn of(requests: u64, stack: &str) -> Option<Severity> {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, stack));
        (0..300_000).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let estimate = Estimate { allocations: requests, ..Estimate::default() };
        severity(&input, input.places.first(), &estimate)
    }

    #[test]
    fn a_share_and_an_amount_are_asked_for() {
        let line = "app::run|/u/src/a.rs|7";
        assert_eq!(of(150_000, line), Some(Severity::High));
        assert_eq!(of(30_000, line), Some(Severity::Medium));
        assert_eq!(of(6_000, line), Some(Severity::Low));
        assert_eq!(of(2_000, line), None, "less than a hundredth is no finding");
        assert_eq!(
            of(150_000, "app::run||"),
            Some(Severity::Medium),
            "without a line there is no place to begin"
        );
    }

    #[test]
    fn a_large_share_of_little_is_little() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        (0..150).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let of = |allocations| severity(&input, None, &Estimate { allocations, ..Estimate::default() });
        assert_eq!((of(150), of(50)), (Some(Severity::Low), None));
        let peak = Estimate { peak_bytes: Bytes(200 << 20), time: Nanos(0), ..Estimate::default() };
        assert_eq!(severity(&input, None, &peak), Some(Severity::High));
    }
}
