//! Looks at a program while it runs: how much memory it has, and which processes it consists of.
//!
//! Processes are remembered by id and start time. Those whose parent has ended become our children (`orphan_reaper`), so they
//! stay known and are counted.
//!
//! Processor time moves: what a process needed goes to its parent when that waits for it, and to us if we have to. Hence the sum
//! of what all of them had, with what they waited for and what we did, never loses anything, however many came and went. But the
//! kernel lets a process ignore its children; then their time is lost, which is noticed when a process vanishes and its parent's
//! account does not grow.

use super::mapped::{Mapped, mapped};
use crate::compare::{Point, Timeline};
use crate::supervise::memory::quick;
use crate::supervise::orphan_reaper::OrphanReaper;
use crate::supervise::process::{self, Account};
use crate::supervise::sys::{self, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest time between two readings. In the beginning they are closer.
const INTERVAL: Duration = Duration::from_millis(10);
/// How often new processes are looked for: that costs more.
const FAMILY_INTERVAL: Duration = Duration::from_millis(50);
/// What a parent's account may be short of what its child needed: each of two numbers is rounded down, before and after.
const ROUNDED: Duration = process::TICK.saturating_mul(3);
/// How often the processes are counted until twice the same ones are there.
const COUNTS: u32 = 20;

/// Watches the processes of a run.
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
    is_over: AtomicBool,
    orphan_reaper: Arc<OrphanReaper>,
    /// Locked by the one thread that looks for processes.
    last_reading: Mutex<LastReading>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct LastReading {
    /// All processes that were there, with those that had ended and were not waited for.
    all: BTreeMap<i32, Account>,
    /// Whether a process vanished with processor time that its parent did not get.
    has_lost: bool,
}

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
    pub(super) mapped: Option<Mapped>,
    /// Beginnings of the processes, by id.
    pub(super) family: BTreeMap<i32, u64>,
}

impl Watch {
    pub(super) fn new(
        pid: i32,
        started: Instant,
        library: Option<PathBuf>,
        orphan_reaper: Arc<OrphanReaper>,
    ) -> Self {
        let shared = Arc::new(Shared {
            pid,
            started,
            library,
            is_over: AtomicBool::new(false),
            orphan_reaper,
            last_reading: Mutex::default(),
            seen: Mutex::new(Seen::default()),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || theirs.watch());
        Self { shared, thread: Some(thread) }
    }

    /// Processes of the program that are there.
    pub(super) fn family(&self) -> Vec<i32> {
        self.shared.find_family();
        self.shared.with(|seen| seen.family.keys().copied().collect())
    }

    /// Processor time that all of them had so far, to be taken from a later one. `None` if they come and go too quickly.
    pub(super) fn cpu_mark(&self) -> Option<Duration> {
        self.shared.find_family();
        self.shared.with_last(|last| last.has_lost = false);
        self.shared.cpu_time()
    }

    /// What they had since a mark. `None` if some of it is not known.
    pub(super) fn cpu_since(&self, mark: Option<Duration>) -> Option<Duration> {
        self.shared.find_family();
        let now = self.shared.cpu_time()?;
        if self.shared.with_last(|last| last.has_lost) { None } else { now.checked_sub(mark?) }
    }

    /// Ends all processes that are left, and returns what was seen.
    pub(super) fn finish(mut self) -> Seen {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        sys::kill_group(self.shared.pid, Signal::KILL);
        self.shared.orphan_reaper.end_all();
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
                self.find_family();
                family_at = Some(Instant::now());
            }
            self.read();
            std::thread::park_timeout((elapsed / 50).clamp(Duration::from_millis(1), INTERVAL));
        }
    }

    fn read(&self) {
        let family: Vec<i32> = self.with(|seen| seen.family.keys().copied().collect());
        let sizes: Vec<(i32, u64)> = family.iter().filter_map(|pid| Some((*pid, quick(*pid)?.0))).collect();
        let time_ns = self.started.elapsed().as_nanos() as u64;
        let sum: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let first = sizes.iter().find(|(pid, _)| *pid == self.pid).map_or(0, |(_, bytes)| *bytes);
        // The loader is done soon. After that, the library is looked for until it is found.
        let wants_maps =
            self.with(|seen| seen.mapped.as_ref().is_none_or(|mapped| mapped.has_library == Some(false)));
        let mapped = wants_maps.then(|| mapped(self.pid, self.library.as_deref())).flatten();
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

    fn with_last<T>(&self, f: impl FnOnce(&mut LastReading) -> T) -> T {
        f(&mut self.last_reading.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets processes that have ended, and finds those that the others started.
    fn find_family(&self) {
        self.with_last(|last| {
            self.orphan_reaper.inherited();
            let all = self.all_processes();
            last.has_lost |= has_lost(&last.all, &all);
            let alive = all.iter().filter(|(_, stat)| !stat.has_ended);
            let family = alive.map(|(pid, stat)| (*pid, stat.began)).collect();
            last.all = all;
            self.with(|seen| seen.family = family);
        });
    }

    /// The program's processes, parents before their children. Those that ended and were not waited for are among them.
    fn all_processes(&self) -> BTreeMap<i32, Account> {
        let mut open = self.orphan_reaper.orphans();
        // When it has ended and was waited for, its id may be that of another process.
        let own = std::process::id() as i32;
        open.extend(process::account(self.pid).filter(|stat| stat.parent == own).map(|_| self.pid));
        let mut all = BTreeMap::new();
        while let Some(pid) = open.pop() {
            let Some(stat) = process::account(pid) else { continue };
            if all.insert(pid, stat).is_none() {
                open.extend(process::children(pid));
            }
        }
        all
    }

    /// What all processes needed so far, those that are there and those that were.
    fn cpu_time(&self) -> Option<Duration> {
        let mut before = None;
        for _ in 0..COUNTS {
            let inherited = self.orphan_reaper.inherited();
            let all = self.all_processes();
            // The process's clock is exact; where it cannot be read, the ticks are used.
            let of =
                |(pid, stat): (&i32, &Account)| sys::cpu_time(*pid).unwrap_or(stat.own) + stat.waited_for;
            let sum: Duration = all.iter().map(of).sum();
            let who: BTreeSet<(i32, u64)> = all.iter().map(|(pid, stat)| (*pid, stat.began)).collect();
            // A process that ended meanwhile may be in it twice or not at all.
            let found = (who, inherited);
            if before.as_ref() == Some(&found) {
                return Some(sum + inherited);
            }
            before = Some(found);
        }
        None
    }
}

/// Whether a process vanished and its parent, which is still there, did not get what it needed.
fn has_lost(before: &BTreeMap<i32, Account>, now: &BTreeMap<i32, Account>) -> bool {
    let is_there = |pid: &i32, stat: &Account| {
        let same = |other: Account| other.began == stat.began;
        now.get(pid).copied().is_some_and(same) || process::account(*pid).is_some_and(same)
    };
    let mut left: BTreeMap<i32, Duration> = BTreeMap::new();
    for (_, stat) in before.iter().filter(|(pid, stat)| !is_there(pid, stat)) {
        *left.entry(stat.parent).or_default() += stat.own + stat.waited_for;
    }
    left.into_iter().any(|(parent, needed)| {
        let Some(known) = before.get(&parent) else { return false };
        let Some(stat) = process::account(parent).filter(|stat| stat.began == known.began) else {
            return false;
        };
        let got = stat.waited_for.saturating_sub(known.waited_for);
        process::ignores_children(parent) || got + ROUNDED < needed
    })
}
