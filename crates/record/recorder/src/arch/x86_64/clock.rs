//! The processor's clock.

/// Ticks since some moment. Not ordered against the instructions around it, which is good enough for a mean of many.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. Where a program has forbidden it to itself it ends the program
    // and does nothing else; `confined` keeps it from being reached then.
    unsafe { core::arch::x86_64::_rdtsc() }
}
