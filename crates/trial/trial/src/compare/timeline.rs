//! Resident memory over time, in bounded memory.

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Since the start.
    pub time_ns: u64,
    /// Resident memory of all processes.
    pub rss_bytes: u64,
}

/// Points in time. When there are too many, each two neighbours become one, the higher of them, so that peaks stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    points: Vec<Point>,
    /// So many samples are one point, minus one.
    merged: u32,
    /// Samples that the last point has of them.
    in_last: u32,
}

impl Timeline {
    /// The most points.
    pub const MOST: usize = 512;

    /// Adds a sample, later than all before.
    pub fn add(&mut self, point: Point) {
        let per_point = self.merged + 1;
        match self.points.last_mut() {
            Some(last) if self.in_last < per_point => {
                *last = higher(*last, point);
                self.in_last += 1;
            }
            _ => {
                if self.points.len() == Self::MOST {
                    self.points = self
                        .points
                        .chunks(2)
                        .map(|two| two.iter().copied().reduce(higher))
                        .map_while(|p| p)
                        .collect();
                    self.merged = per_point * 2 - 1;
                }
                self.points.push(point);
                self.in_last = 1;
            }
        }
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

fn higher(a: Point, b: Point) -> Point {
    if b.rss_bytes > a.rss_bytes { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_peaks_stay() {
        let mut timeline = Timeline::default();
        for at in 0..100_000u64 {
            let rss_bytes = if at == 77_777 { 1 << 30 } else { at };
            timeline.add(Point { time_ns: at, rss_bytes });
        }
        let points = timeline.points();
        assert!(points.len() <= Timeline::MOST && points.len() >= Timeline::MOST / 4, "{}", points.len());
        assert!(points.windows(2).all(|two| two[0].time_ns < two[1].time_ns));
        assert!(points.contains(&Point { time_ns: 77_777, rss_bytes: 1 << 30 }));
        assert!(points.last().is_some_and(|last| last.time_ns > 99_000));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let mut timeline = Timeline::default();
        let all: Vec<Point> = (0..500).map(|at| Point { time_ns: at, rss_bytes: 500 - at }).collect();
        all.iter().for_each(|point| timeline.add(*point));
        assert_eq!(timeline.points(), all);
    }
}
