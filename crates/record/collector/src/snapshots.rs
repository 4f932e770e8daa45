//! When to take a snapshot of a process's pages.
//!
//! A snapshot costs some ten milliseconds for a gibibyte, so it is taken when it is likely to be useful: when the resident
//! set has grown by a twentieth (the last of these is near the peak), now and then (the last of these is near the end of
//! a process that is killed), on request, and when a process says that it ends. The first two give way if looking
//! would take more than a few percent of the collector's time.

use heapwise_trace::file::pages::Reason;
use std::time::Duration;

/// Growth that makes another snapshot worth it: a twentieth of the highest resident set so far, plus this many bytes.
const GROWTH_SHARE: u64 = 20;
const GROWTH_BYTES: u64 = 256 << 10;
/// After a smaller growth a snapshot is taken when the last one is this old.
const PLATEAU: Duration = Duration::from_millis(250);
/// How often a snapshot is taken without any other reason.
const LATEST: Duration = Duration::from_secs(1);
/// Pauses between snapshots, in units of what the last one took.
const PAUSE_AFTER_GROWTH: u32 = 10;
const PAUSE_AFTER_LATEST: u32 = 100;

/// The snapshots of one process so far.
#[derive(Debug, Default)]
pub(crate) struct SnapshotPace {
    highest: u64,
    last: Option<Duration>,
    cost: Duration,
}

impl SnapshotPace {
    /// Whether a snapshot of a process with so many resident bytes is due, and why.
    pub(crate) fn due(&self, now: Duration, rss_bytes: u64) -> Option<Reason> {
        let Some(last) = self.last else { return Some(Reason::Grown) };
        let since = now.saturating_sub(last);
        let much = rss_bytes > self.highest + self.highest / GROWTH_SHARE + GROWTH_BYTES;
        let little = rss_bytes > self.highest && since >= PLATEAU;
        if (much || little) && since >= self.cost * PAUSE_AFTER_GROWTH {
            return Some(Reason::Grown);
        }
        (since >= LATEST.max(self.cost * PAUSE_AFTER_LATEST)).then_some(Reason::Latest)
    }

    /// Notes a snapshot.
    pub(crate) fn took(&mut self, now: Duration, cost: Duration, rss_bytes: u64) {
        self.last = Some(now);
        self.cost = cost;
        self.highest = self.highest.max(rss_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn growth_is_looked_at_at_once_and_a_plateau_later() {
        let mut pace = SnapshotPace::default();
        assert_eq!(pace.due(10 * MS, 1 << 20), Some(Reason::Grown), "nothing was seen before");
        pace.took(10 * MS, MS, 100 << 20);
        assert_eq!(pace.due(15 * MS, 200 << 20), None, "the snapshot before has cost too much for that");
        assert_eq!(pace.due(20 * MS, 200 << 20), Some(Reason::Grown));
        assert_eq!(pace.due(40 * MS, 101 << 20), None);
        assert_eq!(pace.due(300 * MS, 101 << 20), Some(Reason::Grown));
        assert_eq!(pace.due(300 * MS, 99 << 20), None);
        assert_eq!(pace.due(1100 * MS, 99 << 20), Some(Reason::Latest));
    }

    #[test]
    fn dear_snapshots_are_rare() {
        let mut pace = SnapshotPace::default();
        pace.took(Duration::ZERO, 100 * MS, 10 << 30);
        assert_eq!(pace.due(900 * MS, 20 << 30), None);
        assert_eq!(pace.due(1000 * MS, 20 << 30), Some(Reason::Grown));
        assert_eq!(pace.due(9000 * MS, 1 << 30), None);
        assert_eq!(pace.due(10_000 * MS, 1 << 30), Some(Reason::Latest));
    }
}
