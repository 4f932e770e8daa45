//! A profile of the heap in memory, from the same sample as a recording's: for each stack, what was allocated and what is live.
//!
//! [`begin`] makes the two ends: a [`Collector`] for a thread that empties the queue now and then, and a [`Profile`] for whoever wants to
//! look. A look empties the queue first, so it has everything up to then. The queue is emptied by one at a time, and nothing that allocates in the
//! program waits for that.

mod sums;
#[cfg(test)]
mod tests;

pub use sums::{Counts, Site, Snapshot, Totals};

use super::session::{self, Purpose};
use super::state::{HOOKS, Hooks, is_own_process};
use super::{local, queue, system};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sums::Sums;

/// How often the queue is emptied at least.
const TICK: Duration = Duration::from_secs(1);

/// Samples are noted as long as this lives.
#[derive(Debug)]
pub struct Profile {
    number: u32,
    shared: Arc<Shared>,
    /// Nothing is ever sent: it says that the collector is gone.
    collector: Receiver<()>,
}

/// Adds up what the program's threads note.
#[derive(Debug)]
pub struct Collector {
    shared: Arc<Shared>,
    _is_there: Sender<()>,
}

#[derive(Debug)]
struct Shared {
    sums: Mutex<Emptied>,
    /// How many want to look. The collector, which would have the lock all the time under load, leaves it to them.
    looking: AtomicUsize,
}

/// What was in the queue, added up.
#[derive(Debug)]
struct Emptied {
    sums: Sums,
    /// To be exchanged for the queue's.
    empty: Vec<u64>,
}

impl Emptied {
    fn empty_queue(&mut self) {
        let words = queue::take(std::mem::take(&mut self.empty));
        for entry in queue::entries(&words) {
            if let queue::Entry::Event { note, frames, .. } = entry {
                self.sums.add(note, frames);
            }
        }
        self.empty = words;
        self.empty.clear();
    }
}

/// Begins to sample, one block for every `sample_bytes` (rounded up to a power of two; not 1). The collector has to [run](Collector::run)
/// on a thread of heapwise's own by `spawn`, which is called with it; `begun` is called when samples are noted.
///
/// # Errors
/// A recording or another profile of this program is under way, or what `spawn` returns.
pub fn begin(
    sample_bytes: u64,
    hooks: &'static Hooks,
    begun: impl FnOnce(),
    spawn: impl FnOnce(Collector) -> io::Result<()>,
) -> io::Result<Profile> {
    // What the caller does then is not noted either.
    let _busy = local::Busy::enter();
    let _ = HOOKS.set(hooks);
    let (sender, collector) = channel();
    let mut kept = None;
    let number = session::begin(Purpose::Profile, sample_bytes.max(2), |begin| {
        let emptied = Emptied { sums: Sums::new(begin), empty: queue::buffer() };
        let shared = Shared { sums: Mutex::new(emptied), looking: AtomicUsize::new(0) };
        let shared = kept.insert(Arc::new(shared));
        spawn(Collector { shared: Arc::clone(shared), _is_there: sender })
    })?;
    begun();
    let profile = kept.map(|shared| Profile { number, shared, collector });
    profile.ok_or_else(|| io::Error::other("no profile was begun"))
}

/// Whether a profile may begin, as far as the process is concerned. Waits for nothing.
///
/// # Errors
/// It was forked from one that has a profile or a recording under way.
pub fn may_begin() -> io::Result<()> {
    session::may_begin()
}

/// Memory of this process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What is resident.
    pub resident: Option<u64>,
    /// The part of it that no file has: heap and stacks. Known on Linux.
    pub anonymous: Option<u64>,
}

/// What the system says of this process now.
pub fn memory() -> Memory {
    Memory { resident: system::resident_bytes(), anonymous: system::anonymous_bytes() }
}

impl Collector {
    /// Adds up until the profile ends. The thread is one [of heapwise's own](crate::spawn) and does nothing else.
    pub fn run(self) {
        // A queue that is full again and again is not to wait for that.
        let mut healed = Instant::now();
        while !queue::is_to_stop() {
            queue::wait(TICK);
            if self.shared.looking.load(Ordering::Relaxed) == 0 {
                let mut emptied = lock(&self.shared.sums);
                emptied.empty_queue();
                if healed.elapsed() >= TICK {
                    emptied.sums.forget_lost(queue::lost());
                    healed = Instant::now();
                }
            } else {
                // Whoever looks empties the queue.
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Profile {
    /// What there is now. Allocates, but notes nothing of that.
    pub fn snapshot(&self) -> Snapshot {
        self.look(Sums::snapshot)
    }

    /// The same without its sites.
    pub fn totals(&self) -> Snapshot {
        self.look(Sums::totals)
    }

    fn look(&self, at: fn(&Sums, queue::Lost) -> Snapshot) -> Snapshot {
        let _busy = local::Busy::enter();
        self.shared.looking.fetch_add(1, Ordering::Relaxed);
        let mut sums = lock(&self.shared.sums);
        self.shared.looking.fetch_sub(1, Ordering::Relaxed);
        sums.empty_queue();
        let lost = queue::lost();
        sums.sums.forget_lost(lost);
        at(&sums.sums, lost)
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A forked child has a copy, whose lock may be held for ever.
        if !is_own_process() {
            return;
        }
        let _busy = local::Busy::enter();
        session::end(self.number, |_| {
            let _ = self.collector.recv();
            drop(queue::close());
        });
    }
}

fn lock(sums: &Mutex<Emptied>) -> std::sync::MutexGuard<'_, Emptied> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}
