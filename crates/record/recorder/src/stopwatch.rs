//! How long the real allocator takes, measured for a few calls.
//!
//! Reading the processor's clock around every call would cost more than the calls. So the ring, whenever it is looked at
//! anyhow (every few hundred events), chooses one of the next calls at random, and only that is measured. Without chance,
//! always the same call would be measured of a loop whose events fill the ring in step. A thread's first calls take longest, since the
//! allocator and the thread's memory are new to it, so the first time one of as many is chosen as come until the ring is looked at again.

use crate::arch::tls::{self, ThreadWords};
use crate::confined;

/// Binary logarithm of the number of calls of which one is chosen. PERF: those before the chosen one are counted.
const LOTS_BITS: u32 = 5;
/// The same of a thread's first calls.
const FIRST_LOTS_BITS: u32 = 8;

/// Chooses one of the following calls of this thread, which may be its first ones. `head` is how many bytes were written to its ring,
/// another number each time.
pub(crate) fn choose(head: u64, is_first: bool) {
    let words = tls::words();
    let in_calls = lot(head, words as u64, if is_first { FIRST_LOTS_BITS } else { LOTS_BITS }) + 1;
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*words).measure_in = in_calls };
}

/// The chosen call, from 0 on, of `2^bits`. `thread` is different for threads of a process, most of which begin with the same head.
fn lot(head: u64, thread: u64, bits: u32) -> u32 {
    // The golden ratio's multiplier spreads neighbouring numbers evenly, and addresses are multiples of large powers of two.
    let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let thread = spread(thread).rotate_left(u64::BITS / 2);
    (spread(head ^ thread) >> (u64::BITS - bits)) as u32
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
    fn any_of_the_calls_is_chosen_and_of_a_threads_first_ones_one_of_more() {
        // Threads' words are as far apart as their stacks.
        let threads = || (0..4096_u64).map(|i| 0x7f00_0000_0780 + i * (8 << 20));
        for (head, bits) in
            [(0, FIRST_LOTS_BITS), (8192, FIRST_LOTS_BITS), (4096, LOTS_BITS), (40_960, LOTS_BITS)]
        {
            let mut chosen = vec![0; 1 << bits];
            threads().for_each(|thread| chosen[lot(head, thread, bits) as usize] += 1);
            let even = 4096 >> bits;
            assert!(chosen.iter().all(|&n| n >= even / 4 && n <= even * 4), "{head}: {chosen:?}");
        }
        let of_one: std::collections::HashSet<u32> =
            (1..1000).map(|n| lot(n * 4096, 0x7f00_0000_0780, LOTS_BITS)).collect();
        assert_eq!(of_one.len(), 32);
    }

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
