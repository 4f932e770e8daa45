//! How much a finding matters: by the time and the peak memory that a change would save.
//!
//! Requests and bytes are no measure. Ten megabytes that pass through one buffer cost nothing, and half of a program's requests
//! may be a thousandth of its time. What is below the lowest step is no finding at all: a report with twenty true remarks that
//! save nothing is not read.
//!
//! What is looked at depends on the model of costs alone ([`crate::cost`]), and is the same for two runs. How severe it is, and with that
//! whether it is shown where it is in a dependency or one of many, depends on the time that the program took, too, and then on what its
//! calls took: a slow or busy machine makes both longer.

use crate::cost;
use crate::finding::{Estimate, Severity};
use crate::rule_input::{Place, RuleInput};
use heapwise_analysis::{Analysis, Nanos, SiteId};

/// What a severity requires.
struct Step {
    severity: Severity,
    /// Of the time of the run, from 0 to 1; both as measured.
    of_time: f64,
    /// By the model.
    time_ns: u64,
    /// Of the peak.
    of_peak: f64,
    peak_bytes: u64,
}

/// From the highest to the lowest.
const STEPS: [Step; 2] = [
    Step { severity: Severity::High, of_time: 0.025, time_ns: 1_000_000, of_peak: 0.2, peak_bytes: 64 << 20 },
    Step { severity: Severity::Medium, of_time: 0.005, time_ns: 200_000, of_peak: 0.05, peak_bytes: 4 << 20 },
];

/// A finding saves at least this part of what all calls cost by the model, and as much time.
const LEAST_OF_CALLS: f64 = 0.01;
const LEAST_NS: u64 = 2_000;
/// Less than this is not seen, unless it is this part of what all calls cost, and so many of them: then the run is short, and may be
/// one of many.
const SEEN_NS: u64 = 100_000;
const SEEN_OF_CALLS: f64 = 0.05;
const SEEN_CALLS: u64 = 32;
/// Or this part of the peak, and as many bytes.
const LEAST_OF_PEAK: f64 = 0.01;
const LEAST_PEAK_BYTES: u64 = 256 << 10;

/// How many times what the model says calls take within a program, where too few were measured: the model is of calls that find all
/// they need in the cache.
const USUAL_CORRECTION: f64 = 2.5;
/// What recording adds to the processor time for each event, at least, on a machine on which calls take what they usually do; and how
/// many times as much on the slowest. Beyond that, calls take longer for reasons of their own.
const RECORDING_NS: f64 = 30.0;
const SLOWEST: f64 = 3.0;
/// Where the processor time is unknown, calls are taken for this part of it: one in so many.
const USUAL_PART_OF_CALLS: f64 = 4.0;

/// How much it matters, `None` if not at all. `place` is where it is: without a line it is not recommended first. `sites` are those whose
/// calls are saved.
pub(crate) fn severity(
    input: &RuleInput<'_>,
    place: Option<&Place<'_>>,
    sites: &[SiteId],
    estimate: &Estimate,
) -> Option<Severity> {
    let part = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let peak = input.analysis.totals.peak_live_bytes.0.max(input.analysis.memory.peak_rss.0);
    let (time, bytes) = (estimate.time.0, estimate.peak_bytes.0);
    let of_calls = part(time, input.time.0) >= SEEN_OF_CALLS;
    let calls = estimate.allocations.saturating_add(estimate.reallocations);
    // Where the calls stay, their number says nothing.
    let is_seen = time >= SEEN_NS || of_calls && !(1..SEEN_CALLS).contains(&calls);
    let saves_time = time >= LEAST_NS && part(time, input.time.0) >= LEAST_OF_CALLS && is_seen;
    let saves_memory = bytes >= LEAST_PEAK_BYTES && part(bytes, peak) >= LEAST_OF_PEAK;
    if !saves_time && !saves_memory {
        return None;
    }
    let of_time = part_of_run(input, sites, time);
    let of_peak = part(bytes, peak);
    let step = STEPS.iter().find(|step| {
        of_time >= step.of_time && time >= step.time_ns || of_peak >= step.of_peak && bytes >= step.peak_bytes
    });
    let severity = step.map_or(Severity::Low, |step| step.severity);
    let unnamed = place.is_some_and(|p| p.line.is_none());
    Some(if unnamed { severity.min(Severity::Medium) } else { severity })
}

/// The same of time that no call of the allocator takes, and that was measured.
pub(crate) fn severity_outside_calls(analysis: &Analysis, time: Nanos) -> Severity {
    let run = analysis.end.as_ref().map_or(0, |end| end.cpu_ns).max(time.0);
    let of_time = if run == 0 { 0.0 } else { time.0 as f64 / run as f64 };
    let step = STEPS.iter().find(|step| of_time >= step.of_time && time.0 >= step.time_ns);
    step.map_or(Severity::Low, |step| step.severity)
}

/// Which part of the processor time that the program needs when it is not recorded is so much time by the model, about. Its calls
/// are a part of that time.
fn part_of_run(input: &RuleInput<'_>, sites: &[SiteId], model_ns: u64) -> f64 {
    let correction = input.correction.unwrap_or(USUAL_CORRECTION);
    let calls = input.time.0 as f64 * correction;
    let measured = input.analysis.end.as_ref().map_or(0, |end| end.cpu_ns);
    let run = match measured {
        0 => calls * USUAL_PART_OF_CALLS,
        // A machine on which calls take longer needs longer to record them.
        _ => {
            let recording = RECORDING_NS * (correction / USUAL_CORRECTION).clamp(1.0, SLOWEST);
            (measured as f64 - input.analysis.n_events as f64 * recording).max(calls)
        }
    };
    let of_sites = cost::own_correction(input.analysis, sites).unwrap_or(correction);
    if run == 0.0 { 0.0 } else { model_ns as f64 * of_sites / run }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, Program, user};
    use heapwise_analysis::Bytes;

    fn saved(time_ns: u64, peak_bytes: u64) -> Estimate {
        Estimate {
            allocations: 100,
            time: Nanos(time_ns),
            peak_bytes: Bytes(peak_bytes),
            ..Estimate::default()
        }
    }

    /// The severity of a saving of so much time in a program whose calls take 7.5 ms.
    fn of(time_ns: u64, stack: &str) -> Option<Severity> {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, stack));
        (0..300_000).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        severity(&input, input.places.first(), &[], &saved(time_ns, 0))
    }

    #[test]
    fn a_part_of_the_time_and_an_amount_are_asked_for() {
        let line = "app::run|/u/src/a.rs|7";
        assert_eq!(of(3_750_000, line), Some(Severity::High));
        assert_eq!(of(750_000, line), Some(Severity::Medium));
        assert_eq!(of(150_000, line), Some(Severity::Low));
        assert_eq!(of(50_000, line), None, "less than a hundredth is no finding");
        assert_eq!(
            of(3_750_000, "app::run||"),
            Some(Severity::Medium),
            "without a line there is no place to begin"
        );
    }

    #[test]
    fn what_is_not_seen_in_a_run_is_no_finding() {
        let line = "app::run|/u/src/a.rs|7";
        assert_eq!((of(99_000, line), of(100_000, line)), (None, Some(Severity::Low)), "of 7.5 ms");
        // Calls that take 750 µs together: a twentieth is seen.
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, line));
        (0..30_000).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let of = |time_ns| severity(&input, None, &[], &saved(time_ns, 0)).is_some();
        assert_eq!((of(37_000), of(38_000)), (false, true));
        let one_map = Estimate { allocations: 16, ..saved(90_000, 0) };
        assert_eq!(severity(&input, None, &[], &one_map), None, "a few calls of a run that has few");
    }

    #[test]
    fn a_large_part_of_little_is_little() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        (0..150).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let of = |estimate: Estimate| severity(&input, None, &[], &estimate);
        assert_eq!((of(saved(3_750, 0)), of(saved(1_250, 0))), (Some(Severity::Low), None));
        assert_eq!(of(saved(0, 200 << 20)), Some(Severity::High));
    }

    #[test]
    fn requests_and_bytes_that_pass_through_are_no_gain() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        (0..1000).for_each(|_| _ = p.alloc(stack, 8));
        let analysis = p.analysis();
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let through = Estimate { allocations: 900, allocated_bytes: Bytes(8 << 30), ..Estimate::default() };
        assert_eq!(severity(&input, None, &[], &through), None);
    }

    #[test]
    fn the_time_of_the_run_decides_how_severe_it_is() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        (0..300_000).for_each(|_| _ = p.alloc(stack, 8));
        let mut analysis = p.analysis();
        let mut of = |cpu_ns: u64| {
            analysis.end.as_mut().expect("it ended").cpu_ns = cpu_ns;
            severity(&RuleInput::new(&analysis, crate::source::NO_LINES), None, &[], &saved(3_750_000, 0))
        };
        assert_eq!(of(50_000_000), Some(Severity::High));
        assert_eq!(of(500_000_000), Some(Severity::Medium));
        assert_eq!(of(5_000_000_000), Some(Severity::Low));
    }

    #[test]
    fn a_slow_machine_changes_nothing() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::run|/u/src/a.rs|7"));
        (0..300_000).for_each(|_| _ = p.alloc(stack, 8));
        let mut analysis = p.analysis();
        let mut of = |cpu_ns: u64, correction: Option<f64>| {
            analysis.end.as_mut().expect("it ended").cpu_ns = cpu_ns;
            let mut input = RuleInput::new(&analysis, crate::source::NO_LINES);
            input.correction = correction;
            severity(&input, None, &[], &saved(3_750_000, 0))
        };
        // 9.4 ms of 300, without what recording takes; calls and everything else may take three times as long.
        assert_eq!(of(300_000_000, None), Some(Severity::High));
        assert_eq!(of(900_000_000, Some(7.5)), Some(Severity::High));
        // What takes longer while calls do not is the program's own work.
        assert_eq!(of(900_000_000, Some(2.5)), Some(Severity::Medium));
    }

    #[test]
    fn sites_are_weighed_by_their_own_calls() {
        let mut p = Program::default();
        let fast = p.stack(&user(BOXED, "app::fast|/u/src/a.rs|7"));
        let slow = p.stack(&user(BOXED, "app::slow|/u/src/a.rs|9"));
        for (stack, ns) in [(fast, 30), (slow, 1_000)] {
            for _ in 0..20_000 {
                p.alloc(stack, 8);
                p.took_ns(ns);
            }
        }
        let mut analysis = p.analysis();
        analysis.end.as_mut().expect("it ended").cpu_ns = 2_000_000_000;
        let input = RuleInput::new(&analysis, crate::source::NO_LINES);
        let of = |stack| severity(&input, None, &[p.site(&analysis, stack)], &saved(1_500_000, 0));
        assert_eq!((of(fast), of(slow)), (Some(Severity::Low), Some(Severity::Medium)));
    }
}
