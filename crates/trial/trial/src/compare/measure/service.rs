//! Drives a server: waits until it is ready, gives it something to do, and looks at its memory afterwards.

use super::output::Reader;
use super::watch::Watch;
use super::{AtExit, Limits, not_started};
use crate::compare::{Error, LoadSample, Memory, Outcome, Ready, Service};
use crate::supervise::memory::Resident;
use crate::supervise::orphan_reaper::OrphanReaper;
use crate::supervise::sys::{self, Signal};
use crate::supervise::tracer::Ended;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Between two questions.
const TICK: Duration = Duration::from_millis(10);
/// How long one try of a command that tests whether the server is ready may take.
const TRY_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for a server without a sign that it is ready.
const BLIND_WAIT: Duration = Duration::from_secs(1);

/// The moment when a time is over; if the clock cannot represent it, one that is practically never.
fn over(time: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    Instant::now() + time.min(NEVER)
}

/// What driving it brought.
#[derive(Debug, Default)]
pub(super) struct Driven {
    /// If it did not go well.
    pub(super) failure: Option<Outcome>,
    pub(super) load: Option<LoadSample>,
    /// Processor time during the load; `None` if some of it is not known.
    pub(super) cpu: Option<Duration>,
    pub(super) after_load: Option<Memory>,
    pub(super) after_settle: Option<Memory>,
    pub(super) ended: Option<Ended<AtExit>>,
}

/// What a server is driven with.
#[derive(Debug)]
pub(super) struct Server<'a> {
    pub(super) service: &'a Service,
    pub(super) pid: i32,
    pub(super) watch: &'a Watch,
    pub(super) orphan_reaper: &'a OrphanReaper,
    pub(super) outputs: [&'a Reader; 2],
    pub(super) end: &'a Receiver<Ended<AtExit>>,
    pub(super) limits: &'a Limits<'a>,
    /// See [`crate::compare::Program::prepare`].
    pub(super) prepare: Option<fn(&mut Command)>,
}

/// Fails if another program listens at the port that is to show that the server is ready: then it would show nothing.
pub(super) fn refuse_foreign_listener(service: &Service) -> Result<(), Error> {
    let Some(Ready::Tcp(addresses)) = &service.ready else { return Ok(()) };
    // The one before may need a moment to leave.
    let until = Instant::now() + Duration::from_secs(5);
    while let Some(address) = accepting(addresses) {
        if Instant::now() > until {
            let (ip, port) = (address.ip(), address.port());
            let what = format!(
                "cannot be distinguished from another one, which listens at port {port} of {ip} already"
            );
            return Err(Error::Baseline { what, hint: "; end that program, or use another port".into() });
        }
        // Each question is a connection that the other program has to accept: not too many.
        std::thread::sleep(Duration::from_millis(250));
    }
    Ok(())
}

impl Server<'_> {
    /// All of it. The server has ended afterwards.
    pub(super) fn drive(&self) -> Result<Driven, Error> {
        let mut driven = Driven::default();
        self.drive_into(&mut driven)?;
        if driven.ended.is_none() {
            sys::kill(self.pid, Signal::TERM);
            driven.ended = self.end.recv_timeout(self.service.stop_limit).ok();
        }
        if driven.ended.is_none() {
            sys::kill_group(self.pid, Signal::KILL);
            driven.ended = self.end.recv().ok();
            driven.failure = driven.failure.or(Some(Outcome::Stopped));
        }
        Ok(driven)
    }

    fn drive_into(&self, driven: &mut Driven) -> Result<(), Error> {
        if !self.wait_until_ready(driven)? {
            driven.failure = driven.failure.take().or(Some(Outcome::NotReady));
            return Ok(());
        }
        if let Some(command) = &self.service.load {
            let mark = self.watch.cpu_mark();
            driven.load = Some(self.load(command)?);
            driven.cpu = self.watch.cpu_since(mark);
        }
        if self.has_died(driven) {
            return Ok(());
        }
        driven.after_load = self.memory();
        if let Some(time) = self.service.settle {
            if !self.rest(time, driven)? {
                return Ok(());
            }
            driven.after_settle = self.memory();
        }
        Ok(())
    }

    /// Notes the end of a server that should not have ended.
    fn has_died(&self, driven: &mut Driven) -> bool {
        driven.ended = self.end.try_recv().ok();
        if let Some(ended) = &driven.ended {
            let (code, signal) = super::code_and_signal(ended.status);
            driven.failure = Some(Outcome::Died { code, signal });
        }
        driven.ended.is_some()
    }

    fn wait_until_ready(&self, driven: &mut Driven) -> Result<bool, Error> {
        let Some(ready) = &self.service.ready else { return self.rest(BLIND_WAIT, driven) };
        let until = over(self.service.ready_limit);
        loop {
            let is_ready = match ready {
                Ready::Tcp(addresses) => accepting(addresses).is_some(),
                Ready::Line(_) => self.outputs.iter().any(|output| output.has_seen()),
                Ready::Command(command) => {
                    let tried = self.shell(command, TRY_LIMIT)?;
                    tried.outcome == Outcome::Exited(0)
                }
            };
            if is_ready {
                return Ok(true);
            }
            if Instant::now() > until || !self.rest(TICK, driven)? {
                return Ok(false);
            }
        }
    }

    /// Waits; no if the server ended meanwhile.
    fn rest(&self, time: Duration, driven: &mut Driven) -> Result<bool, Error> {
        let until = over(time);
        loop {
            self.limits.check_interrupt()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            match self.end.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(ended) => {
                    let (code, signal) = super::code_and_signal(ended.status);
                    driven.failure = Some(Outcome::Died { code, signal });
                    driven.ended = Some(ended);
                    return Ok(false);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    fn load(&self, command: &str) -> Result<LoadSample, Error> {
        self.shell(command, self.limits.timeout.unwrap_or(Duration::MAX))
    }

    /// Runs a shell command to its end or to a limit.
    fn shell(&self, command: &str, limit: Duration) -> Result<LoadSample, Error> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(prepare) = self.prepare {
            prepare(&mut shell);
        }
        let started = self.orphan_reaper.start_driver(shell);
        let mut started = started.map_err(|reason| not_started("/bin/sh".to_owned(), reason))?;
        let Some(stdout) = started.stdout.take() else {
            return Err(Error::System {
                what: "read what a command writes",
                reason: std::io::ErrorKind::BrokenPipe.into(),
            });
        };
        let output = Reader::new(stdout, None);
        let ended = self.limits.wait(&started, limit);
        let wall = started.at.elapsed();
        sys::kill_group(started.pid, Signal::KILL);
        if !matches!(ended, Ok(Some(_))) {
            let _ = started.end.recv();
        }
        self.orphan_reaper.driver_ended(started.pid);
        let (outcome, wall) = match ended? {
            Some(ended) => (super::outcome(ended.status), ended.wall),
            None => (Outcome::TimedOut, wall),
        };
        let stdout = output.finish(Duration::from_secs(2));
        Ok(LoadSample { outcome, wall_ns: wall.as_nanos() as u64, stdout })
    }

    /// Of all processes; `None` if it cannot be read.
    fn memory(&self) -> Option<Memory> {
        let family = self.watch.family();
        let parts: Vec<Memory> = family
            .iter()
            .filter_map(|pid| Some(super::memory(&Resident::of(*pid)?, family.len() > 1)))
            .collect();
        parts.into_iter().reduce(|a, b| Memory {
            rss_bytes: a.rss_bytes + b.rss_bytes,
            lazily_freed_bytes: a.lazily_freed_bytes.zip(b.lazily_freed_bytes).map(|(a, b)| a + b),
        })
    }
}

/// The first of some addresses at which something accepts connections.
fn accepting(addresses: &[SocketAddr]) -> Option<&SocketAddr> {
    let accepts =
        |address: &&SocketAddr| TcpStream::connect_timeout(address, Duration::from_millis(200)).is_ok();
    addresses.iter().find(accepts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A listener at the same port of the other address is another server.
    #[test]
    fn a_port_of_one_address_is_not_that_of_another() {
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            eprintln!("SKIPPED: there is no IPv6 here");
            return;
        };
        let port = listener.local_addr().expect("it has one").port();
        let ready = |text: String| match text.parse() {
            Ok(Ready::Tcp(addresses)) => accepting(&addresses).is_some(),
            other => panic!("{text}: {other:?}"),
        };
        assert!(
            ready(format!("tcp:[::1]:{port}"))
                && ready(format!("tcp:localhost:{port}"))
                && ready(format!("tcp:{port}"))
        );
        drop(listener);
        let v4 = TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
        assert!(!ready(format!("tcp:[::1]:{port}")) && ready(format!("tcp:127.0.0.1:{port}")));
        drop(v4);
    }
}
