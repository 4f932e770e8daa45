//! A level over time in bounded memory.

use crate::units::{Bytes, Nanos};

/// Most points that are kept. When they are full, neighbours are merged, so there are always half as many or more.
pub const MOST_POINTS: usize = 2048;
/// Width of the first points: 65 µs, so that a run of a tenth of a second has all of them.
const FIRST_WIDTH_NS: u64 = 1 << 16;

/// The highest level in each span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    width_ns: u64,
    /// Highest level in `[i × width, (i + 1) × width)`.
    points: Vec<u64>,
    /// Highest level in the span after the last point.
    pub(crate) highest: u64,
    /// End of that span.
    end_ns: u64,
    started: bool,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ns: FIRST_WIDTH_NS,
            points: Vec::new(),
            highest: 0,
            end_ns: FIRST_WIDTH_NS,
            started: false,
        }
    }
}

impl Timeline {
    /// Notes that it is `now` and that the level has been `level` since the last change.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64, level: u64) {
        self.started = true;
        if now_ns >= self.end_ns {
            self.close(now_ns, level);
        }
    }

    /// Notes a level in the current span.
    #[inline(always)]
    pub(crate) fn raise(&mut self, level: u64) {
        if level > self.highest {
            self.highest = level;
        }
    }

    #[cold]
    fn close(&mut self, now_ns: u64, level: u64) {
        self.points.push(self.highest);
        self.highest = level;
        while now_ns / self.width_ns >= MOST_POINTS as u64 {
            self.merge(level);
        }
        let index = (now_ns / self.width_ns) as usize;
        if self.points.len() < index {
            self.points.resize(index, level);
        }
        // A merge may have taken the span that now begins into the last point: it goes on there.
        if let Some(reopened) = (self.points.len() > index).then(|| self.points.split_off(index)) {
            self.highest = reopened.into_iter().fold(self.highest, u64::max);
        }
        self.end_ns = (index as u64 + 1).saturating_mul(self.width_ns);
    }

    fn merge(&mut self, level: u64) {
        if self.points.len() % 2 == 1 {
            self.points.push(level);
        }
        self.points = self.points.chunks(2).map(|pair| pair[0].max(pair[1])).collect();
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    /// Ends with the run, which lasted `duration_ns`: what was noted later, for the collector looks once more after the last
    /// process has ended, belongs to the last moment. Of a run whose length is not known, nothing is known to be later.
    pub(crate) fn end_at(&mut self, duration_ns: u64) {
        let kept = duration_ns.div_ceil(self.width_ns) as usize;
        if kept == 0 || self.points.len() < kept {
            return;
        }
        let later = self.points.split_off(kept - 1);
        self.highest = later.into_iter().fold(self.highest, u64::max);
        self.end_ns = duration_ns;
    }

    /// The points: where a span begins and the highest level in it. Empty if nothing was ever noted.
    pub fn points(&self) -> impl Iterator<Item = (Nanos, Bytes)> {
        let open = self.started.then_some(self.highest);
        let levels = self.points.iter().copied().chain(open);
        levels.enumerate().map(|(i, level)| (Nanos(i as u64 * self.width_ns), Bytes(level)))
    }

    /// How much time one point stands for.
    pub fn width(&self) -> Nanos {
        Nanos(self.width_ns)
    }

    /// Whether nothing was ever noted.
    pub fn is_empty(&self) -> bool {
        !self.started
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_noted_after_the_run_belongs_to_its_last_moment() {
        let noted = || {
            let mut timeline = Timeline::default();
            for (i, level) in [10, 20, 5, 30, 7].into_iter().enumerate() {
                timeline.advance(i as u64 * FIRST_WIDTH_NS, level);
                timeline.raise(level);
            }
            timeline
        };
        let levels = |duration_ns| {
            let mut timeline = noted();
            timeline.end_at(duration_ns);
            timeline.points().map(|p| p.1.0).collect::<Vec<_>>()
        };
        assert_eq!(levels(2 * FIRST_WIDTH_NS + 1).len(), 3);
        assert_eq!(levels(2 * FIRST_WIDTH_NS + 1)[2], 30, "the highest level is not lost");
        assert_eq!(levels(2 * FIRST_WIDTH_NS).len(), 2);
        assert_eq!(levels(1).len(), 1);
        let all = noted().points().map(|p| p.1.0).collect::<Vec<_>>();
        assert_eq!(levels(9 * FIRST_WIDTH_NS), all);
        assert_eq!(levels(0), all, "the length is not known");
    }

    proptest! {
        #[test]
        fn no_level_is_lost_and_the_points_stay_few(steps in proptest::collection::vec((0u64..1 << 33, 0u64..1000), 1..300)) {
            let mut timeline = Timeline::default();
            let (mut now, mut level, mut truth) = (0u64, 0u64, vec![]);
            for (wait, next) in steps {
                now += wait;
                timeline.advance(now, level);
                timeline.raise(next);
                level = next;
                truth.push((now, level));
            }
            let points: Vec<_> = timeline.points().collect();
            prop_assert!(points.len() <= MOST_POINTS + 1);
            let width = timeline.width().0;
            for (now, level) in &truth {
                let point = points[(now / width) as usize];
                prop_assert!(point.1.0 >= *level, "at {} of width {}", now, width);
            }
            let highest = truth.iter().map(|t| t.1).max();
            prop_assert_eq!(points.iter().map(|p| p.1.0).max(), highest);
        }
    }
}
