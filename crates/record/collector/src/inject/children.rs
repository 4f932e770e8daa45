//! Programs that recorded processes start and that would not be recorded: those that no library can be preloaded into, and those that are
//! started without the variables that have it preloaded.
//!
//! A thread that is about to execute one asks ([`heapwise_trace::live::traced`]). What traces it is a process of ours, this program once
//! more ([`super::helper`]): whoever waits for a child of ours would be shown each stop of it, if one of our own threads traced that.

use super::helper::{Answer, COMMAND};
use crate::joins::Mapped;
use crate::session::{PreloadLibrary, Session};
use crate::sys;
use heapwise_trace::live::traced::{Request, state};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long the last answers are waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// The process that traces, while there is one.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Where the preload library is.
    library: String,
    helper: Option<Helper>,
    /// Requests that it has not answered yet, by their places in the session.
    open: Vec<usize>,
    not_recorded: NotRecorded,
}

/// Programs that are not recorded, and why.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotRecorded {
    /// Those without a loader.
    pub(crate) unwritten: BTreeMap<PathBuf, String>,
    /// Those with one.
    pub(crate) not_loaded: BTreeMap<PathBuf, String>,
}

#[derive(Debug)]
struct Helper {
    requests: ChildStdin,
    answers: Receiver<Answer>,
}

impl Helper {
    fn start(session: &Session, library: &str) -> Option<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).args([&session.path(), library]).env_remove("LD_PRELOAD");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (requests, output) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, answers) = channel();
        let forward = move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for answer in lines.filter_map(|line| Answer::parse(&line)) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
            let _ = child.wait();
        };
        std::thread::Builder::new().name("children".into()).spawn(forward).ok()?;
        Some(Self { requests, answers })
    }
}

impl Children {
    /// For programs that get this library.
    pub(crate) fn with(library: &PreloadLibrary) -> Self {
        Self { library: library.path(), ..Self::default() }
    }

    /// Hands on what threads ask for, and the answers.
    pub(crate) fn tend(&mut self, session: &Session) {
        // Processes write to the requests, whether they are asked to or not.
        if !session.traces() {
            return;
        }
        let requests = &session.header().requests;
        for (place, request) in requests.iter().enumerate() {
            if request.state.load(Ordering::Acquire) == state::ASKED && !self.open.contains(&place) {
                self.open.push(place);
                if !self.hand_on(session, place, request) {
                    self.answer(session, place, state::REFUSED);
                }
            }
        }
        self.take_answers(session);
    }

    fn hand_on(&mut self, session: &Session, place: usize, request: &Request) -> bool {
        let process = request.process.load(Ordering::Relaxed);
        let thread = request.thread.load(Ordering::Relaxed);
        // Any process may have written that: it is believed of one that has the session.
        let has_session = Mapped::of(process, &session.memory()).has(&(0..1)) == Some(true);
        let is_its = std::fs::metadata(format!("/proc/{process}/task/{thread}")).is_ok();
        if !has_session || !is_its {
            return false;
        }
        let line = format!("{place} {thread}\n");
        let is_written = |helper: &mut Helper| helper.requests.write_all(line.as_bytes()).is_ok();
        if self.helper.as_mut().is_some_and(is_written) {
            return true;
        }
        // There was none yet, or it had nothing to do for a while.
        self.helper = Helper::start(session, &self.library);
        self.helper.as_mut().is_some_and(is_written)
    }

    fn take_answers(&mut self, session: &Session) {
        let answers: Vec<_> = self.helper.iter().flat_map(|helper| helper.answers.try_iter()).collect();
        for answer in answers {
            self.take(session, answer);
        }
    }

    fn take(&mut self, session: &Session, answer: Answer) {
        match answer {
            Answer::Traced(place) => self.answer(session, place, state::TRACED),
            Answer::Refused(place) => self.answer(session, place, state::REFUSED),
            Answer::Unwritten(path, why) => drop(self.not_recorded.unwritten.insert(path, why)),
            Answer::NotLoaded(path, why) => drop(self.not_recorded.not_loaded.insert(path, why)),
        }
    }

    fn answer(&mut self, session: &Session, place: usize, answer: u32) {
        self.open.retain(|open| *open != place);
        if let Some(request) = session.header().requests.get(place) {
            // It may have gone on without an answer.
            let (from, order) = (state::ASKED, Ordering::AcqRel);
            let _ = request.state.compare_exchange(from, answer, order, Ordering::Relaxed);
            sys::futex_wake(request.state.as_ptr());
        }
    }

    /// Ends the tracing. Returns the programs that are not recorded, and why.
    pub(crate) fn end(mut self, session: &Session) -> NotRecorded {
        if let Some(Helper { requests, answers }) = self.helper.take() {
            drop(requests);
            let until = Instant::now() + PATIENCE;
            while let Ok(answer) = answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                self.take(session, answer);
            }
        }
        self.not_recorded
    }
}
