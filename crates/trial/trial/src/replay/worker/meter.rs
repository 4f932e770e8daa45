//! How long calls take.
//!
//! The processor's clock is read after each call and after touching; a call begins where the thing before it ended. What the
//! interpreter does in between counts with the call, and is found out by a replay without calls.

use crate::replay::latency::class;
use crate::replay::shared::{SLOWEST, Slow, ThreadState};
use heapwise_collector::ticks::ticks_in_order;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Kinds of calls, as places in [`ThreadState::times`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Allocate = 0,
    Free = 1,
    Reallocate = 2,
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
    switches: Switches,
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
        self.before = ticks_in_order();
    }

    /// A call has ended.
    #[inline(always)]
    pub(super) fn end(&mut self, kind: Kind, position: impl Fn() -> u64) {
        let now = ticks_in_order();
        let taken = now.wrapping_sub(self.before);
        self.before = now;
        let times = &self.state.times[kind as usize];
        if taken > self.fast {
            match self.slow(taken, position) {
                Slowness::Own => {}
                // It took so long, but was asleep: a wait for another thread is no processor time.
                Slowness::Waited => {
                    add(&times.waited_ticks, taken);
                    count(&times.classes[class(taken)]);
                    return;
                }
                Slowness::Disturbed => {
                    add(&times.disturbed, 1);
                    self.begin();
                    return;
                }
            }
        }
        add(&times.timed, 1);
        add(&times.ticks, taken);
        count(&times.classes[class(taken)]);
    }

    /// Keeps a call that is one of the slowest, with the reason why it was slow.
    #[cold]
    #[inline(never)]
    fn slow(&mut self, taken: u64, position: impl Fn() -> u64) -> Slowness {
        let mut slowness = Slowness::Own;
        if taken >= self.suspicious {
            let now = switches();
            let before = std::mem::replace(&mut self.switches, now);
            if now.lost != before.lost {
                return Slowness::Disturbed;
            }
            if now.given_up != before.given_up {
                slowness = Slowness::Waited;
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
        if taken > load(&slowest[shortest]) {
            slowest[shortest].ticks.store(taken, Ordering::Relaxed);
            slowest[shortest].position.store(position(), Ordering::Relaxed);
        }
        // Whether a call was disturbed has to be looked at, even if it is none of the slowest.
        self.fast = slowest.iter().map(load).min().unwrap_or(0).min(self.suspicious);
        slowness
    }
}

/// Why a call took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowness {
    /// It did something.
    Own,
    /// It waited for another thread.
    Waited,
    /// Another process had the processor.
    Disturbed,
}

/// How often this thread did not have the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switches {
    /// Taken away.
    lost: i64,
    /// Left, to wait for something.
    given_up: i64,
}

fn switches() -> Switches {
    // SAFETY: the structure is plain numbers, for which zeros are valid, and the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Switches { lost: usage.ru_nivcsw, given_up: usage.ru_nvcsw }
}
