//! What was resident a moment ago.
//!
//! Samples of memory come in a section behind the events of the same time, and events wait for one section. So when the events
//! are looked at, the samples are there; a few are kept to be looked up.

use std::collections::VecDeque;

/// Samples that are kept: forty seconds at one in ten milliseconds. Events do not wait that long.
const KEPT: usize = 4096;

/// The sum of all processes' resident bytes at the last few times.
#[derive(Debug, Default)]
pub(crate) struct RssHistory {
    samples: VecDeque<(u64, u64)>,
}

impl RssHistory {
    /// Notes the sum at a time. Processes are sampled one after another at the same time: the last sum counts.
    pub(crate) fn add(&mut self, time_ns: u64, bytes: u64) {
        match self.samples.back_mut() {
            Some((time, sum)) if *time == time_ns => *sum = bytes,
            // Time goes back in damaged recordings only.
            Some((time, _)) if *time > time_ns => {}
            _ => {
                if self.samples.len() == KEPT {
                    self.samples.pop_front();
                }
                self.samples.push_back((time_ns, bytes));
            }
        }
    }

    /// The last sum before or at a time, or the first one after; `None` if nothing was measured.
    pub(crate) fn at(&self, time_ns: u64) -> Option<u64> {
        let behind = self.samples.partition_point(|(time, _)| *time <= time_ns);
        self.samples.get(behind.saturating_sub(1)).map(|(_, bytes)| *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_before_counts() {
        let mut history = RssHistory::default();
        assert_eq!(history.at(5), None);
        // Two processes at 10, one at 20; a reading that goes back.
        for (time, bytes) in [(10, 100), (10, 150), (20, 90), (15, 1)] {
            history.add(time, bytes);
        }
        let found: Vec<_> = [0, 9, 10, 19, 20, 99].map(|time| history.at(time)).to_vec();
        assert_eq!(found, [150, 150, 150, 150, 90, 90].map(Some));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut history = RssHistory::default();
        (0..3 * KEPT as u64).for_each(|time| history.add(time, time));
        assert_eq!(history.samples.len(), KEPT);
        assert_eq!(history.at(3 * KEPT as u64 - 7), Some(3 * KEPT as u64 - 7));
    }
}
