//! All threads of a process, stopped.
//!
//! A thread that was not seen can be made only by one that still runs, so they are listed until there is no new one and all have
//! stopped.

use super::Refused;
use super::requests::{self, Come};
use super::thread::{NO_CALL, Registers};
use super::tracee::Tracee;
use super::tracer::Tracer;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// How long a thread may take to stop: one that waits for a disk, or for the child of `vfork`, does so later.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often is looked meanwhile.
const STEP: Duration = Duration::from_micros(50);

/// The stopped threads of a process. They go on when the thread of ours has ended that has stopped them.
#[derive(Debug)]
pub(crate) struct Threads {
    pid: u32,
    all: BTreeMap<i32, Stopped>,
    _tracer: Tracer,
}

#[derive(Debug, Default)]
struct Stopped {
    /// Whether it has stopped.
    is_stopped: bool,
    /// A signal that it was about to get; 0 for none.
    signal: i32,
}

impl Threads {
    /// Stops them.
    pub(super) fn stop(tracer: Tracer, pid: u32) -> Result<Self, Refused> {
        let mut threads = Self { pid, all: BTreeMap::new(), _tracer: tracer };
        let until = Instant::now() + PATIENCE;
        loop {
            // A list counts if all that were known had stopped before.
            let is_running = threads.look();
            let is_new = threads.seize_new()?;
            if !is_new && !is_running {
                break;
            }
            if is_running && Instant::now() > until {
                return Err(threads.of_unstoppable());
            }
            if is_running {
                std::thread::sleep(STEP);
            }
        }
        threads.spare_filters();
        if threads.all.is_empty() { Err(Refused::Ended) } else { Ok(threads) }
    }

    /// A sleep that was interrupted goes on by a call of its own, which a filter of system calls may not know: there it ends early, as
    /// after a signal.
    fn spare_filters(&self) {
        for (id, registers) in self.registers() {
            let is_sleep = registers.orig_rax != NO_CALL && -(registers.rax as i64) == RESTART_BLOCK;
            if is_sleep && has_filter(id) {
                let ended = Registers { rax: -i64::from(libc::EINTR) as u64, orig_rax: NO_CALL, ..registers };
                // It is gone otherwise.
                let _ = ptrace::setregs(id, ended);
            }
        }
    }

    /// Traces the threads that are not traced yet, and asks them to stop. Returns whether there were such.
    ///
    /// PERF: nothing is asked of `/proc` between two threads. Those that still run want the processor, too, and whoever takes long to stop
    /// them waits for each of them.
    fn seize_new(&mut self) -> Result<bool, Refused> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).map_err(|_| Refused::Ended)?;
        let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
        let new: Vec<i32> = ids.filter(|id| !self.all.contains_key(id)).collect();
        let mut is_new = false;
        for id in new {
            let thread = Pid::from_raw(id);
            match ptrace::seize(thread, Options::PTRACE_O_TRACESYSGOOD) {
                Ok(()) => {}
                // It has ended, or is ending.
                Err(Errno::ESRCH) => continue,
                Err(_) if state_of(self.pid, id).is_none_or(|state| "ZX".contains(state)) => continue,
                Err(error) => return Err(Refused::Forbidden(error.into())),
            }
            let _ = ptrace::interrupt(thread);
            self.all.insert(id, Stopped::default());
            is_new = true;
        }
        Ok(is_new)
    }

    /// Sees which have stopped or ended, killed while they were stopped. Returns whether some have done neither.
    fn look(&mut self) -> bool {
        self.all.retain(|&id, thread| match requests::look(Pid::from_raw(id)) {
            Come::On => true,
            Come::Stopped(signal) => {
                (thread.is_stopped, thread.signal) = (true, signal);
                true
            }
            Come::Gone => false,
        });
        self.all.values().any(|thread| !thread.is_stopped)
    }

    fn of_unstoppable(&self) -> Refused {
        let mut running = self.all.iter().filter(|(_, thread)| !thread.is_stopped);
        let thread = running.next().map_or(0, |(id, _)| *id as u32);
        let wchan = fs::read_to_string(format!("/proc/{}/task/{thread}/wchan", self.pid)).unwrap_or_default();
        let is_plain = !wchan.is_empty() && wchan.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        Refused::Unstoppable { thread, place: if is_plain { wchan } else { String::new() } }
    }

    /// The stopped threads that can be asked something, and their registers.
    pub(crate) fn registers(&self) -> Vec<(Pid, Registers)> {
        let ids = self.all.keys().map(|&id| Pid::from_raw(id));
        ids.filter_map(|id| Some((id, ptrace::getregs(id).ok()?))).collect()
    }

    /// One that can work for us: best one that waits in a system call. One in the middle of a restartable sequence would not begin it
    /// again. Where it is has to be `fit`.
    pub(crate) fn worker(&self, fit: impl Fn(u64) -> bool) -> Result<Tracee, Refused> {
        let is_able = |(id, registers): &(Pid, Registers)| {
            // What has no instruction is a thread of the kernel's in the process.
            self.all[&id.as_raw()].signal == 0 && registers.rip != 0 && fit(registers.rip)
        };
        let mut able: Vec<_> = self.registers().into_iter().filter(is_able).collect();
        able.sort_by_key(|(_, registers)| !waits(registers));
        for (id, registers) in able {
            let tracee = Tracee::open(id)?;
            let in_sequence = || {
                let at = requests::restartable(id)?;
                // Behind the processor's number: the sequence at work.
                let word = tracee.read(at + 8, 8).ok()?;
                Some(word.iter().any(|&byte| byte != 0))
            };
            if registers.orig_rax != NO_CALL || in_sequence() != Some(true) {
                return Ok(tracee);
            }
        }
        Err(Refused::NoWorker)
    }

    /// Whether a thread is at such an instruction.
    pub(crate) fn any_at(&self, wanted: impl Fn(u64) -> bool) -> bool {
        self.registers().iter().any(|(_, registers)| wanted(registers.rip))
    }
}

impl Drop for Threads {
    /// Whoever goes on without us has lost the signal that we have taken note of.
    fn drop(&mut self) {
        for (&id, thread) in self.all.iter().filter(|(_, thread)| thread.signal != 0) {
            requests::detach(Pid::from_raw(id), thread.signal);
        }
    }
}

/// The kernel's own result of a sleep that goes on by another call (ERESTART_RESTARTBLOCK).
const RESTART_BLOCK: i64 = 516;

/// Whether a thread has a filter of system calls.
pub(super) fn has_filter(id: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() != "0"))
}

/// Whether a thread was stopped in a system call.
fn waits(registers: &Registers) -> bool {
    registers.orig_rax != NO_CALL && (512..=516).contains(&-(registers.rax as i64))
}

/// The state of a thread, as `/proc` has it; `None` if it is gone.
fn state_of(pid: u32, thread: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}
