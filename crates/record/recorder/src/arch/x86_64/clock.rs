//! The processor's clock.

/// Ticks since some moment. Not ordered against the instructions around it, which is good enough for a mean of many.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. Where a program has forbidden it to itself it ends the program
    // and does nothing else; `confined` keeps it from being reached then.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The same with all work before it done, and none behind it begun: what lies between two such readings is all that is measured. Without
/// that a short call takes no time at all, since the processor does it while it reads the clock.
#[inline(always)]
pub fn ticks_in_order() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has these instructions, none of which touches memory; `confined` keeps the reading from being
    // reached where it would end the program.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}
