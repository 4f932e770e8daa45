//! How long the real allocator takes, measured for a few calls.
//!
//! Reading the processor's clock around every call would cost more than the calls. So the ring, whenever it is looked at
//! anyhow (every few hundred events), chooses one of the next calls at random, and only that is measured. Without chance,
//! always the same call would be measured of a loop whose events fill the ring in step.

use crate::arch::tls::{self, ThreadWords};
use crate::confined;

/// Binary logarithm of the number of calls of which one is chosen.
const LOTS_BITS: u32 = 5;

/// Chooses one of the following calls of this thread. `seed` is different each time.
pub(crate) fn choose(seed: u64) {
    // The golden ratio's multiplier spreads neighbouring seeds evenly.
    let lot = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LOTS_BITS);
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*tls::words()).measure_in = lot as u32 + 1 };
}

/// A measurement that may be under way.
#[derive(Debug)]
pub(crate) struct Stopwatch(u64);

impl Stopwatch {
    /// Begins, if this is the chosen call. `words` are the calling thread's.
    #[inline(always)]
    pub(crate) fn start(words: *mut ThreadWords) -> Self {
        // SAFETY: valid as long as the thread runs; the thread's own word, read as a whole, and no reference to it lives. A
        // signal handler in between at worst chooses another call.
        if unsafe { (*words).measure_in } == 0 { Self(0) } else { Self::count_down(words) }
    }

    #[cold]
    #[inline(never)]
    fn count_down(words: *mut ThreadWords) -> Self {
        // SAFETY: as in `start`.
        let left = unsafe {
            (*words).measure_in = (*words).measure_in.saturating_sub(1);
            (*words).measure_in
        };
        // Without a clock nothing is measured.
        if left == 0 { Self(confined::ticks_in_order().unwrap_or(0)) } else { Self(0) }
    }

    /// Ends, and leaves what was measured, at least 1, in the thread's words.
    #[inline(always)]
    pub(crate) fn stop(self, words: *mut ThreadWords) {
        if self.0 != 0 {
            let ticks = confined::ticks_in_order().map_or(0, |now| now.wrapping_sub(self.0));
            // SAFETY: as in `start`.
            unsafe { (*words).ticks = u32::try_from(ticks).unwrap_or(u32::MAX).max(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_chosen_call_is_measured() {
        let (state, nested) = (core::ptr::null_mut(), Default::default());
        let mut words = ThreadWords { state, measure_in: 3, nested, ..ThreadWords::new() };
        let mut measured = Vec::new();
        for call in 1..10 {
            Stopwatch::start(&raw mut words).stop(&raw mut words);
            if core::mem::take(&mut words.ticks) != 0 {
                measured.push(call);
            }
        }
        assert_eq!(measured, [3]);
    }
}
