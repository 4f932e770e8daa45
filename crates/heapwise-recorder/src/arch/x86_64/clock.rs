//! The processor's clock.

/// Ticks since some moment. Not ordered against the instructions around it, which is good enough for a mean of many.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it unless they forbade it to
    // themselves (PR_SET_TSC), in which case they would have none that is measured.
    unsafe { core::arch::x86_64::_rdtsc() }
}
