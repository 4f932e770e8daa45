//! A profile of the heap in memory, from the same sample as a recording's: for each stack, what was allocated and what is live.
//!
//! [`begin`] makes the two ends: a [`Collector`] for a thread that empties the queue now and then, and a [`Profile`] for whoever wants to
//! look. A look empties the queue first, so it has everything up to then. The queue is emptied by one at a time, and nothing that allocates in the
//! program waits for that.

mod sums;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocFunction, allocation, deallocation, live, reallocation};
    use std::alloc::Layout;

    static NOTHING: Hooks = Hooks { ended: || (), environment: Vec::new };

    /// A profile whose queue nobody empties but who looks. There is one at a time.
    fn profile(sample_bytes: u64) -> (std::sync::MutexGuard<'static, ()>, Profile) {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = begin(sample_bytes, &NOTHING, || (), |_| Ok(())).expect("it is alone");
        (alone, profile)
    }

    /// A block that is always sampled.
    const LARGE: u64 = 1 << 30;

    /// The wrapper's call for a large block that the allocator has put there.
    fn allocated_at(address: u64) {
        let layout = Layout::from_size_align(LARGE as usize, 8).expect("a layout");
        allocation(&layout, AllocFunction::Malloc, || address as usize as *mut u8);
    }

    /// Linux on AArch64 puts blocks at addresses of 48 bits.
    #[test]
    fn blocks_at_high_addresses_are_in_it() {
        let (_alone, profile) = profile(512 << 10);
        for address in [0x0000_7fff_1234_5670, 0x0000_ffff_8000_0010, 0x0000_aaaa_dead_bee0] {
            allocated_at(address);
        }
        let totals = profile.totals().totals;
        assert_eq!((totals.counts.live_bytes, totals.lost_samples), (3 * LARGE, 0));
        deallocation(0xffff_8000_0010u64 as usize as *mut u8, || ());
        assert_eq!(profile.totals().totals.counts.live_bytes, 2 * LARGE);
    }

    /// With a GiB between samples the set of live ones has few places, up to heaps of eight TiB.
    #[test]
    fn what_finds_no_place_among_the_live_ones_is_allocated_all_the_same() {
        let (_alone, profile) = profile(1 << 30);
        let most = 1 << 16;
        for n in 1..=most {
            allocated_at(n << 4);
            // Nobody else empties the queue.
            if n % 1000 == 0 {
                profile.totals();
            }
        }
        let totals = profile.totals().totals;
        assert_eq!((totals.samples, totals.lost_samples), (most, 0));
        assert_eq!(totals.counts.alloc_bytes, most * LARGE);
        assert_eq!(totals.live_samples + totals.unfollowed_samples, most);
        assert!((1 << 14..=1 << 15).contains(&totals.live_samples), "{totals:?}");
        assert_eq!(totals.counts.live_bytes, totals.live_samples * LARGE);
        assert_eq!(totals.live_bytes_error, None);
        for n in 1..=most {
            deallocation((n << 4) as usize as *mut u8, || ());
            if n % 1000 == 0 {
                profile.totals();
            }
        }
        let totals = profile.totals().totals;
        assert_eq!((totals.counts.live_bytes, totals.live_samples), (0, 0));
    }

    #[test]
    fn a_block_that_the_allocator_refuses_to_resize_stays_as_it_was() {
        let (_alone, profile) = profile(512 << 10);
        allocated_at(16);
        let before = profile.snapshot();
        let layout = Layout::from_size_align(LARGE as usize, 8).expect("a layout");
        let resized = |to: *mut u8| reallocation(16 as *mut u8, &layout, 2 * LARGE as usize, || to);
        for _ in 0..1000 {
            assert!(resized(std::ptr::null_mut()).is_null());
        }
        let after = profile.snapshot();
        let counts = |of: &Snapshot| of.sites.iter().map(|site| site.counts).collect::<Vec<_>>();
        assert_eq!(counts(&after), counts(&before), "at the place that allocated it");
        assert_eq!((after.totals.samples, after.totals.live_bytes_error), (1, Some(0.0)));
        resized(32 as *mut u8);
        let totals = profile.totals().totals;
        assert_eq!((totals.counts.alloc_bytes, totals.counts.live_bytes), (3 * LARGE, 2 * LARGE));
    }

    #[test]
    fn a_full_queue_makes_nobody_wait_and_what_is_lost_is_counted() {
        let (_alone, profile) = profile(512 << 10);
        let is_live = |address: u64| live::contains(address) == Some(true);
        allocated_at(16);
        // Nobody empties it meanwhile.
        let mut count = 1;
        while queue::lost().others == 0 {
            count += 1;
            allocated_at(count * 16);
        }
        assert!(!is_live(count * 16), "its end would not be known");
        let begin = Instant::now();
        for n in 1..=100 {
            allocated_at((count + n) * 16);
        }
        let ends = queue::most_bytes() / 8;
        let mut freed = 0;
        while queue::lost().frees == 0 {
            assert!(freed < ends, "the queue takes more than there is room for");
            freed += 1;
            deallocation((freed * 16) as usize as *mut u8, || ());
        }
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        let totals = profile.totals().totals;
        assert_eq!((totals.lost_samples, totals.lost_frees), (101, 1));
        assert_eq!(totals.samples, count - 1);
        // Also the one whose end was lost is not live.
        assert_eq!(totals.live_samples, count - 1 - freed);
    }
}
