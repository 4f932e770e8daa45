//! What each thread knows: its number, which of its blocks are noted, and whether it is at work for heapwise.
//!
//! It has no destructor, so it is there from a thread's first call to its last.

use heapwise_trace::sampling::countdown::{Countdown, Distance};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

struct Local {
    countdown: Cell<Countdown>,
    /// The thread's events are not noted: it is in here already.
    is_busy: Cell<bool>,
    /// The recording that it has a number in, and the number.
    recording: Cell<u32>,
    number: Cell<u32>,
    /// Its events in this recording.
    events: Cell<u64>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            countdown: Cell::new(Countdown::new()),
            is_busy: Cell::new(false),
            recording: Cell::new(0),
            number: Cell::new(0),
            events: Cell::new(0),
        }
    };
}

/// The next thread's number.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Makes the random numbers of each thread different.
static SEED: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);

/// Whether a block of this size is noted, where so many bytes lie between two that are; `false` in a thread whose storage is gone.
#[inline]
pub(super) fn selects(distance: Distance, size: u64) -> bool {
    LOCAL
        .try_with(|local| {
            let mut countdown = local.countdown.get();
            if !countdown.has_begun() {
                countdown.begin(SEED.fetch_add(1, Ordering::Relaxed));
            }
            let selects = countdown.selects(distance, size);
            local.countdown.set(countdown);
            selects
        })
        .unwrap_or(false)
}

/// Whether a block of this size is none of those; what [`selects`] says then is not to be asked any more.
#[inline]
pub(super) fn passes_over(distance: Distance, size: u64) -> bool {
    LOCAL
        .try_with(|local| {
            let mut countdown = local.countdown.get();
            let passes_over = countdown.passes_over(distance, size);
            local.countdown.set(countdown);
            passes_over
        })
        .unwrap_or(false)
}

/// Lets the random numbers of threads that have none yet depend on something, such as the time.
pub(super) fn stir(seed: u64) {
    SEED.fetch_xor(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), Ordering::Relaxed);
}

/// As long as it lives, nothing that this thread does is noted.
#[derive(Debug)]
#[must_use = "it ends when this is dropped"]
pub struct Busy {
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

impl Busy {
    /// `None` if the thread is busy already, or its thread-local storage is gone.
    #[inline]
    pub fn enter() -> Option<Self> {
        let is_free = LOCAL.try_with(|local| !local.is_busy.replace(true)).unwrap_or(false);
        // Not made before that is known: its end would free the thread.
        is_free.then(|| Self { _of_this_thread: std::marker::PhantomData })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = LOCAL.try_with(|local| local.is_busy.set(false));
    }
}

/// Nothing that this thread does is ever noted.
pub(super) fn stay_busy() {
    let _ = LOCAL.try_with(|local| local.is_busy.set(true));
}

/// The thread of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) thread: u32,
    /// How many events the thread had before.
    pub(super) before: u64,
}

/// Counts an event of this thread in a recording.
pub(super) fn count(recording: u32) -> Option<Who> {
    LOCAL
        .try_with(|local| {
            if local.recording.replace(recording) != recording {
                local.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
                local.events.set(0);
            }
            let before = local.events.get();
            local.events.set(before + 1);
            Who { thread: local.number.get(), before }
        })
        .ok()
}
