//! Assigns processes to runs, and ends all that are left when a run is over.
//!
//! A process that loses its parent would escape: it could go on for ever, hold the pipes that we read, and its resource use would
//! be lost. So heapwise adopts them (`PR_SET_CHILD_SUBREAPER`): each descendant of the program becomes a child of ours when its
//! parent ends, whatever group or session it went to. A child of ours that is neither a program that we run nor a child that was
//! there before is an orphan of the run: it belongs to the program while that runs, its resource use is counted when it ends, and
//! it is ended with the run.
//!
//! The commands that drive a server leave orphans, too. A variable that only those commands get distinguishes them from the
//! server's.

use super::process;
use super::sys::{self, Signal};
use super::tracer::{self, Started};
use std::collections::BTreeSet;
use std::io;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long processes that were killed may need to be gone; one that waits for a disk may need longer.
const LAST_MOMENTS: Duration = Duration::from_secs(2);
/// Marks the commands that drive a server; its value is our id, for comparisons within comparisons.
const MARK: &str = "HEAPWISE_DRIVES_FOR";

/// Children of ours during a run.
#[derive(Debug)]
pub(crate) struct OrphanReaper {
    own: i32,
    /// Our process group. What is in it was started by other code of this process: programs get separate groups.
    group: i32,
    /// Children that were there before, with their beginnings.
    before: BTreeSet<(i32, u64)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Programs that we run, and whose ends other code waits for.
    running: BTreeSet<i32>,
    /// The group of the command that drives the server at the moment.
    driver: Option<i32>,
    /// Orphans that are known to be such a command's.
    of_driver: BTreeSet<(i32, u64)>,
    /// What orphans of the program needed that have ended.
    inherited: Duration,
}

impl OrphanReaper {
    /// Orphans are ours from now on.
    pub(crate) fn new() -> Self {
        // Where it is refused, another process waits for their ends.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let own = std::process::id() as i32;
        let before =
            process::children(own).into_iter().filter_map(|pid| Some((pid, process::account(pid)?.began)));
        Self {
            own,
            group: process::account(own).map_or(0, |stat| stat.group),
            before: before.collect(),
            state: Mutex::default(),
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The program was started.
    pub(crate) fn program_runs(&self, pid: i32) {
        self.with(|state| state.running.insert(pid));
    }

    /// Starts a command that drives the server. The state is locked meanwhile: a thread
    /// that looks for orphans would take it for one of the server's.
    pub(crate) fn start_driver(&self, mut command: Command) -> io::Result<Started<()>> {
        command.env(MARK, self.own.to_string());
        self.with(|state| {
            let started = tracer::start(command, |_| ())?;
            state.running.insert(started.pid);
            state.driver = Some(started.pid);
            Ok(started)
        })
    }

    /// It has ended, and what it left behind is ended.
    pub(crate) fn driver_ended(&self, pid: i32) {
        self.with(|state| state.running.remove(&pid));
        self.end(true);
        self.with(|state| {
            state.driver = None;
            state.of_driver.clear();
        });
    }

    /// Ends everything that the run left behind.
    pub(crate) fn end_all(&self) {
        self.end(false);
    }

    /// Orphans of the program that are there.
    pub(crate) fn orphans(&self) -> Vec<i32> {
        let all = self.with(|state| self.adopted(state));
        all.into_iter().filter(|orphan| !orphan.is_driver).map(|orphan| orphan.pid).collect()
    }

    /// What orphans of the program needed that have ended.
    pub(crate) fn inherited(&self) -> Duration {
        self.with(|state| {
            for orphan in self.adopted(state).into_iter().filter(|orphan| orphan.has_ended) {
                if let Some(usage) = reap(orphan.pid)
                    && !orphan.is_driver
                {
                    state.inherited += usage.user + usage.system;
                }
            }
            state.inherited
        })
    }

    fn adopted(&self, state: &mut State) -> Vec<Orphan> {
        let children = process::children(self.own).into_iter().filter(|pid| !state.running.contains(pid));
        let stats: Vec<_> = children.filter_map(|pid| Some((pid, process::account(pid)?))).collect();
        let mut orphans = Vec::new();
        for (pid, stat) in stats {
            let name = (pid, stat.began);
            if stat.group == self.group || self.before.contains(&name) {
                continue;
            }
            let is_driver = state.driver.is_some()
                && (state.driver == Some(stat.group)
                    || state.of_driver.contains(&name)
                    || process::has_variable(pid, MARK, &self.own.to_string()));
            if is_driver {
                // When it has ended, its variables cannot be read any more.
                state.of_driver.insert(name);
            }
            orphans.push(Orphan { pid, has_ended: stat.has_ended, is_driver });
        }
        orphans
    }

    /// Kills orphans, and their children that become orphans, until none is left.
    fn end(&self, drivers_only: bool) {
        let until = Instant::now() + LAST_MOMENTS;
        let mut was_empty = false;
        loop {
            let left = self.with(|state| {
                let mut left = self.adopted(state);
                left.retain(|orphan| orphan.is_driver || !drivers_only);
                left.iter().for_each(|orphan| {
                    sys::kill(orphan.pid, Signal::KILL);
                    reap(orphan.pid);
                });
                left.len()
            });
            // A child may change its place while the list is read.
            if (left == 0 && was_empty) || Instant::now() > until {
                return;
            }
            was_empty = left == 0;
            if !was_empty {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Takes a child's end if it has ended, and what it needed.
fn reap(pid: i32) -> Option<sys::Usage> {
    Some(sys::wait4(pid, libc::WNOHANG).ok()??.1)
}

/// Ends all that this process runs, for an end that waits for nothing else: programs with all that they started. What is in our own
/// process group is left alone.
pub fn end_everything() {
    let own = std::process::id() as i32;
    let group = process::account(own).map_or(0, |stat| stat.group);
    let until = Instant::now() + LAST_MOMENTS;
    loop {
        let mut open = process::children(own);
        let mut is_over = true;
        while let Some(pid) = open.pop() {
            let Some(stat) = process::account(pid) else { continue };
            open.extend(process::children(pid));
            if stat.group != group && !stat.has_ended {
                sys::kill(pid, Signal::KILL);
                is_over = false;
            }
        }
        if is_over || Instant::now() > until {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Orphan {
    pid: i32,
    has_ended: bool,
    is_driver: bool,
}
