//! How long calls take.
//!
//! The processor's clock is read after each call and after touching; a call begins where the thing before it ended. What the
//! interpreter does in between counts with the call, and is found out by a replay without calls.

use crate::latency::class;
use crate::shared::{SLOWEST, Slow, ThreadState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Kinds of calls, as places in [`ThreadState::times`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Allocate = 0,
    Free = 1,
    Resize = 2,
}

/// Ticks of the processor's clock.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// A thread's measurements.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    state: &'a ThreadState,
    suspicious: u64,
    /// When the last thing ended.
    before: u64,
    /// A call that is longer is one of the slowest.
    fast: u64,
    /// How often another process had the processor.
    switches: i64,
}

/// Counters have one writer, so they need no atomic addition.
#[inline(always)]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

#[inline(always)]
fn count(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
}

impl<'a> Meter<'a> {
    pub(super) fn new(state: &'a ThreadState, suspicious: u64) -> Self {
        Self { state, suspicious, before: 0, fast: 0, switches: switches() }
    }

    /// What comes now begins now.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.before = ticks();
    }

    /// A call has ended.
    #[inline(always)]
    pub(super) fn end(&mut self, kind: Kind, position: impl Fn() -> u64) {
        let now = ticks();
        let taken = now.wrapping_sub(self.before);
        self.before = now;
        let times = &self.state.times[kind as usize];
        if taken > self.fast && self.is_slow(taken, position) {
            add(&times.disturbed, 1);
            self.begin();
            return;
        }
        add(&times.timed, 1);
        add(&times.ticks, taken);
        count(&times.classes[class(taken)]);
    }

    /// Keeps a call that is one of the slowest. Says whether another process had the processor meanwhile.
    #[cold]
    #[inline(never)]
    fn is_slow(&mut self, taken: u64, position: impl Fn() -> u64) -> bool {
        if taken >= self.suspicious {
            let switches = switches();
            if std::mem::replace(&mut self.switches, switches) != switches {
                return true;
            }
        }
        let load = |slow: &Slow| slow.ticks.load(Ordering::Relaxed);
        let slowest = &self.state.slowest;
        let mut shortest = 0;
        for i in 1..SLOWEST {
            if load(&slowest[i]) < load(&slowest[shortest]) {
                shortest = i;
            }
        }
        slowest[shortest].ticks.store(taken, Ordering::Relaxed);
        slowest[shortest].position.store(position(), Ordering::Relaxed);
        self.fast = slowest.iter().map(load).min().unwrap_or(0);
        false
    }
}

/// How often this thread lost the processor to another one.
fn switches() -> i64 {
    // SAFETY: the structure is plain numbers, for which zeros are valid, and the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    usage.ru_nivcsw
}
