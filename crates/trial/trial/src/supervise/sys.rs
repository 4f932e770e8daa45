//! The system calls that neither std nor rustix has, each wrapped once, and signals.

use rustix::process::{Pid, kill_process, kill_process_group};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

pub(crate) use rustix::process::Signal;

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The kernel's account of a process that ended and of the children that it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in kernel mode.
    pub system: Duration,
    /// The most resident memory that one of them had; it begins with a copy of the parent's.
    pub max_rss_bytes: u64,
    /// Page faults without disk.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Context switches because it waited for something.
    pub voluntary_switches: u64,
    /// Context switches because its time was up.
    pub involuntary_switches: u64,
}

impl From<&libc::rusage> for Usage {
    fn from(usage: &libc::rusage) -> Self {
        let time = |t: libc::timeval| {
            Duration::new(t.tv_sec.max(0) as u64, t.tv_usec.clamp(0, 999_999) as u32 * 1000)
        };
        Self {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            max_rss_bytes: (usage.ru_maxrss.max(0) as u64) << 10,
            minor_faults: usage.ru_minflt.max(0) as u64,
            major_faults: usage.ru_majflt.max(0) as u64,
            voluntary_switches: usage.ru_nvcsw.max(0) as u64,
            involuntary_switches: usage.ru_nivcsw.max(0) as u64,
        }
    }
}

/// What happened to a child: its status as `wait` has it, and its usage so far. With `WNOHANG`, `None` if nothing did.
pub(super) fn wait4(pid: i32, options: i32) -> io::Result<Option<(i32, Usage)>> {
    loop {
        let mut status = 0;
        // SAFETY: zeroed memory is a valid `rusage`, a structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live variables without other references, of the types that the kernel writes.
        let waited = unsafe { libc::wait4(pid, &mut status, libc::__WALL | options, &mut usage) };
        match check(libc::c_long::from(waited)) {
            Ok(()) => return Ok((waited == pid).then(|| (status, Usage::from(&usage)))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: i32, signal: Signal) {
    // Zero and negative numbers would mean many processes.
    if let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 1) {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a process group.
pub(crate) fn kill_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group).filter(|_| group > 1) {
        let _ = kill_process_group(group, signal);
    }
}

/// Processor time of a running process with all its threads.
pub(crate) fn cpu_time(pid: i32) -> Option<Duration> {
    /// The clock of a whole process's processor time, as `clock_getcpuclockid` makes it from an id.
    const SCHEDULED: libc::clockid_t = 2;
    let clock = (!pid << 3) | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the structure, a live variable without other references. It fails if the process is gone.
    check(unsafe { libc::clock_gettime(clock, &mut time) }.into()).ok()?;
    Some(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32))
}

/// Has the child wait before it becomes the program: it writes its id, and goes on when it can read a byte.
pub(super) fn wait_at_gate(command: &mut Command, id: OwnedFd, gate: OwnedFd) {
    let wait = move || {
        rustix::io::write(id.as_fd(), &rustix::process::getpid().as_raw_nonzero().get().to_ne_bytes())?;
        rustix::io::read(gate.as_fd(), &mut [0u8])?;
        Ok(())
    };
    // SAFETY: runs in the child between fork and exec, and makes three system calls; it neither allocates nor locks.
    unsafe { command.pre_exec(wait) };
}

/// Traces a process from now on: it will stop when it exits, and it dies with us.
pub(super) fn seize(pid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
    ptrace(libc::PTRACE_SEIZE, pid, options)
}

/// Lets a stopped process go on, with a signal or none (0).
pub(super) fn go_on(pid: i32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_CONT, pid, signal)
}

/// Leaves a process stopped, as another process requested, and is notified when it continues.
pub(super) fn stay_stopped(pid: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_LISTEN, pid, 0)
}

fn ptrace(request: libc::c_uint, pid: i32, data: i32) -> io::Result<()> {
    let data = data as usize as *mut libc::c_void;
    // SAFETY: none of the three requests reads or writes our memory: the last argument is a number for each of them.
    check(unsafe { libc::ptrace(request, pid, std::ptr::null_mut::<libc::c_void>(), data) })
}
