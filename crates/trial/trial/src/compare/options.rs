//! What is to be run, and how.

use crate::compare::Unavailable;
use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
    /// How long it is idle after the load before its memory is measured again.
    pub settle: Option<Duration>,
    /// How long it may take to end after `SIGTERM`.
    pub stop_limit: Duration,
}

/// By what a server is seen to be ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Something accepts connections at one of these addresses.
    Tcp(Vec<SocketAddr>),
    /// It has written a line that contains this, to standard output or standard error.
    Line(String),
    /// This shell command succeeds.
    Command(String),
}

impl std::str::FromStr for Ready {
    type Err = String;

    /// What begins with `tcp:` or `line:` is never a command, whatever follows: a slip in it must not run something.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.trim_start().split_once(':').unwrap_or_default();
        if kind.eq_ignore_ascii_case("tcp") {
            return addresses(rest).map(Self::Tcp).ok_or_else(|| {
                format!(
                    "{text}: expected tcp:PORT, tcp:localhost:PORT, tcp:127.0.0.1:PORT or tcp:[::1]:PORT with a port between \
                     1 and 65535"
                )
            });
        }
        if kind.eq_ignore_ascii_case("line") {
            return match rest.trim() {
                "" => Err(format!("{text}: expected line:TEXT with some text")),
                _ => Ok(Self::Line(rest.to_owned())),
            };
        }
        match text.trim() {
            "" => Err("expected tcp:PORT, line:TEXT or a command".to_owned()),
            _ => Ok(Self::Command(text.to_owned())),
        }
    }
}

/// Where to connect to for `PORT`, `localhost:PORT`, `ADDRESS:PORT` and `[ADDRESS]:PORT`. Names are not looked up: the server
/// that is waited for runs on this machine.
fn addresses(text: &str) -> Option<Vec<SocketAddr>> {
    let all: Vec<SocketAddr> = match text.strip_prefix("localhost:").unwrap_or(text).parse::<u16>() {
        Ok(port) => vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()],
        Err(_) => vec![text.parse::<SocketAddr>().ok()?],
    };
    all.iter().all(|address| address.port() > 0).then_some(all)
}

/// Says in a sentence which of some libraries keep their own allocator, if any do.
pub type OutOfReach = fn(&[PathBuf]) -> Option<String>;

/// How it is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds that count, after the first one, which does not. `None` for five, or fewer if they would take very long.
    pub runs: Option<u32>,
    /// How long a run may take. `None` for ten times what the baseline took in the first round, and a minute.
    pub timeout: Option<Duration>,
    /// By which the order of each round is chosen.
    pub seed: u64,
    /// Allocators that were requested and cannot take part, to be reported with the rest.
    pub unavailable: Vec<Unavailable>,
    /// Returns why no other allocator can be put into a program file, if so. Called with the file that really runs: the command
    /// may only lead to it.
    pub refuse: Option<fn(&Path) -> Option<String>>,
    /// Called with the libraries that the program has loaded, in whose place no candidate comes if they have an allocator inside.
    pub out_of_reach: Option<OutOfReach>,
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
            out_of_reach: None,
            interrupted: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_a_port_a_line_or_a_command() {
        let here =
            |port: u16| Ready::Tcp(vec![([127, 0, 0, 1], port).into(), (Ipv6Addr::LOCALHOST, port).into()]);
        assert_eq!("tcp:6379".parse(), Ok(here(6379)));
        assert_eq!("tcp:localhost:80".parse(), Ok(here(80)));
        assert_eq!("TCP:80".parse(), Ok(here(80)));
        assert_eq!("tcp:127.0.0.2:80".parse(), Ok(Ready::Tcp(vec![([127, 0, 0, 2], 80).into()])));
        assert_eq!("tcp:[::1]:80".parse(), Ok(Ready::Tcp(vec![(Ipv6Addr::LOCALHOST, 80).into()])));
        assert_eq!("line:listening on".parse(), Ok(Ready::Line("listening on".into())));
        assert_eq!("redis-cli ping".parse(), Ok(Ready::Command("redis-cli ping".into())));
        assert_eq!("echo tcp:80".parse(), Ok(Ready::Command("echo tcp:80".into())));
    }

    #[test]
    fn what_begins_like_a_port_or_a_line_is_never_a_command() {
        for wrong in [
            "tcp:",
            "tcp:0",
            "tcp:99999",
            "tcp:http",
            "tcp:::1:80",
            "tcp:[::1]",
            "tcp:[::1]:0",
            "tcp:[::1:80",
            "tcp:::1",
            "tcp:example.org:80",
            "tcp:80; touch x",
            "tcp:localhost",
            "tcp: 80",
            "tcp:+80:1",
            " tcp:x",
            "TCP:x",
            "line:",
            "line: ",
            "Line:",
            " ",
        ] {
            assert!(wrong.parse::<Ready>().is_err(), "{wrong}");
        }
    }
}
