//! How long the rest of a trial takes.

use super::{BESIDE, Options};
use heapwise_analysis::Nanos;
use std::time::{Duration, Instant};

/// What is known of the rest. Replays without pauses take as long as those before them, replays with pauses as long as the
/// pauses.
#[derive(Debug)]
pub(super) struct Estimate {
    began: Instant,
    /// Replays without pauses, in all.
    fast: usize,
    timed: Duration,
}

impl Estimate {
    /// `fast` is how many replays without pauses each candidate has.
    pub(super) fn new(options: &Options, fast: usize, duration: Nanos) -> Self {
        let candidates = options.candidates.len();
        let timed = options.timed.map_or(Duration::ZERO, |timed| {
            let each = (Duration::from_nanos(duration.0) + timed.settle) / timed.compression.max(1);
            let beside = std::thread::available_parallelism().map_or(1, usize::from) * BESIDE;
            each * candidates.div_ceil(beside) as u32
        });
        Self { began: Instant::now(), fast: fast * candidates, timed }
    }

    /// The rest when so many replays are done. `None` before the first one is.
    pub(super) fn left(&self, done: usize) -> Option<Duration> {
        if done >= self.fast {
            // Replays with pauses run in parallel.
            return (self.fast == 0 || done == self.fast).then_some(self.timed);
        }
        if done == 0 {
            return None;
        }
        let each = self.began.elapsed() / done as u32;
        Some(each * (self.fast - done) as u32 + self.timed)
    }
}
