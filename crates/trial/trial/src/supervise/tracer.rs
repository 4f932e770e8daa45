//! Starts a program and waits for its end, with a last look at its memory in between.
//!
//! What a process has when it ends can only be seen when it ends: a moment later the memory is gone. So it is traced, in the
//! kernel's mildest way (`PTRACE_SEIZE`), which changes nothing for the program but that it stops once, when it exits; its
//! other threads and its children are not traced. The time of that stop is measured and is not the program's. Signals that it
//! gets on its way are passed on, and stops that another process requests are kept.
//!
//! The tracer has to be there before the program is, or it would miss short ones: the child waits at a gate between `fork` and
//! `exec`. All of it is one thread's work, since the kernel binds a traced process to the thread that traces.
//!
//! Where tracing is not allowed (a container's policy), there is no last look, and everything else is as usual.

use super::sys::{self, Signal, Usage};
use std::io::{self, Read, Write};
use std::process::{ChildStderr, ChildStdout, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Started<T> {
    pub(crate) pid: i32,
    pub(crate) at: Instant,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    pub(crate) end: Receiver<Ended<T>>,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended<T> {
    /// As `wait` has it.
    pub(crate) status: i32,
    pub(crate) usage: Usage,
    /// From the start to the end, without the last look.
    pub(crate) wall: Duration,
    /// What was seen when it exited, and how long it was there afterwards: if that is more than it takes to end, only its first
    /// thread ended then.
    pub(crate) last_reading: Option<(T, Duration)>,
}

/// Starts a command in a new process group. `look` is called with its id at the moment when it exits.
///
/// # Errors
/// The system's.
pub(crate) fn start<T: Send + 'static>(
    command: Command,
    look: impl Fn(i32) -> T + Send + 'static,
) -> io::Result<Started<T>> {
    let (to_caller, started) = channel();
    let (to_end, end) = channel();
    std::thread::spawn(move || trace(command, &look, &to_caller, &to_end));
    let gone = || Err(io::Error::other("the thread that starts programs has ended"));
    let (pid, at, stdout, stderr) = started.recv().unwrap_or_else(|_| gone())?;
    Ok(Started { pid, at, stdout, stderr, end })
}

type Pieces = (i32, Instant, Option<ChildStdout>, Option<ChildStderr>);

fn trace<T>(
    command: Command,
    look: &impl Fn(i32) -> T,
    to_caller: &Sender<io::Result<Pieces>>,
    to_end: &Sender<Ended<T>>,
) {
    let (pid, at, is_traced) = match start_here(command) {
        Ok((pieces, is_traced)) => {
            let (pid, at) = (pieces.0, pieces.1);
            if to_caller.send(Ok(pieces)).is_err() {
                sys::kill(pid, Signal::KILL);
            }
            (pid, at, is_traced)
        }
        Err(error) => {
            let _ = to_caller.send(Err(error));
            return;
        }
    };
    let mut seen: Option<(T, Instant)> = None;
    let mut stopped = Duration::ZERO;
    let (status, usage) = loop {
        let Ok(Some((status, usage))) = sys::wait4(pid, 0) else { return };
        if !libc::WIFSTOPPED(status) || !is_traced {
            break (status, usage);
        }
        let stop = Instant::now();
        let signal = libc::WSTOPSIG(status);
        // A process that was killed meanwhile cannot go on; the next wait reports its end.
        let _ = match status >> 16 {
            libc::PTRACE_EVENT_EXIT => {
                let last = look(pid);
                let gone_on = sys::go_on(pid, 0);
                seen = Some((last, Instant::now()));
                stopped += stop.elapsed();
                gone_on
            }
            libc::PTRACE_EVENT_STOP if is_stop(signal) => sys::stay_stopped(pid),
            0 => sys::go_on(pid, signal),
            _ => sys::go_on(pid, 0),
        };
    };
    let ended = Instant::now();
    let last_reading = seen.map(|(last, at)| (last, ended.duration_since(at)));
    let wall = ended.duration_since(at).saturating_sub(stopped);
    let _ = to_end.send(Ended { status, usage, wall, last_reading });
}

fn is_stop(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Starts it in this thread, and whether it is traced.
fn start_here(mut command: Command) -> io::Result<(Pieces, bool)> {
    use std::os::unix::process::CommandExt;
    let (mut ids, id) = io::pipe()?;
    let (gate, mut open) = io::pipe()?;
    command.process_group(0);
    sys::wait_at_gate(&mut command, id.into(), gate.into());
    // `spawn` returns when the program has replaced the child, hence another thread while that waits at the gate.
    // Our ends of the pipes are closed with the command.
    let spawner = std::thread::spawn(move || command.spawn());
    let mut pid = [0; 4];
    let pid = ids.read_exact(&mut pid).map(|()| i32::from_ne_bytes(pid));
    // If there is no id, there is no child, and the spawner knows why.
    let (is_traced, at) = match pid {
        Ok(pid) => {
            let is_traced = sys::seize(pid).is_ok();
            let at = Instant::now();
            open.write_all(&[1])?;
            (is_traced, at)
        }
        Err(_) => (false, Instant::now()),
    };
    let spawned = spawner.join().unwrap_or_else(|_| Err(io::Error::other("cannot start a thread")));
    let mut child = spawned.inspect_err(|_| {
        if let Ok(pid) = pid {
            // It stopped when it exited without having become the program.
            sys::kill(pid, Signal::KILL);
            let _ = sys::wait4(pid, libc::WNOHANG);
        }
    })?;
    let pieces = (child.id() as i32, at, child.stdout.take(), child.stderr.take());
    Ok((pieces, is_traced))
}
