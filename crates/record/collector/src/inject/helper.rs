//! The process that traces threads until a program is executed that would not be recorded, and gives that what it needs: the recorder
//! is written into one without a loader, and another one gets the variables by which its loader finds the library.
//!
//! It reads requests, a line each, from its standard input, and answers on its standard output. When it has nothing to do for a second,
//! or its input ends, it ends itself; what it traces then goes on alone.

use super::Refused;
use super::image::Image;
use super::tracee::Tracee;
use super::{preload_at_start, write_at_start};
use crate::joins;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The command of this program that does this; see [`serve`].
pub const COMMAND: &str = "trace-children";

/// How long nothing may happen.
const IDLE: Duration = Duration::from_secs(1);
/// How long a thread is traced that executes nothing.
const MOST_TIME: Duration = Duration::from_secs(2);
/// How often traced threads are looked at.
const STEP_MS: u16 = 1;
/// The kernel's number for a stop that is no signal's and no event's.
const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The thread of the request at this place is traced.
    Traced(usize),
    Refused(usize),
    /// A program without a loader that is not recorded, and why.
    Unwritten(PathBuf, String),
    /// The same for one that has a loader.
    NotLoaded(PathBuf, String),
}

/// How a program is recorded that another one has executed.
#[derive(Debug)]
pub enum Recorder {
    /// By the image.
    Image(Image),
    /// By the preload library.
    Library,
    /// By itself.
    Own,
    /// Not at all: it has no loader, and cannot be written into.
    NotWritten(String),
    /// Not at all: its loader cannot load the library.
    NotLoaded(String),
}

impl Answer {
    /// Reads a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "traced" => Some(Self::Traced(rest.parse().ok()?)),
            "refused" => Some(Self::Refused(rest.parse().ok()?)),
            "unwritten" | "not-loaded" => {
                let (path, why) = rest.split_once('\t')?;
                let answer = if word == "unwritten" { Self::Unwritten } else { Self::NotLoaded };
                Some(answer(path.into(), why.into()))
            }
            _ => None,
        }
    }

    fn say(&self) {
        let about = |word, path: &Path, why: &str| {
            let path = path.to_string_lossy().replace(['\t', '\n'], " ");
            format!("{word} {path}\t{}\n", why.replace('\n', " "))
        };
        let line = match self {
            Self::Traced(place) => format!("traced {place}\n"),
            Self::Refused(place) => format!("refused {place}\n"),
            Self::Unwritten(path, why) => about("unwritten", path, why),
            Self::NotLoaded(path, why) => about("not-loaded", path, why),
        };
        // Without a reader there is no recording any more.
        let _ = io::stdout().write_all(line.as_bytes());
    }
}

/// Traces what is asked for. `library` is where the preload library is, and `recorder_for` says what records a program.
pub fn serve(session: &str, library: &str, recorder_for: fn(&Path) -> Recorder) {
    let mut helper = Helper { session, library, recorder_for, requests: 0, threads: HashMap::new() };
    let mut pending = Vec::new();
    let mut last = Instant::now();
    loop {
        let stdin = io::stdin();
        let wait = if helper.threads.is_empty() { IDLE.as_millis() as u16 } else { STEP_MS };
        let mut files = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        if poll(&mut files, PollTimeout::from(wait)).is_ok_and(|ready| ready > 0) {
            let mut bytes = [0; 512];
            // Not through its buffer, of which `poll` knows nothing.
            match nix::unistd::read(stdin.as_fd(), &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(n) => pending.extend_from_slice(&bytes[..n]),
            }
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                helper.trace(String::from_utf8_lossy(&line).trim());
            }
            last = Instant::now();
        }
        helper.look();
        helper.give_up_late();
        if !helper.threads.is_empty() {
            last = Instant::now();
        } else if last.elapsed() >= IDLE {
            return;
        }
    }
}

/// What says that a program is not recorded.
type About = fn(PathBuf, String) -> Answer;

/// A traced thread.
#[derive(Debug)]
struct Thread {
    /// The number of the request for which it is traced. Its place may have another request by now.
    request: u64,
    since: Instant,
    /// It is let go at its next stop.
    leaves: bool,
}

struct Helper<'a> {
    session: &'a str,
    library: &'a str,
    recorder_for: fn(&Path) -> Recorder,
    /// How many there were.
    requests: u64,
    threads: HashMap<Pid, Thread>,
}

impl Helper<'_> {
    /// Begins to trace a thread: `place thread`.
    fn trace(&mut self, request: &str) {
        let Some((place, thread)) = request.split_once(' ') else { return };
        let (Ok(place), Ok(thread)) = (place.parse(), thread.parse()) else { return };
        let options =
            Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK;
        let thread = Pid::from_raw(thread);
        match ptrace::seize(thread, options) {
            Ok(()) => {
                self.requests += 1;
                let (request, since) = (self.requests, Instant::now());
                self.threads.insert(thread, Thread { request, since, leaves: false });
                Answer::Traced(place).say();
            }
            Err(_) => Answer::Refused(place).say(),
        }
    }

    /// Sees to all that has stopped or ended.
    fn look(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            match status {
                WaitStatus::StillAlive => return,
                WaitStatus::PtraceEvent(thread, signal, event) => self.event(thread, signal, event),
                WaitStatus::Stopped(thread, signal) => self.go_on(thread, Some(signal)),
                WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) => {
                    self.threads.remove(&thread);
                }
                _ => {}
            }
        }
    }

    fn event(&mut self, thread: Pid, signal: Signal, event: i32) {
        match event {
            libc::PTRACE_EVENT_EXEC => self.executed(thread),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                let child = ptrace::getevent(thread).map(|id| Pid::from_raw(id as i32));
                let request = self.threads.get(&thread).map(|known| known.request);
                if let (Ok(child), Some(request)) = (child, request) {
                    let since = Instant::now();
                    self.threads.entry(child).or_insert(Thread { request, since, leaves: false });
                }
                self.go_on(thread, None);
            }
            EVENT_STOP => {
                let leaves = self.threads.get(&thread).is_none_or(|known| known.leaves);
                let is_stopped =
                    matches!(signal, Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU);
                if is_stopped && !leaves {
                    super::tracee::listen(thread);
                } else {
                    self.go_on(thread, None);
                }
            }
            _ => self.go_on(thread, None),
        }
    }

    /// Lets a stopped thread go on, or go.
    fn go_on(&mut self, thread: Pid, signal: Option<Signal>) {
        // The first stop of a new child may come before its parent's event.
        let leaves = self.threads.get(&thread).is_some_and(|known| known.leaves);
        if leaves {
            self.threads.remove(&thread);
            let _ = ptrace::detach(thread, signal);
        } else {
            let _ = ptrace::cont(thread, signal);
        }
    }

    /// A program was executed: it gets what it needs, and all that was traced for it goes.
    fn executed(&mut self, thread: Pid) {
        let former = ptrace::getevent(thread).map(|id| Pid::from_raw(id as i32)).unwrap_or(thread);
        let known = self.threads.remove(&thread);
        let request = self.threads.remove(&former).or(known).map(|known| known.request);
        let path = PathBuf::from(format!("/proc/{thread}/exe"));
        let not_recorded = match (self.recorder_for)(&path) {
            Recorder::Own => None,
            Recorder::NotWritten(why) => Some((Answer::Unwritten as About, why)),
            Recorder::NotLoaded(why) => Some((Answer::NotLoaded as About, why)),
            Recorder::Image(image) => Tracee::at_execution(thread)
                .and_then(|tracee| write_at_start(tracee, &image, self.session))
                .err()
                .map(|why| (Answer::Unwritten as About, why.to_string())),
            Recorder::Library => self
                .is_in_reach(thread)
                .and_then(|()| Tracee::at_execution(thread))
                .and_then(|tracee| preload_at_start(tracee, self.library, self.session))
                .err()
                .map(|why| (Answer::NotLoaded as About, why.to_string())),
        };
        if let Some((answer, why)) = not_recorded {
            answer(std::fs::read_link(&path).unwrap_or(path), why).say();
        }
        // It has gone on already if something was written.
        let _ = ptrace::detach(thread, None);
        for (other, known) in &mut self.threads {
            if Some(known.request) == request && !known.leaves {
                known.leaves = true;
                let _ = ptrace::interrupt(*other);
            }
        }
    }

    /// Whether a process can open the library, as its loader will: it has our files and our ids of processes, and is our user's.
    fn is_in_reach(&self, process: Pid) -> Result<(), Refused> {
        let facts = |path: String| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
        let ours = facts(self.library.to_owned());
        let theirs = facts(format!("/proc/{process}/root{}", self.library));
        let has_files = ours.is_some() && ours == theirs;
        let is_ours = joins::is_wholly_ours(process.as_raw() as u32);
        if has_files && is_ours { Ok(()) } else { Err(Refused::OutOfReach) }
    }

    /// Lets threads go that have executed nothing.
    fn give_up_late(&mut self) {
        for (thread, known) in &mut self.threads {
            if known.since.elapsed() > MOST_TIME && !known.leaves {
                known.leaves = true;
                let _ = ptrace::interrupt(*thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// The place of a request is taken by the next one as soon as the first has its answer.
    #[test]
    fn what_is_traced_for_another_request_stays() {
        let start = || Command::new("sleep").arg("60").spawn().expect("sleep is there");
        let mut programs: [Child; 2] = [start(), start()];
        let pids = programs.each_ref().map(|program| Pid::from_raw(program.id() as i32));
        let recorder_for = |_: &Path| Recorder::Own;
        let mut helper =
            Helper { session: "", library: "", recorder_for, requests: 0, threads: HashMap::new() };
        pids.iter().for_each(|pid| helper.trace(&format!("0 {pid}")));
        assert_eq!(helper.threads.len(), 2, "both are traced");
        helper.executed(pids[0]);
        let stays = helper.threads.get(&pids[1]).is_some_and(|other| !other.leaves);
        for program in &mut programs {
            program.kill().expect("it runs");
            program.wait().expect("it ends");
        }
        assert!(stays && helper.threads.len() == 1);
    }

    #[test]
    fn answers_are_read_and_others_are_not() {
        assert_eq!(Answer::parse("traced 3"), Some(Answer::Traced(3)));
        assert_eq!(Answer::parse("refused 0"), Some(Answer::Refused(0)));
        let unwritten = Answer::Unwritten("/bin/a b".into(), "it has no symbols".into());
        assert_eq!(Answer::parse("unwritten /bin/a b\tit has no symbols"), Some(unwritten));
        let not_loaded = Answer::NotLoaded("/bin/a b".into(), "it has 32 bits".into());
        assert_eq!(Answer::parse("not-loaded /bin/a b\tit has 32 bits"), Some(not_loaded));
        for other in ["", "traced", "traced x", "unwritten /bin/a", "more 1"] {
            assert_eq!(Answer::parse(other), None, "{other}");
        }
    }
}
