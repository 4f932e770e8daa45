//! What is kept of levels of live bytes: the segments of a thread, and the level of the process.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Watchers of one thread's peak at a time. Further ones share the segment of the last.
pub(super) const MOST: usize = 32;

/// The past segments of a thread, and which watches began them. Only its thread uses them.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) peaks: [AtomicI64; MOST],
    pub(super) watchers: [AtomicU64; MOST],
    pub(super) count: AtomicU32,
    pub(super) last_watcher: AtomicU64,
}

impl Segments {
    pub(super) const fn new() -> Self {
        Self {
            peaks: [const { AtomicI64::new(0) }; MOST],
            watchers: [const { AtomicU64::new(0) }; MOST],
            count: AtomicU32::new(0),
            last_watcher: AtomicU64::new(0),
        }
    }

    /// A thread that has ended may have leaked a watch.
    pub(super) fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
    }
}

/// A thread updates the process's level when its own has moved by this many bytes: so threads do not slow each other down, and
/// the process's peak is exact to twice this for each thread, which may be as much below at the beginning and above at the end.
pub(super) const STEP: i64 = 32 << 10;

/// Requests of at least this size always have something else to be done for them: no level can rise by so much before.
pub(crate) const SMALL: usize = 2 * STEP as usize;

pub(super) static LEVEL: AtomicI64 = AtomicI64::new(0);
pub(super) static PEAK: AtomicI64 = AtomicI64::new(i64::MIN);
/// The level of the process has moved.
pub(super) fn process_moved(by: i64) {
    let level = LEVEL.fetch_add(by, Ordering::Relaxed) + by;
    if by > 0 {
        PEAK.fetch_max(level, Ordering::Relaxed);
    }
}
