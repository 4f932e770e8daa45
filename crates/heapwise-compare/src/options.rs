//! What is to be run, and how.

use crate::Unavailable;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// What it reads from standard input, anew each time; nothing if it is `None`.
    pub stdin: Option<PathBuf>,
    /// How to treat it if it is a server, which does not end by itself.
    pub service: Option<Service>,
    /// Called with each command before it starts, those that drive a server among them: what is to be done to it besides.
    pub prepare: Option<fn(&mut Command)>,
}

/// How a server is driven.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// By what it is seen to be ready. Without, it is taken to be so after a second.
    pub ready: Option<Ready>,
    /// How long that may take.
    pub ready_limit: Duration,
    /// A shell command that gives it something to do. Without, it is only looked at.
    pub load: Option<String>,
    /// How long it is left alone after the load before its memory is looked at again.
    pub settle: Option<Duration>,
    /// How long it may take to end after `SIGTERM`.
    pub stop_limit: Duration,
}

/// By what a server is seen to be ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Something accepts connections at this port of this machine.
    Port(u16),
    /// It has written a line that contains this, to standard output or standard error.
    Line(String),
    /// This shell command succeeds.
    Command(String),
}

impl std::str::FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tcp", port)) => match port.rsplit(':').next().and_then(|port| port.parse().ok()) {
                Some(port) if port > 0 => Ok(Self::Port(port)),
                _ => Err(format!("{text}: expected tcp:PORT with a port between 1 and 65535")),
            },
            Some(("line", "")) => Err(format!("{text}: expected line:TEXT with some text")),
            Some(("line", line)) => Ok(Self::Line(line.to_owned())),
            _ if text.trim().is_empty() => Err("expected tcp:PORT, line:TEXT or a command".to_owned()),
            _ => Ok(Self::Command(text.to_owned())),
        }
    }
}

/// How it is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds that count, beside the first one, which does not. `None` for five, or fewer if they would take very long.
    pub runs: Option<u32>,
    /// How long a run may take. `None` for ten times what the baseline took in the first round, and a minute.
    pub timeout: Option<Duration>,
    /// By which the order of each round is chosen.
    pub seed: u64,
    /// Allocators that were asked for and cannot take part, to be told with the rest.
    pub unavailable: Vec<Unavailable>,
    /// Says of a program file why no other allocator can be put into it, if so. Asked about what the program turned out to be:
    /// the command may only lead to it.
    pub refuse: Option<fn(&Path) -> Option<String>>,
    /// Set it to end: what was measured so far is then the result.
    pub interrupted: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            runs: None,
            timeout: None,
            seed: 1,
            unavailable: Vec::new(),
            refuse: None,
            interrupted: Arc::default(),
        }
    }
}

/// Where the work is.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done now: `jemalloc, round 2 of 5`.
    pub what: String,
    /// Runs that are done.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
    /// How much longer it takes, as far as it can be told: from the second round on.
    pub left: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_a_port_a_line_or_a_command() {
        assert_eq!("tcp:6379".parse(), Ok(Ready::Port(6379)));
        assert_eq!("line:listening on".parse(), Ok(Ready::Line("listening on".into())));
        assert_eq!("redis-cli ping".parse(), Ok(Ready::Command("redis-cli ping".into())));
        for wrong in ["tcp:", "tcp:0", "tcp:99999", "tcp:http", "line:", " "] {
            assert!(wrong.parse::<Ready>().is_err(), "{wrong}");
        }
    }
}
