//! Looks at a program while it runs: how much memory it has, and which processes it consists of.
//!
//! Processes are remembered by id and beginning, so that those whose parent has ended stay known, are counted, and can be ended
//! with the run.

use super::{proc, sys};
use crate::{Point, Timeline};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest time between two looks. In the beginning they are closer.
const INTERVAL: Duration = Duration::from_millis(10);
/// How often new processes are looked for: that costs more.
const FAMILY_INTERVAL: Duration = Duration::from_millis(50);

/// Somebody who watches.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    pid: i32,
    started: Instant,
    library: Option<PathBuf>,
    page_bytes: u64,
    is_over: AtomicBool,
    seen: Mutex<Seen>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) timeline: Timeline,
    /// The highest of the first process.
    pub(super) peak_bytes: u64,
    /// The highest sum, while there were several.
    pub(super) peak_tree_bytes: Option<u64>,
    /// The last of the first process.
    pub(super) last_bytes: u64,
    pub(super) processes: u32,
    pub(super) mapped: Option<proc::Mapped>,
    /// Beginnings of the processes, by id.
    family: BTreeMap<i32, u64>,
}

impl Watch {
    pub(super) fn new(pid: i32, started: Instant, library: Option<PathBuf>) -> Self {
        let shared = Arc::new(Shared {
            pid,
            started,
            library,
            page_bytes: page_bytes(),
            is_over: AtomicBool::new(false),
            seen: Mutex::new(Seen::default()),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || theirs.watch());
        Self { shared, thread: Some(thread) }
    }

    /// Processes of the program that are there.
    pub(super) fn family(&self) -> Vec<i32> {
        self.shared.look_for_family();
        self.shared.with(|seen| seen.family.keys().copied().collect())
    }

    /// Processor time that all of them had so far.
    pub(super) fn cpu_time(&self) -> Duration {
        self.family().into_iter().filter_map(sys::cpu_time).sum()
    }

    /// Ends all processes that are left, and says what was seen.
    pub(super) fn finish(mut self) -> Seen {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        sys::kill_group(self.shared.pid, libc::SIGKILL);
        let left: Vec<(i32, u64)> =
            self.shared.with(|seen| seen.family.iter().map(|(p, b)| (*p, *b)).collect());
        for (pid, began) in left.iter().filter(|(pid, _)| *pid != self.shared.pid) {
            if proc::began(*pid) == Some(*began) {
                sys::kill(*pid, libc::SIGKILL);
                std::thread::sleep(Duration::from_millis(1));
            }
            sys::reap(*pid);
        }
        self.shared.with(std::mem::take)
    }
}

impl Shared {
    fn with<T>(&self, f: impl FnOnce(&mut Seen) -> T) -> T {
        f(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn watch(&self) {
        let mut family_at: Option<Instant> = None;
        while !self.is_over.load(Ordering::Relaxed) {
            let elapsed = self.started.elapsed();
            if family_at.is_none_or(|at| at.elapsed() >= FAMILY_INTERVAL) {
                self.look_for_family();
                family_at = Some(Instant::now());
            }
            self.look();
            std::thread::park_timeout((elapsed / 50).clamp(Duration::from_millis(1), INTERVAL));
        }
    }

    fn look(&self) {
        let family: Vec<i32> = self.with(|seen| seen.family.keys().copied().collect());
        let sizes: Vec<(i32, u64)> =
            family.iter().filter_map(|pid| Some((*pid, proc::rss_bytes(*pid, self.page_bytes)?))).collect();
        let time_ns = self.started.elapsed().as_nanos() as u64;
        let sum: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let first = sizes.iter().find(|(pid, _)| *pid == self.pid).map_or(0, |(_, bytes)| *bytes);
        // The loader is done soon. After that, it is asked for until the answer is yes.
        let wants_maps =
            self.with(|seen| seen.mapped.as_ref().is_none_or(|mapped| mapped.has_library == Some(false)));
        let mapped = wants_maps.then(|| proc::mapped(self.pid, self.library.as_deref())).flatten();
        let there = sizes.iter().filter(|(_, bytes)| *bytes > 0).count();
        self.with(|seen| {
            // A process that has ended and was not waited for has nothing left.
            if sum > 0 {
                seen.timeline.add(Point { time_ns, rss_bytes: sum });
            }
            if first > 0 {
                seen.last_bytes = first;
                seen.peak_bytes = seen.peak_bytes.max(first);
            }
            if there > 1 {
                seen.peak_tree_bytes = Some(seen.peak_tree_bytes.unwrap_or(0).max(sum));
            }
            seen.processes = seen.processes.max(there as u32);
            if let Some(mapped) = mapped {
                seen.mapped = Some(mapped);
            }
        });
    }

    /// Forgets processes that have ended, and finds those that the others started.
    fn look_for_family(&self) {
        let mut open: Vec<i32> = self.with(|seen| seen.family.keys().copied().collect());
        open.push(self.pid);
        let mut family = BTreeMap::new();
        let known = self.with(|seen| seen.family.clone());
        while let Some(pid) = open.pop() {
            let Some(began) = proc::began(pid) else { continue };
            // The id of one that has ended may be somebody else's now.
            let is_other = known.get(&pid).is_some_and(|known| *known != began);
            if !is_other && family.insert(pid, began).is_none() {
                open.extend(proc::children(pid));
            }
        }
        self.with(|seen| seen.family = family);
    }
}

fn page_bytes() -> u64 {
    // The only size on the processors that this runs on.
    4096
}
