//! What the program has forbidden itself.
//!
//! The processor's clock is read by an instruction that ends the program with a segmentation fault after
//! `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)`, and in seccomp's strict mode. In strict mode, any system call but `read`, `write`,
//! `_exit` and `sigreturn` also kills the thread. The recorder learns of it from the functions that it interposes
//! ([`crate::sandbox`]), before the program is confined, and asks the kernel once for what an `exec` has kept. From then on it
//! measures no times, and makes no system call ([`crate::sys`] refuses them): what it has no memory for is counted as lost.

use crate::arch::clock;
pub use crate::arch::tls::{is_strict, set_strict};
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};

/// Non-zero once a thread of this process has forbidden itself the processor's clock. Threads inherit that, so it holds for
/// all of them. Inherited by forked children, as what it stands for.
static NO_CLOCK: AtomicU32 = AtomicU32::new(0);
/// Non-zero once a thread has installed a filter of system calls.
pub(crate) static FILTERED: AtomicU32 = AtomicU32::new(0);

/// Asks the kernel for what this process was started with.
pub fn look() {
    if sys::is_clock_forbidden() {
        forbid_clock();
    }
}

/// No thread of this process reads the processor's clock any more.
pub fn forbid_clock() {
    NO_CLOCK.store(1, Ordering::Relaxed);
}

/// Whether no thread may read the processor's clock.
pub fn is_clock_forbidden() -> bool {
    NO_CLOCK.load(Ordering::Relaxed) != 0
}

/// The processor's clock; `None` where reading it would end the program.
#[inline]
pub fn ticks() -> Option<u64> {
    (!is_clock_forbidden() && !is_strict()).then(clock::ticks)
}

/// The same for what is short: see [`clock::ticks_in_order`].
#[inline]
pub fn ticks_in_order() -> Option<u64> {
    (!is_clock_forbidden() && !is_strict()).then(clock::ticks_in_order)
}

/// System calls are filtered from now on.
pub fn filter() {
    FILTERED.store(1, Ordering::Relaxed);
}

/// Whether the program filters its system calls, so that one which was not made before may kill it.
pub fn is_filtered() -> bool {
    FILTERED.load(Ordering::Relaxed) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_strict_mode_has_no_clock_and_makes_no_system_calls_and_others_do() {
        assert!(ticks().is_some());
        set_strict(true);
        assert_eq!((ticks(), sys::map_private(sys::PAGE)), (None, Err(sys::EPERM)));
        assert_eq!(sys::thread_id(), 0);
        let other = std::thread::scope(|scope| scope.spawn(|| (ticks(), sys::thread_id())).join());
        set_strict(false);
        let (clock, id) = other.expect("the other thread ends");
        assert!(clock.is_some() && id != 0 && ticks().is_some());
    }
}
