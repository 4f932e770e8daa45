//! How often the loop does what.
//!
//! Each turn takes a processor some tens of microseconds, whether anything has happened or not. A recording of all events
//! needs many turns: they are its clock. One of a sample has few events, which move the clock themselves, and goes on for
//! days beside a service.

use super::Collector;
use crate::sys;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// After a sleep that was shorter than this and brought no event, the loop sleeps at least this long.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
/// After so many turns without events a program is idle.
const IDLE_AFTER_TURNS: u32 = 100;
/// A file that is to end, and cannot yet, is tried again after this.
pub(super) const CUT: Duration = Duration::from_millis(20);
/// For how long a recording is at its beginning: there is much to find out about a program, and it may end soon.
const BEGINNING: Duration = Duration::from_secs(1);

/// How often the loop does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// The clock moves and the rings are looked at.
    turn: Duration,
    /// The same while the program is idle.
    idle_turn: Duration,
    /// Memory is sampled, and the ends of processes are looked for.
    pub(super) memory: Duration,
    /// The ends of threads are looked for.
    pub(super) check: Duration,
    /// A batch is handed on. At first soon, so that little is lost of a program that fills the disk or is stopped.
    pub(super) batch: Duration,
}

impl Pace {
    const AT_FIRST: Self = Self { batch: Duration::from_millis(20), ..Self::OF_ALL };
    const OF_ALL: Self = Self {
        turn: Duration::from_millis(1),
        idle_turn: Duration::from_millis(5),
        memory: Duration::from_millis(10),
        check: Duration::from_millis(50),
        batch: Duration::from_millis(200),
    };
    const OF_SAMPLE: Self = Self {
        turn: Duration::from_millis(50),
        idle_turn: Duration::from_millis(200),
        memory: Duration::from_millis(50),
        check: Duration::from_millis(50),
        batch: Duration::from_millis(200),
    };

    /// The pace of a recording that began so long ago. It `is_calm` if it is a sample, and no process says that it is about to end.
    pub(super) fn at(now: Duration, is_calm: bool) -> Self {
        match (now < BEGINNING, is_calm) {
            (true, _) => Self::AT_FIRST,
            (false, false) => Self::OF_ALL,
            (false, true) => Self::OF_SAMPLE,
        }
    }

    /// For how long sums of resident memory are left out during which a process ended.
    pub(super) fn longest_gap(self) -> Duration {
        self.memory * 10
    }

    /// How long to wait after so many turns without events.
    fn wait(self, idle_turns: u32) -> Duration {
        if idle_turns > IDLE_AFTER_TURNS { self.idle_turn } else { self.turn }
    }
}

impl Collector<'_> {
    /// Sleeps until the next turn, or less if a ring fills, someone needs an answer or there `is_news`.
    pub(super) fn sleep(&self, pace: Pace, idle_turns: u32, is_news: impl FnOnce() -> bool) {
        let began = Instant::now();
        let wake = &self.session.header().wake.0;
        // Whoever has news sets them before it looks here.
        wake.store(1, Ordering::SeqCst);
        if !is_news() {
            sys::futex_wait(wake, 1, pace.wait(idle_turns));
        }
        wake.store(0, Ordering::Relaxed);
        // A process that wakes this loop without an event must not make it spin.
        if idle_turns > 0 && began.elapsed() < SHORTEST_SLEEP {
            std::thread::sleep(SHORTEST_SLEEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_wakes_seldom_after_its_beginning() {
        let later = BEGINNING * 2;
        assert_eq!(Pace::at(Duration::ZERO, true), Pace::at(Duration::ZERO, false));
        let (all, sample) = (Pace::at(later, false), Pace::at(later, true));
        assert!(sample.wait(0) >= all.wait(0) * 10 && sample.memory >= all.memory * 5);
        assert!(sample.longest_gap() > all.longest_gap());
        assert!(sample.wait(IDLE_AFTER_TURNS + 1) > sample.wait(IDLE_AFTER_TURNS));
        assert!(all.batch > Pace::at(Duration::ZERO, false).batch);
    }
}
