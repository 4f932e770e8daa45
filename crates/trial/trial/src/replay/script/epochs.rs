//! Epochs of the recording as consecutive numbers, with their times.

use heapwise_analysis::Moment;
use heapwise_trace::event::Epoch;

/// The epochs in which the program did something.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    /// Epoch of the session and nanoseconds since the command began, ascending.
    all: Vec<(u64, u64)>,
}

/// The number of an epoch, from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub(crate) u32);

impl Epochs {
    /// The number of the epoch of events that come now. What comes late belongs to the epoch that it comes in.
    pub(crate) fn enter(&mut self, at: Moment) -> Number {
        match self.all.last() {
            Some(&(epoch, _)) if at.epoch.0 <= epoch => {}
            last => {
                let time = last.map_or(at.time.0, |&(_, time)| at.time.0.max(time));
                self.all.push((at.epoch.0, time));
            }
        }
        self.last()
    }

    pub(crate) fn last(&self) -> Number {
        Number(u32::try_from(self.all.len()).unwrap_or(u32::MAX))
    }

    /// The last one that had begun at an epoch of the session.
    pub(crate) fn at(&self, epoch: Epoch) -> Number {
        let n = self.all.partition_point(|&(e, _)| e <= epoch.0);
        Number(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Nanoseconds since the first epoch.
    pub(crate) fn time_ns(&self, number: Number) -> u64 {
        let time = |n: usize| self.all.get(n).map_or(0, |&(_, time)| time);
        time(number.0.saturating_sub(1) as usize).saturating_sub(time(0))
    }

    /// When the first one began, in nanoseconds since the command did.
    pub(crate) fn start_ns(&self) -> u64 {
        self.all.first().map_or(0, |&(_, time)| time)
    }
}
