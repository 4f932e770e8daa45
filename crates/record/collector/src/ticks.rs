//! The processor's clock, and what a tick of it is worth.
//!
//! The recorder measures in ticks, and so do replays. Their length is found by reading both clocks at the start and at the end.

#![expect(unsafe_code, reason = "reads the processor's clock")]

use std::time::{Duration, Instant};

/// Readings to find out what a reading itself takes; the least counts.
const READINGS: u32 = 1000;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    ticks: u64,
    time: Instant,
}

impl Moment {
    pub fn now() -> Self {
        Self { ticks: ticks(), time: Instant::now() }
    }

    /// How long ago it was.
    pub fn elapsed(&self) -> Duration {
        self.time.elapsed()
    }

    /// Ticks per second from this moment to now; 0 where there are none.
    pub fn ticks_per_second(&self) -> u64 {
        let now = Self::now();
        let nanos = now.time.duration_since(self.time).as_nanos().max(1);
        let ticks = u128::from(now.ticks.saturating_sub(self.ticks));
        u64::try_from(ticks * 1_000_000_000 / nanos).unwrap_or(0)
    }
}

/// Ticks between two readings with nothing in between.
pub(crate) fn overhead() -> u64 {
    let once = |_| {
        let before = ticks();
        ticks().saturating_sub(before)
    };
    (0..READINGS).map(once).min().unwrap_or(0)
}

/// The clock; 0 where there is none.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_a_plausible_length() {
        let begin = Moment::now();
        std::thread::sleep(Duration::from_millis(20));
        let rate = begin.ticks_per_second();
        assert!((100_000_000..20_000_000_000).contains(&rate), "{rate}");
        assert!(overhead() < 100_000, "{}", overhead());
    }
}
