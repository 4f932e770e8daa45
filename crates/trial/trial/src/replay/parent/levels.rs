//! A level over time in bounded memory.

use crate::replay::outcome::Level;
use heapwise_analysis::{Bytes, Nanos};
use std::time::Duration;

/// Points that are kept at most.
const MOST: usize = 1024;

/// The highest level of each interval; intervals double when there are too many.
#[derive(Debug)]
pub(super) struct Levels {
    interval: u64,
    points: Vec<Level>,
    highest: Bytes,
}

impl Default for Levels {
    fn default() -> Self {
        Self { interval: 1_000_000, points: Vec::new(), highest: Bytes(0) }
    }
}

impl Levels {
    pub(super) fn add(&mut self, time: Duration, rss: Bytes) {
        let time = time.as_nanos() as u64;
        self.highest = self.highest.max(rss);
        let interval = |time: u64| time / self.interval;
        match self.points.last_mut() {
            Some(last) if interval(last.time.0) == interval(time) => last.rss = last.rss.max(rss),
            _ => self.points.push(Level { time: Nanos(time), rss }),
        }
        if self.points.len() > MOST {
            self.interval *= 2;
            let points = std::mem::take(&mut self.points);
            for point in points {
                self.add(Duration::from_nanos(point.time.0), point.rss);
            }
        }
    }

    pub(super) fn highest(&self) -> Bytes {
        self.highest
    }

    pub(super) fn finish(self) -> Vec<Level> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_and_the_highest_is_kept() {
        let mut levels = Levels::default();
        for ms in 0..100_000u64 {
            let rss = if ms == 54_321 { 1 << 30 } else { ms };
            levels.add(Duration::from_millis(ms), Bytes(rss));
        }
        assert_eq!(levels.highest(), Bytes(1 << 30));
        let points = levels.finish();
        assert!((MOST / 4..=MOST).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|p| p.rss).max(), Some(Bytes(1 << 30)));
        assert!(points.is_sorted_by(|a, b| a.time.0 < b.time.0));
    }
}
