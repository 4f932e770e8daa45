//! How much was requested over the last seconds: from copies of the sums, one for each second of the recording's clock.

use std::collections::VecDeque;

const SECOND: u64 = 1_000_000_000;
/// What "the last seconds" are.
const SPAN: u64 = 5 * SECOND;

/// Requests, and their bytes.
pub(super) type Requested = [u64; 2];

/// The copies, the oldest first. What joins later had nothing before.
#[derive(Debug)]
pub(super) struct Rates {
    copies: VecDeque<(u64, Vec<Requested>)>,
}

impl Default for Rates {
    fn default() -> Self {
        Self { copies: VecDeque::from([(0, Vec::new())]) }
    }
}

impl Rates {
    /// Whether it is time for another copy.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.copies.back().is_none_or(|(last, _)| now_ns >= last.saturating_add(SECOND))
    }

    /// Takes a copy of the sums, and forgets those that are not needed any more.
    pub(super) fn note(&mut self, now_ns: u64, sums: impl Iterator<Item = Requested>) {
        self.copies.push_back((now_ns, sums.collect()));
        while self.copies.get(1).is_some_and(|(second, _)| second.saturating_add(SPAN) <= now_ns) {
            self.copies.pop_front();
        }
    }

    /// What was requested in each second since the oldest copy, for each of the sums. Before `since_ns` there was nothing to request.
    pub(super) fn per_second(
        &self,
        since_ns: u64,
        now_ns: u64,
        sums: impl Iterator<Item = Requested>,
    ) -> Vec<Requested> {
        const NOTHING: (u64, Vec<Requested>) = (0, Vec::new());
        let (since, before) = self.copies.front().unwrap_or(const { &NOTHING });
        let span = now_ns.saturating_sub(since_ns.max(*since));
        let rate = |now: u64, before: u64| {
            let more = u128::from(now.saturating_sub(before)) * u128::from(SECOND);
            u64::try_from(more.checked_div(u128::from(span)).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let rates = sums.enumerate().map(|(at, now)| {
            let before = before.get(at).copied().unwrap_or_default();
            [rate(now[0], before[0]), rate(now[1], before[1])]
        });
        rates.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let mut rates = Rates::default();
        // Ten requests of a hundred bytes each second, for ten seconds; then nothing.
        for second in 1..=20u64 {
            let sums = [second.min(10) * 10, second.min(10) * 1000];
            assert!(rates.is_due(second * SECOND) && !rates.is_due(second * SECOND - 1));
            rates.note(second * SECOND, [sums].into_iter());
            let now = rates.per_second(0, second * SECOND, [sums].into_iter());
            let span = second.min(5) * SECOND;
            let busy = match second {
                0..=10 => span / SECOND,
                _ => 5u64.saturating_sub(second - 10),
            };
            assert_eq!(now, [[busy * 10 * SECOND / span, busy * 1000 * SECOND / span]], "at {second}");
        }
        assert!(rates.copies.len() <= 6, "{}", rates.copies.len());
    }

    #[test]
    fn what_is_new_had_nothing_before_and_no_time_is_no_rate() {
        let mut rates = Rates::default();
        assert_eq!(rates.per_second(0, 0, [[7, 7]].into_iter()), [[0, 0]]);
        rates.note(SECOND, [[5, 50]].into_iter());
        rates.note(6 * SECOND, [[5, 50]].into_iter());
        let now = rates.per_second(0, 6 * SECOND, [[5, 50], [10, u64::MAX]].into_iter());
        assert_eq!(now, [[0, 0], [2, u64::MAX / 5]]);
    }

    #[test]
    fn time_before_the_recording_began_is_not_counted() {
        let mut rates = Rates::default();
        (1..=3).for_each(|second| rates.note(second * SECOND, std::iter::empty()));
        let now = |now_ns| rates.per_second(3 * SECOND, now_ns, [[100, 1000]].into_iter());
        assert_eq!(now(3 * SECOND + SECOND / 2), [[200, 2000]]);
        assert_eq!(now(5 * SECOND), [[50, 500]]);
        assert_eq!(now(2 * SECOND), [[0, 0]]);
    }
}
