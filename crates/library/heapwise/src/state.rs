//! What is watching at the moment, in one byte that every call reads.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is watching: a set of the constants below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u8);

/// The first call of the process finds out whether it is to be recorded.
const UNDECIDED: State = State(1);
/// Something is counted.
pub(crate) const COUNTING: State = State(2);
/// The stacks of requests are needed.
#[cfg(feature = "budgets")]
pub(crate) const STACKS: State = State(4);
/// Everything is recorded.
pub(crate) const RECORDING: State = State(8);

/// A sample is noted, beside a recording of everything.
#[cfg(feature = "serve")]
pub(crate) const SEPARATE_SAMPLE: State = State(16);

/// A cache line that is written to only when a watch begins or ends.
#[repr(align(128))]
struct Alone(AtomicU8);

static STATE: Alone = Alone(AtomicU8::new(if crate::record::POSSIBLE { UNDECIDED.0 } else { 0 }));

/// What is watching. A watcher that has just begun, or just stopped, may be missed for a moment on another thread; on its own
/// thread it is not.
#[inline(always)]
pub(crate) fn now() -> State {
    State(STATE.0.load(Ordering::Relaxed))
}

/// The same, after the first call of the process has found out whether it is recorded.
///
/// Threads that arrive meanwhile find out as well: none of their calls may be missed.
#[inline(always)]
pub(crate) fn decided(begin_if_wanted: impl FnOnce() -> bool) -> State {
    let state = now();
    if state.has(UNDECIDED) { decide(begin_if_wanted) } else { state }
}

#[cold]
#[inline(never)]
fn decide(begin_if_wanted: impl FnOnce() -> bool) -> State {
    if begin_if_wanted() {
        set(RECORDING);
    }
    clear(UNDECIDED);
    now()
}

impl State {
    /// Whether nothing is watched.
    #[inline(always)]
    pub(crate) fn is_inert(self) -> bool {
        self.0 == 0
    }

    /// Whether this watcher is one of them.
    #[inline(always)]
    pub(crate) fn has(self, watcher: State) -> bool {
        self.0 & watcher.0 != 0
    }
}

pub(crate) fn set(watcher: State) {
    STATE.0.fetch_or(watcher.0, Ordering::AcqRel);
}

pub(crate) fn clear(watcher: State) {
    STATE.0.fetch_and(!watcher.0, Ordering::AcqRel);
}

/// A watch: its kind of watching is on as long as one lives.
#[derive(Debug)]
pub(crate) struct Use {
    watcher: State,
    users: &'static Mutex<usize>,
}

/// How many watches count.
static COUNTERS: Mutex<usize> = Mutex::new(0);
/// How many watches need stacks.
#[cfg(feature = "budgets")]
static STACK_USERS: Mutex<usize> = Mutex::new(0);

impl Use {
    /// Begins to count.
    pub(crate) fn counting() -> Self {
        Self::of(COUNTING, &COUNTERS)
    }

    /// Begins to record the stacks of requests.
    #[cfg(feature = "budgets")]
    pub(crate) fn stacks() -> Self {
        Self::of(STACKS, &STACK_USERS)
    }

    fn of(watcher: State, users: &'static Mutex<usize>) -> Self {
        // Number and state change together, or the last watch to end could clear the state of one that has just begun.
        let mut number = users.lock().unwrap_or_else(PoisonError::into_inner);
        *number += 1;
        set(watcher);
        drop(number);
        Self { watcher, users }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut number = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        *number -= 1;
        if *number == 0 {
            clear(self.watcher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_watched_as_long_as_somebody_wants_it() {
        static USERS: Mutex<usize> = Mutex::new(0);
        const NOBODY_ELSE: State = State(128);
        let first = Use::of(NOBODY_ELSE, &USERS);
        let second = Use::of(NOBODY_ELSE, &USERS);
        drop(first);
        assert!(now().has(NOBODY_ELSE));
        drop(second);
        assert!(!now().has(NOBODY_ELSE));
    }

    #[test]
    fn who_stops_does_not_stop_those_who_have_just_begun() {
        static USERS: Mutex<usize> = Mutex::new(0);
        const NOBODY_ELSE: State = State(64);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..200_000 {
                        let _use = Use::of(NOBODY_ELSE, &USERS);
                        assert!((0..20).all(|_| now().has(NOBODY_ELSE)));
                    }
                });
            }
        });
    }
}
