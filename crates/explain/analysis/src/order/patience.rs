//! How long to look for an order of threads within epochs.
//!
//! Threads that have events in the same epoch take turns, and a thread whose next event is not possible yet is tried again in
//! the next round. In a recording of a program that ran, some thread gets on in nearly every round. A damaged one may have thousands
//! of threads of which one does, a million times.

/// Attempts that are free.
const FREE: u64 = 1 << 24;
/// Attempts for each event of the recording. 64 busy threads need less than one.
const PER_EVENT: u64 = 4;

/// Attempts to take an event of a thread, and how many there may be.
#[derive(Debug, Default)]
pub(super) struct Patience {
    spent: u64,
    earned: u64,
}

impl Patience {
    /// The recording has had so many events so far.
    pub(super) fn earn(&mut self, n_events: u64) {
        self.earned = n_events.saturating_mul(PER_EVENT).saturating_add(FREE);
    }

    /// Counts an attempt on each of so many threads. `false` if there were too many.
    pub(super) fn spend(&mut self, threads: usize) -> bool {
        self.spent = self.spent.saturating_add(threads as u64);
        self.spent <= self.earned
    }
}
