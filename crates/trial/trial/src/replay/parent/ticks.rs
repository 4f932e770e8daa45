//! What a tick of the processor's clock is worth: both clocks are read at the start and when it is asked for.

#![expect(unsafe_code, reason = "reads the processor's clock")]

use std::time::{Duration, Instant};

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    ticks: u64,
    time: Instant,
}

/// What the clocks have to be apart for a ratio that is good to a thousandth.
const ENOUGH: Duration = Duration::from_millis(5);

impl Clock {
    pub(super) fn start() -> Self {
        Self { ticks: ticks(), time: Instant::now() }
    }

    /// Nanoseconds of a tick.
    pub(super) fn ns_per_tick(&self) -> f64 {
        std::thread::sleep(ENOUGH.saturating_sub(self.time.elapsed()));
        let (ticks, time) = (ticks().wrapping_sub(self.ticks), self.time.elapsed());
        time.as_nanos() as f64 / ticks.max(1) as f64
    }

    /// Ticks in a time.
    pub(super) fn ticks(&self, time: Duration) -> u64 {
        (time.as_nanos() as f64 / self.ns_per_tick()) as u64
    }
}

fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}
