//! What a tick of the processor's clock is worth during replays.

use heapwise_collector::ticks::Moment;
use std::time::Duration;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Moment);

/// What the clocks have to be apart for a ratio that is good to a thousandth.
const ENOUGH: Duration = Duration::from_millis(5);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Moment::now())
    }

    /// Nanoseconds of a tick.
    pub(super) fn ns_per_tick(&self) -> f64 {
        std::thread::sleep(ENOUGH.saturating_sub(self.0.elapsed()));
        1e9 / self.0.ticks_per_second().max(1) as f64
    }

    /// Ticks in a time.
    pub(super) fn ticks(&self, time: Duration) -> u64 {
        (time.as_nanos() as f64 / self.ns_per_tick()) as u64
    }
}
