//! Findings whose times do not say which saves more.

use crate::finding::Finding;
use std::cmp::Reverse;

/// Measured times of which the smaller is at least this part of the larger may come out the other way round in the next run: one finding
/// of the contest program was said to save from 11 to 21 ms, as the machine was idle or loaded, and another one 14 to 25.
const ALIKE: f64 = 2.0 / 3.0;

/// Of findings in order of severity and time, those whose times were measured in calls and are alike come in the order of the calls
/// that they save: their number is the same in each run, and a call takes time of its caller, too, that no measured time contains.
pub(crate) fn most_calls_first(found: &mut [Finding], in_calls: impl Fn(&Finding) -> bool) {
    let mut rest = found;
    while let Some(first) = rest.first() {
        let (severity, least) = (first.severity, first.estimate.time.0 as f64 * ALIKE);
        let is_alike = |other: &&Finding| {
            let (time, calls) = (other.estimate.time.0, other.estimate.requests());
            // Where the calls stay, their number says nothing.
            let counts = in_calls(other) && calls > 0 && time > 0;
            counts && other.severity == severity && time as f64 >= least
        };
        let alike = rest.iter().take_while(is_alike).count();
        rest[..alike].sort_by_key(|finding| Reverse(finding.estimate.requests()));
        rest = &mut rest[alike.max(1)..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Certainty, Estimate, Severity};
    use heapwise_analysis::Nanos;

    fn finding(id: &'static str, severity: Severity, allocations: u64, time_ns: u64) -> Finding {
        Finding {
            id,
            severity,
            certainty: Certainty::Likely,
            title: String::new(),
            site: None,
            sites: Vec::new(),
            evidence: Vec::new(),
            estimate: Estimate { allocations, time: Nanos(time_ns), ..Estimate::default() },
            remedy: String::new(),
        }
    }

    fn ordered(mut found: Vec<Finding>) -> Vec<&'static str> {
        found.sort_by_key(|finding| Reverse((finding.severity, finding.estimate.time)));
        most_calls_first(&mut found, |finding| finding.id != "outside");
        found.iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn of_times_that_are_alike_the_number_of_calls_decides() {
        let high = Severity::High;
        let of = |few, many| ordered(vec![finding("few", high, 10, few), finding("many", high, 1_000, many)]);
        assert_eq!(of(100, 80), ["many", "few"]);
        assert_eq!(of(80, 100), ["many", "few"]);
        assert_eq!(of(100, 60), ["few", "many"]);
        // Nothing measured is not alike.
        assert_eq!(of(100, 0), ["few", "many"]);
    }

    #[test]
    fn what_is_alike_is_so_to_the_first_and_of_its_severity() {
        let (high, low) = (Severity::High, Severity::Low);
        let found = vec![
            finding("1", high, 1, 100),
            finding("2", high, 2, 80),
            finding("3", high, 3, 60),
            finding("4", high, 4, 50),
            finding("5", low, 5, 60),
        ];
        assert_eq!(ordered(found), ["2", "1", "4", "3", "5"]);
    }

    #[test]
    fn time_that_no_call_takes_or_that_calls_take_which_stay_has_its_place_by_the_time() {
        let found =
            vec![finding("outside", Severity::High, 0, 100), finding("calls", Severity::High, 50, 90)];
        assert_eq!(ordered(found), ["outside", "calls"]);
    }
}
