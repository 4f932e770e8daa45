//! Waiting for other threads: for a moment by looking again, then by letting others run, then asleep.

use std::time::Duration;

const LOOKS: u32 = 64;
const YIELDS: u32 = 8;

/// Returns when the condition holds.
#[inline(always)]
pub(super) fn until(condition: impl Fn() -> bool) {
    if !condition() {
        patiently(&condition);
    }
}

#[cold]
#[inline(never)]
fn patiently(condition: &dyn Fn() -> bool) {
    for _ in 0..LOOKS {
        if condition() {
            return;
        }
        std::hint::spin_loop();
    }
    for _ in 0..YIELDS {
        if condition() {
            return;
        }
        std::thread::yield_now();
    }
    let mut pause = Duration::from_micros(20);
    while !condition() {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}
