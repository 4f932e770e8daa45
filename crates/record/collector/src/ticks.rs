//! The processor's clock, and what a tick of it is worth.
//!
//! The recorder measures in ticks, and so do replays. Their length is found by reading both clocks at the start and at the end.

#![expect(unsafe_code, reason = "reads the processor's clock")]

use std::time::{Duration, Instant};

/// Readings to find out what a reading itself takes. One in so many may have an interrupt in it.
const READINGS: usize = 4096;
const INTERRUPTED: usize = 100;

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

/// Ticks between two readings with nothing in between, on average.
///
/// The least would not do: clocks of some processors go in steps, that of an AMD EPYC by 26 ticks or 10 ns, and two readings within a step
/// are next to nothing apart ([ADR 43](../../../../docs/adr/0043-clocks-that-go-in-steps.md)). On average they are as far apart as those
/// around a call are too far.
pub(crate) fn overhead() -> u64 {
    let once = |_| {
        let before = ticks_in_order();
        ticks_in_order().saturating_sub(before)
    };
    usual((0..READINGS).map(once).collect())
}

/// The mean without the largest, which have something else in them.
fn usual(mut readings: Vec<u64>) -> u64 {
    readings.sort_unstable();
    readings.truncate(readings.len() - readings.len() / INTERRUPTED);
    let sum: u64 = readings.iter().fold(0, |sum, ticks| sum.saturating_add(*ticks));
    let n = readings.len().max(1) as u64;
    sum.saturating_add(n / 2) / n
}

/// The clock; 0 where there is none.
#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// The same with all work before it done, and none behind it begun, as the recorder reads it around calls.
#[inline(always)]
pub fn ticks_in_order() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has these instructions, none of which touches memory.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        let ticks = core::arch::x86_64::_rdtsc();
        core::arch::x86_64::_mm_lfence();
        ticks
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

    #[test]
    fn a_clock_that_goes_in_steps_counts_by_its_mean_and_an_interrupt_does_not() {
        // 19 of 20 readings are a step of 26 apart, the others within one.
        let steps = (0..1000).map(|i| if i % 20 == 0 { 1 } else { 26 });
        assert_eq!(usual(steps.clone().collect()), 25);
        assert_eq!(usual(steps.chain([1 << 40; 10]).collect()), 25);
        assert_eq!(usual(Vec::new()), 0);
    }
}
