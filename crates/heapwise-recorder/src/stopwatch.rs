//! How long the real allocator takes, measured for a few calls.
//!
//! Reading the processor's clock around every call would cost more than the calls. So the ring, whenever it is looked at
//! anyhow (every few hundred events), chooses one of the next calls, and only that is measured. Which of them is drawn by
//! lot, or a loop whose events fill the ring in step would have always the same call measured.

use crate::arch::clock;
use crate::arch::tls;

/// The chosen call is one of so many: a power of two.
const LOTS: u64 = 32;

/// Chooses one of the following calls of this thread. `seed` is different each time.
pub fn choose(seed: u64) {
    // The golden ratio's multiplier spreads neighbouring seeds evenly.
    let lot = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
    // SAFETY: this thread's own words.
    unsafe { (*tls::words()).measure_in = (lot % LOTS) as u32 + 1 };
}

/// A measurement that may be under way.
#[derive(Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    /// Begins, if this is the chosen call.
    #[inline(always)]
    pub fn start(measure_in: &mut u32) -> Self {
        if *measure_in == 0 { Self(0) } else { Self::count_down(measure_in) }
    }

    #[cold]
    #[inline(never)]
    fn count_down(measure_in: &mut u32) -> Self {
        *measure_in -= 1;
        if *measure_in == 0 { Self(clock::ticks()) } else { Self(0) }
    }

    /// Ends; `ticks` gets what was measured, at least 1.
    #[inline(always)]
    pub fn stop(self, ticks: &mut u32) {
        if self.0 != 0 {
            *ticks = u32::try_from(clock::ticks().wrapping_sub(self.0)).unwrap_or(u32::MAX).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_chosen_call_is_measured() {
        let (mut measure_in, mut ticks) = (3, 0);
        let mut measured = Vec::new();
        for call in 1..10 {
            Stopwatch::start(&mut measure_in).stop(&mut ticks);
            if core::mem::take(&mut ticks) != 0 {
                measured.push(call);
            }
        }
        assert_eq!(measured, [3]);
    }
}
