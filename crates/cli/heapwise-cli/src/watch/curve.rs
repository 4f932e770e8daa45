//! Memory over time, over all files of a recording that were followed.

use heapwise_analysis::{Follow, MemorySample, Nanos};
use std::io::Read;

/// Points of the curves: more than columns.
const POINTS: usize = 512;

/// The files before the one at hand.
#[derive(Debug, Default)]
pub(super) struct Curve {
    before: Vec<MemorySample>,
    lasted_ns: u64,
}

impl Curve {
    /// All of it up to now.
    pub(super) fn with<R: Read>(&self, follow: &Follow<R>) -> Vec<MemorySample> {
        self.joined(follow.now().time.0, |points| follow.memory(points))
    }

    /// The file at hand is over.
    pub(super) fn add<R: Read>(&mut self, follow: &Follow<R>) {
        self.before = self.with(follow);
        self.lasted_ns = self.lasted_ns.saturating_add(follow.now().time.0);
    }

    /// Those before with those that follow them, each with points by its time.
    fn joined(&self, lasts_ns: u64, now: impl FnOnce(usize) -> Vec<MemorySample>) -> Vec<MemorySample> {
        let all = u128::from(self.lasted_ns) + u128::from(lasts_ns);
        let share = (POINTS as u128 * u128::from(self.lasted_ns)).checked_div(all).unwrap_or(0);
        // There may be fewer points than there is room for.
        let later = now(POINTS - share as usize);
        let as_dense = later.len() as u128 * u128::from(self.lasted_ns) / u128::from(lasts_ns.max(1));
        let mut joined = fewer(&self.before, as_dense.min(share) as usize);
        joined.extend(
            later.into_iter().map(|point| MemorySample {
                time: Nanos(point.time.0.saturating_add(self.lasted_ns)),
                ..point
            }),
        );
        joined
    }
}

/// At most `n` points, each the highest of those that it stands for.
fn fewer(points: &[MemorySample], n: usize) -> Vec<MemorySample> {
    if points.len() <= n || n == 0 {
        let points = if n == 0 { &[] } else { points };
        return points.to_vec();
    }
    let piece = |at: usize| &points[at * points.len() / n..(at + 1) * points.len() / n];
    let highest = |piece: &[MemorySample]| MemorySample {
        time: piece[0].time,
        rss: piece.iter().filter_map(|point| point.rss).max(),
        live: piece.iter().map(|point| point.live).max().unwrap_or_default(),
    };
    (0..n).map(|at| highest(piece(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::Bytes;

    fn flat(n: usize, live: u64) -> Vec<MemorySample> {
        (0..n).map(|at| MemorySample { time: Nanos(at as u64), rss: None, live: Bytes(live) }).collect()
    }

    #[test]
    fn files_have_points_by_their_time() {
        let mut before = flat(POINTS, 7);
        before[100].live = Bytes(9);
        let curve = Curve { before, lasted_ns: 3000 };
        let joined = curve.joined(1000, |n| flat(n, 1));
        assert_eq!(joined.len(), POINTS);
        assert_eq!(joined.iter().filter(|point| point.live.0 >= 7).count(), POINTS * 3 / 4);
        assert!(joined.iter().any(|point| point.live.0 == 9), "no peak is lost");
        assert_eq!(joined[POINTS * 3 / 4].time, Nanos(3000));
        assert_eq!(Curve::default().joined(0, |n| flat(n.min(3), 1)), flat(3, 1));
    }
}
