//! Peaks: how high the level of live bytes rose while they were watched.
//!
//! A thread has one number that its calls compare with, and several watches may need a peak at the same time, nested or
//! overlapping. So time is cut into *segments*, at each moment when a watch begins: the number is the peak of the last segment,
//! and those of earlier ones are kept. The peak of a watch is the highest of the segments since it began. When it ends, its first
//! segment becomes a part of the one before it, whose watches saw that time, too.

use super::level::{LEVEL, MOST, PEAK};
use super::slot::{self, Slot, lock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A watch of the peak of this thread's net bytes.
#[derive(Debug)]
pub(crate) struct ThreadPeak {
    watcher: u64,
    began_at: i64,
}

impl ThreadPeak {
    /// Begins to watch.
    pub(crate) fn begin() -> Self {
        let Some(slot) = slot::own() else { return Self { watcher: 0, began_at: 0 } };
        let (segments, net) = (&slot.segments, slot.net());
        let watcher = segments.last_watcher.load(Ordering::Relaxed) + 1;
        segments.last_watcher.store(watcher, Ordering::Relaxed);
        let count = segments.count.load(Ordering::Relaxed) as usize;
        if count < MOST {
            segments.peaks[count].store(slot.peak(), Ordering::Relaxed);
            segments.watchers[count].store(watcher, Ordering::Relaxed);
            segments.count.store(count as u32 + 1, Ordering::Relaxed);
            slot.set_peak(net);
        }
        Self { watcher, began_at: net }
    }

    /// The highest level since the beginning, above what it was then. To be called on the same thread.
    pub(crate) fn end(self) -> u64 {
        let Some(slot) = slot::own() else { return 0 };
        (highest_since(slot, self.watcher) - self.began_at).max(0) as u64
    }
}

/// Finds the peak since a watch began, and removes its segment.
fn highest_since(slot: &Slot, watcher: u64) -> i64 {
    let segments = &slot.segments;
    let count = segments.count.load(Ordering::Relaxed) as usize;
    let now = slot.peak();
    let Some(index) = (0..count).find(|&i| segments.watchers[i].load(Ordering::Relaxed) == watcher) else {
        return now;
    };
    // `peaks[i]` is the peak of the segment that ended when watch `i` began, so this watch's first segment is the next one.
    let peak_at = |i: usize| segments.peaks[i].load(Ordering::Relaxed);
    let highest = (index + 1..count).map(peak_at).fold(now, i64::max);
    // The segment that it began becomes part of the one before it.
    let before = peak_at(index);
    match index + 1 < count {
        true => segments.peaks[index + 1].store(before.max(peak_at(index + 1)), Ordering::Relaxed),
        false => slot.set_peak(before.max(now)),
    }
    for i in index + 1..count {
        segments.peaks[i - 1].store(peak_at(i), Ordering::Relaxed);
        segments.watchers[i - 1].store(segments.watchers[i].load(Ordering::Relaxed), Ordering::Relaxed);
    }
    segments.count.store(count as u32 - 1, Ordering::Relaxed);
    highest
}

/// As [`Segments`], of the process.
static WATCHERS: Mutex<Vec<(u64, i64)>> = Mutex::new(Vec::new());
static LAST_WATCHER: AtomicU64 = AtomicU64::new(0);

/// A watch of the peak of the process's net bytes.
#[derive(Debug)]
pub(crate) struct ProcessPeak {
    watcher: u64,
    began_at: i64,
}

impl ProcessPeak {
    /// Begins to watch.
    pub(crate) fn begin() -> Self {
        let _ignored = slot::Ignore::begin();
        let watcher = LAST_WATCHER.fetch_add(1, Ordering::Relaxed) + 1;
        let began_at = LEVEL.load(Ordering::Relaxed);
        if let Some(mut watchers) = lock(&WATCHERS) {
            watchers.push((watcher, PEAK.swap(began_at, Ordering::Relaxed)));
            // Another thread may have risen in between the two.
            PEAK.fetch_max(LEVEL.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        Self { watcher, began_at }
    }

    /// The highest level since the beginning, above what it was then: exact to 64 KiB for each thread.
    pub(crate) fn end(self) -> u64 {
        let _ignored = slot::Ignore::begin();
        let now = PEAK.load(Ordering::Relaxed);
        let Some(mut watchers) = lock(&WATCHERS) else { return 0 };
        let Some(index) = watchers.iter().position(|&(watcher, _)| watcher == self.watcher) else { return 0 };
        let highest = watchers[index + 1..].iter().map(|&(_, peak)| peak).fold(now, i64::max);
        let (_, before) = watchers.remove(index);
        match watchers.get_mut(index) {
            Some((_, peak)) => *peak = before.max(*peak),
            None => {
                PEAK.fetch_max(before, Ordering::Relaxed);
            }
        }
        highest.saturating_sub(self.began_at).max(0) as u64
    }
}
