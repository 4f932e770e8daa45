//! Waiting for other threads: for a moment by looking again, then by letting others run, then asleep until the one that is waited for
//! says so.
//!
//! What threads wait for changes at nearly every record, and hardly ever is one asleep for it. So whoever changes it looks at one number
//! without a fence, and whoever goes to sleep makes up for that: it counts itself, has the kernel put a barrier into all other threads,
//! and looks once more.

use crate::replay::shared::Place;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use rustix::thread::{MembarrierCommand, membarrier};
use rustix::time::Timespec;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
use std::time::Duration;

const LOOKS: u32 = 64;
const YIELDS: u32 = 8;
/// Sleepers look by themselves so often: with barriers only so that nothing that was not thought of holds a replay up for ever.
const PAUSE: Timespec = Timespec { tv_sec: if cfg!(test) { 5 } else { 0 }, tv_nsec: 100_000_000 };
const PAUSE_WITHOUT_BARRIERS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };
/// In place of what is waited for, if that is not the same for all sleepers of a place.
const SEVERAL: u32 = u32::MAX;

static HAS_BARRIERS: AtomicBool = AtomicBool::new(false);
/// Threads that are asleep because of a slot. PERF: mostly none, and then the places are not looked at.
static ASLEEP: AtomicU32 = AtomicU32::new(0);

/// Slots are waited for by their numbers, all else by numbers that no slot has.
pub(super) const BEHIND_SLOTS: u32 = 1 << 31;

/// Before the first thread waits.
pub(super) fn prepare() {
    let is_there = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
    HAS_BARRIERS.store(is_there, Ordering::Relaxed);
}

/// Returns when the condition holds. Whoever makes it hold calls [`tell`] with the same place and number.
#[inline(always)]
pub(super) fn until(place: &Place, what: u32, condition: impl Fn() -> bool) {
    if !condition() {
        patiently(place, what, &condition);
    }
}

/// Returns when a word that another process writes is no longer this. That process wakes those that wait for it.
pub(super) fn while_is(word: &AtomicU32, value: u32) {
    while word.load(Ordering::Acquire) == value {
        sleep(word, Flags::empty(), value, &PAUSE);
    }
}

/// Whether the slot that was just changed may be waited for by one that is asleep; if so, [`tell`] it.
#[inline(always)]
pub(super) fn is_slot_awaited() -> bool {
    // Sleepers have all other threads execute a barrier, so the compiler must not reorder, and the processor may.
    compiler_fence(Ordering::SeqCst);
    ASLEEP.load(Ordering::Relaxed) != 0
}

/// What others may wait for was changed.
#[cold]
#[inline(never)]
pub(super) fn tell(place: &Place, what: u32) {
    compiler_fence(Ordering::SeqCst);
    let (sleepers, of) = unpack(place.sleepers.load(Ordering::Relaxed));
    if sleepers != 0 && (of == what || of == SEVERAL) {
        wake(place);
    }
}

/// The same for all who wait at a place, whatever for.
pub(super) fn tell_all(place: &Place) {
    if place.sleepers.load(Ordering::SeqCst) != 0 {
        wake(place);
    }
}

fn wake(place: &Place) {
    place.changes.fetch_add(1, Ordering::AcqRel);
    // It fails for no reason that a replay could do anything about.
    let _ = futex::wake(&place.changes, Flags::PRIVATE, u32::MAX >> 1);
}

#[cold]
#[inline(never)]
fn patiently(place: &Place, what: u32, condition: &dyn Fn() -> bool) {
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
    asleep(place, what, condition);
}

fn asleep(place: &Place, what: u32, condition: &dyn Fn() -> bool) {
    let count = |change: fn(u32, u32, u32) -> u64| {
        let update = |now| {
            let (sleepers, of) = unpack(now);
            Some(change(sleepers, of, what))
        };
        let _ = place.sleepers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, update);
    };
    let of_slots = u32::from(what < BEHIND_SLOTS);
    ASLEEP.fetch_add(of_slots, Ordering::SeqCst);
    count(|sleepers, of, what| pack(sleepers + 1, if sleepers == 0 || of == what { what } else { SEVERAL }));
    let has_barriers =
        HAS_BARRIERS.load(Ordering::Relaxed) && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    let pause = if has_barriers { &PAUSE } else { &PAUSE_WITHOUT_BARRIERS };
    loop {
        let changes = place.changes.load(Ordering::Acquire);
        if condition() {
            break;
        }
        let is_too_late = sleep(&place.changes, Flags::PRIVATE, changes, pause);
        #[cfg(test)]
        if is_too_late && condition() && place.changes.load(Ordering::Acquire) == changes {
            tests::MISSED.fetch_add(1, Ordering::Relaxed);
        }
        #[cfg(not(test))]
        let _ = is_too_late;
    }
    count(|sleepers, of, _| pack(sleepers - 1, of));
    ASLEEP.fetch_sub(of_slots, Ordering::SeqCst);
}

/// Sleeps while a word is this, or for less: there are several reasons to look again. Says whether it is for as long as it may be.
fn sleep(word: &AtomicU32, flags: Flags, value: u32, pause: &Timespec) -> bool {
    match futex::wait(word, flags, value, Some(pause)) {
        Err(Errno::TIMEDOUT) => return true,
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
        // The system does not let it.
        Err(_) => std::thread::sleep(Duration::from_micros(200)),
    }
    false
}

fn pack(sleepers: u32, of: u32) -> u64 {
    u64::from(sleepers) << 32 | u64::from(of)
}

#[inline(always)]
fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// How often a sleeper found by itself what it should have been woken for seconds before.
    pub(super) static MISSED: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn whoever_sleeps_is_woken_and_no_one_else_is() {
        prepare();
        let (place, state) = (Place::default(), AtomicU32::new(0));
        let sleepers = || unpack(place.sleepers.load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            scope.spawn(|| until(&place, 7, || state.load(Ordering::Acquire) == 1));
            let begin = Instant::now();
            while sleepers() != (1, 7) {
                assert!(begin.elapsed() < Duration::from_secs(60), "it does not fall asleep");
                std::thread::yield_now();
            }
            tell(&place, 8);
            assert_eq!(place.changes.load(Ordering::SeqCst), 0, "it waits for something else");
            scope.spawn(|| until(&place, 9, || state.load(Ordering::Acquire) == 1));
            while sleepers() != (2, SEVERAL) {
                assert!(begin.elapsed() < Duration::from_secs(60), "it does not fall asleep");
                std::thread::yield_now();
            }
            state.store(1, Ordering::Release);
            tell(&place, 7);
        });
        assert_eq!(sleepers().0, 0);
        assert!(place.changes.load(Ordering::SeqCst) > 0);
    }

    /// One thread falls asleep while the other one changes what it waits for, a little sooner or later each time. What a barrier is for needs
    /// a store that is late by a hundred nanoseconds, and was not seen here without it.
    #[test]
    fn no_change_is_missed() {
        const ROUNDS: u32 = 200_000;
        prepare();
        if !HAS_BARRIERS.load(Ordering::Relaxed) {
            return;
        }
        let (place, asked, answered) = (Place::default(), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    while asked.load(Ordering::Acquire) != round {
                        std::hint::spin_loop();
                    }
                    (0..round % 512).for_each(|_| std::hint::spin_loop());
                    answered.store(round, Ordering::Release);
                    if is_slot_awaited() {
                        tell(&place, 1);
                    }
                }
            });
            for round in 1..=ROUNDS {
                asked.store(round, Ordering::Release);
                asleep(&place, 1, &|| answered.load(Ordering::Acquire) == round);
            }
        });
        assert_eq!(MISSED.load(Ordering::Relaxed), 0);
    }
}
