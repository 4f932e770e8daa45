//! Starts a program and hears of its end, with a last look at its memory in between.
//!
//! What a process has when it ends can only be seen when it ends: a moment later the memory is gone. So it is traced, in the
//! kernel's mildest way (`PTRACE_SEIZE`), which changes nothing for the program but that it stops once, when it exits; its
//! other threads and its children are not traced. The time of that stop is measured and is not the program's. Signals that it
//! gets on its way are passed on, and stops that somebody else wants stay stops.
//!
//! The tracer has to be there before the program is, or it would miss short ones: the child waits at a gate between `fork` and
//! `exec`. All of it is one thread's work, since the kernel binds a traced process to the thread that traces.
//!
//! Where tracing is not allowed (a container's policy), there is no last look, and everything else is as usual.

use super::{proc, sys};
use crate::compare::{Error, Memory};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A program that runs.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: i32,
    pub(super) at: Instant,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    pub(super) end: Receiver<Ended>,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// As `wait` has it.
    pub(super) status: i32,
    pub(super) usage: sys::Usage,
    /// From the start to the end, without the last look.
    pub(super) wall: Duration,
    pub(super) last_look: Option<LastLook>,
}

/// What was seen when it exited.
#[derive(Clone, Debug)]
pub(super) struct LastLook {
    pub(super) memory: Option<Memory>,
    pub(super) high_water_mark: Option<u64>,
    pub(super) mapped: Option<proc::Mapped>,
    /// How long the process was there afterwards: if it is more than it takes to end, only its first thread ended then.
    pub(super) before_end: Duration,
}

/// Starts a command. It gets a process group of its own.
pub(super) fn start(command: Command, library: Option<PathBuf>) -> Result<Started, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (to_caller, started) = channel();
    let (to_end, end) = channel();
    std::thread::spawn(move || trace(command, library.as_deref(), &to_caller, &to_end));
    let gone = || Err(io::Error::other("the thread that starts programs has ended"));
    let (pid, at, stdout, stderr) =
        started.recv().unwrap_or_else(|_| gone()).map_err(|reason| match reason.kind() {
            io::ErrorKind::NotFound => Error::NoSuchProgram { program },
            _ => Error::NotExecutable { program, reason },
        })?;
    Ok(Started { pid, at, stdout, stderr, end })
}

type Pieces = (i32, Instant, Option<ChildStdout>, Option<ChildStderr>);

fn trace(
    command: Command,
    library: Option<&Path>,
    to_caller: &Sender<io::Result<Pieces>>,
    to_end: &Sender<Ended>,
) {
    let (pid, at, is_traced) = match start_here(command) {
        Ok((pieces, is_traced)) => {
            let (pid, at) = (pieces.0, pieces.1);
            if to_caller.send(Ok(pieces)).is_err() {
                sys::kill(pid, libc::SIGKILL);
            }
            (pid, at, is_traced)
        }
        Err(error) => {
            let _ = to_caller.send(Err(error));
            return;
        }
    };
    let mut look: Option<(LastLook, Instant)> = None;
    let mut stopped = Duration::ZERO;
    let (status, usage) = loop {
        let Ok((status, usage)) = sys::wait(pid) else { return };
        if !libc::WIFSTOPPED(status) || !is_traced {
            break (status, usage);
        }
        let stop = Instant::now();
        let signal = libc::WSTOPSIG(status);
        // A process that was killed meanwhile cannot go on, and the next wait tells its end.
        let _ = match status >> 16 {
            libc::PTRACE_EVENT_EXIT => {
                let seen = last_look(pid, library);
                let gone_on = sys::go_on(pid, 0);
                look = Some((seen, Instant::now()));
                stopped += stop.elapsed();
                gone_on
            }
            libc::PTRACE_EVENT_STOP if is_stop(signal) => sys::stay_stopped(pid),
            0 => sys::go_on(pid, signal),
            _ => sys::go_on(pid, 0),
        };
    };
    let ended = Instant::now();
    let last_look = look.map(|(seen, at)| LastLook { before_end: ended.duration_since(at), ..seen });
    let wall = ended.duration_since(at).saturating_sub(stopped);
    let _ = to_end.send(Ended { status, usage, wall, last_look });
}

fn is_stop(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

fn last_look(pid: i32, library: Option<&Path>) -> LastLook {
    LastLook {
        memory: proc::memory(pid, false),
        high_water_mark: proc::high_water_mark(pid),
        mapped: proc::mapped(pid, library),
        before_end: Duration::ZERO,
    }
}

/// Starts it in this thread, and whether it is traced.
fn start_here(mut command: Command) -> io::Result<(Pieces, bool)> {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    let (mut ids, id) = io::pipe()?;
    let (gate, mut open) = io::pipe()?;
    command.process_group(0);
    sys::wait_at_gate(&mut command, id.as_raw_fd(), gate.as_raw_fd());
    // `spawn` returns when the program has replaced the child, hence another thread while that waits at the gate.
    let spawner = std::thread::spawn(move || {
        let child = command.spawn();
        drop((id, gate));
        child
    });
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
            sys::kill(pid, libc::SIGKILL);
            sys::reap(pid);
        }
    })?;
    let pieces = (child.id() as i32, at, child.stdout.take(), child.stderr.take());
    Ok((pieces, is_traced))
}
