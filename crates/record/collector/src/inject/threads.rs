//! All threads of a process, stopped.
//!
//! A thread that was not seen can be made only by one that still runs, so they are listed until there is no new one and all have
//! stopped.

use super::Refused;
use super::requests::{self, Come};
use super::thread::{NO_CALL, Registers};
use super::tracee::Tracee;
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
/// Bytes of a stack that are looked at from the stack pointer on.
const MOST_STACK: usize = 64 << 10;

/// The stopped threads of a process. They go on when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    pid: u32,
    all: BTreeMap<i32, Stopped>,
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
    pub(crate) fn stop(pid: u32) -> Result<Self, Refused> {
        let mut threads = Self { pid, all: BTreeMap::new() };
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
    fn seize_new(&mut self) -> Result<bool, Refused> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).map_err(|_| Refused::Ended)?;
        let mut is_new = false;
        for task in tasks.flatten() {
            let Some(id) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if self.all.contains_key(&id) || state_of(self.pid, id).is_none_or(|state| "ZX".contains(state)) {
                continue;
            }
            let thread = Pid::from_raw(id);
            match ptrace::seize(thread, Options::PTRACE_O_TRACESYSGOOD) {
                Ok(()) => {}
                // It is ending.
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

    /// Whether a word on a stack is such a one.
    pub(crate) fn any_on_stack(&self, wanted: impl Fn(u64) -> bool) -> bool {
        self.registers().iter().any(|(id, registers)| {
            let words = read_some(*id, registers.rsp & !7, MOST_STACK);
            words.as_chunks::<8>().0.iter().any(|word| wanted(u64::from_le_bytes(*word)))
        })
    }

    /// Whether a signal's handler goes back to such an instruction, as its frame says. What was on a stack earlier may look like one.
    pub(crate) fn any_interrupted_at(&self, wanted: impl Fn(u64) -> bool) -> bool {
        self.registers().iter().any(|(id, registers)| {
            // Where a handler has just returned to, the address of that is still there, right below.
            let words = read_some(*id, registers.rsp.wrapping_sub(8) & !7, MOST_STACK);
            let word = |at: usize| words.get(at * 8..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
            (0..words.len() / 8).any(|at| {
                let is_such = word(at + INTERRUPTED_AT).is_some_and(&wanted);
                let returns_to = if is_such { word(at) } else { None };
                returns_to.is_some_and(|gate| read_some(*id, gate, GATE.len()) == GATE)
            })
        })
    }

    /// Whether a thread is at such an instruction.
    pub(crate) fn any_at(&self, wanted: impl Fn(u64) -> bool) -> bool {
        self.registers().iter().any(|(_, registers)| wanted(registers.rip))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let let_go = |id: i32, thread: &Stopped| {
            if !requests::detach(Pid::from_raw(id), thread.signal) {
                // It was killed meanwhile, of which its parent is to hear.
                requests::look(Pid::from_raw(id));
            }
        };
        self.all.iter().filter(|(_, thread)| thread.is_stopped).for_each(|(&id, thread)| let_go(id, thread));
        self.all.retain(|_, thread| !thread.is_stopped);
        // It has to be stopped to be let go: it would stop one day, and stay so.
        let until = Instant::now() + PATIENCE;
        while self.look() && Instant::now() < until {
            std::thread::sleep(STEP);
        }
        self.all.iter().for_each(|(&id, thread)| let_go(id, thread));
    }
}

/// Words from the beginning of a signal's frame, where the address is that its handler returns to, to that of the interrupted instruction:
/// the fields of `struct ucontext` up to `rip` of `struct sigcontext`.
const INTERRUPTED_AT: usize = 1 + 2 + 3 + 16;
/// What a handler returns to: `mov $__NR_rt_sigreturn, %rax; syscall`. glibc and musl have the same instructions, for unwinders know the
/// frame by them.
const GATE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

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

/// As much of a thread's memory from an address on as can be read at once.
fn read_some(id: Pid, at: u64, len: usize) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; len];
    let file = fs::File::open(format!("/proc/{id}/mem"));
    let n = file.and_then(|file| file.read_at(&mut bytes, at)).unwrap_or_default();
    bytes.truncate(n);
    bytes
}
