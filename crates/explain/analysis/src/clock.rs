//! From epochs to times.

use heapwise_trace::event::Epoch;
use heapwise_trace::file::tables::ClockReadings;

/// Above this many readings the older half is forgotten, so that a recording of days stays in bounded memory.
const MOST_READINGS: usize = 1 << 20;

/// The readings so far, ascending, and where the last look-up ended.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    readings: Vec<(u64, u64)>,
    at: usize,
}

impl Clock {
    /// Adds readings. Those that go backwards are ignored.
    pub(crate) fn add(&mut self, readings: &ClockReadings) {
        for &(Epoch(epoch), time_ns) in &readings.0 {
            match self.readings.last() {
                Some(&(e, t)) if epoch <= e || time_ns < t => {}
                _ => self.readings.push((epoch, time_ns)),
            }
        }
        if self.readings.len() > MOST_READINGS {
            self.readings.drain(..MOST_READINGS / 2);
            self.at = 0;
        }
    }

    /// The time at which an epoch began: interpolated between readings, the nearest reading outside of them.
    ///
    /// PERF: called once per epoch and mostly in ascending order, so it walks on from the last answer.
    pub(crate) fn time_ns(&mut self, epoch: u64) -> u64 {
        let readings = &self.readings;
        if self.at < readings.len() && readings[self.at].0 > epoch {
            self.at = readings.partition_point(|r| r.0 <= epoch).saturating_sub(1);
        }
        while readings.get(self.at + 1).is_some_and(|r| r.0 <= epoch) {
            self.at += 1;
        }
        let Some(&(e0, t0)) = readings.get(self.at) else { return 0 };
        match readings.get(self.at + 1) {
            Some(&(e1, t1)) if epoch > e0 => {
                let share = u128::from(t1 - t0) * u128::from(epoch - e0) / u128::from(e1 - e0);
                t0 + share as u64
            }
            _ => t0,
        }
    }

    /// Time of the newest reading.
    pub(crate) fn last_ns(&self) -> u64 {
        self.readings.last().map_or(0, |r| r.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_interpolated_and_held_outside() {
        let mut clock = Clock::default();
        assert_eq!(clock.time_ns(7), 0, "no reading yet");
        clock.add(&ClockReadings(vec![
            (Epoch(10), 1000),
            (Epoch(20), 3000),
            (Epoch(15), 1),
            (Epoch(30), 3000),
        ]));
        for (epoch, time) in
            [(1, 1000), (10, 1000), (15, 2000), (20, 3000), (99, 3000), (12, 1400), (11, 1200)]
        {
            assert_eq!(clock.time_ns(epoch), time, "epoch {epoch}");
        }
        assert_eq!(clock.last_ns(), 3000);
    }
}
