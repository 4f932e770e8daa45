//! A lock for the rare paths: attaching, new modules. Never taken on the hot path, never held across a call that
//! could wait for the program, and given up on after a while rather than waited for without end. Signals are held back
//! meanwhile: a handler that leaves by `longjmp` would take the lock with it.

use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};

/// A spin lock that yields. Zeroed memory is an open lock, so a forked child's is open.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Attempts before giving up: with a `sched_yield` each, in the order of a second.
const ATTEMPTS: u32 = 1_000_000;

impl Lock {
    /// An open lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes the lock, or `None` if its holder does not go on (its thread was ended inside).
    pub fn acquire(&self) -> Option<Held<'_>> {
        let signals = sys::hold_signals();
        for _ in 0..ATTEMPTS {
            if self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Some(Held { lock: &self.0, signals });
            }
            sys::yield_now();
        }
        sys::release_signals(signals);
        None
    }
}

/// Proof that the lock is held; opens it when dropped.
#[derive(Debug)]
pub struct Held<'a> {
    lock: &'a AtomicU32,
    signals: sys::Signals,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.store(0, Ordering::Release);
        sys::release_signals(self.signals);
    }
}
