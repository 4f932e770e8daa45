//! How a run ended.

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// It did not end in time, and was killed.
    TimedOut,
    /// A server did not become ready in time, or ended before.
    NotReady,
    /// A server ended while it was being driven, with this code or by this signal.
    Died {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// A server did not end after `SIGTERM`, and was killed. No fault: its numbers count.
    Stopped,
}

impl Outcome {
    /// In a word, for machines: `exited`, `killed`, `timed-out`, `not-ready`, `died`, `stopped`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Killed(_) => "killed",
            Self::TimedOut => "timed-out",
            Self::NotReady => "not-ready",
            Self::Died { .. } => "died",
            Self::Stopped => "stopped",
        }
    }

    /// In words: `exit code 1`, `killed by SIGSEGV`.
    pub fn words(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit code {code}"),
            Self::Killed(signal) => format!("killed by {}", signal_name(*signal)),
            Self::TimedOut => "did not end in time".to_owned(),
            Self::NotReady => "did not become ready".to_owned(),
            Self::Died { signal: Some(signal), .. } => {
                format!("killed by {} while it was driven", signal_name(*signal))
            }
            Self::Died { code, .. } => format!("exit code {} while it was driven", code.unwrap_or(0)),
            Self::Stopped => "did not end after SIGTERM".to_owned(),
        }
    }

    /// The exit code, if there is one.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(*code),
            Self::Died { code, .. } => *code,
            _ => None,
        }
    }

    /// The signal that ended it by itself, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Self::Killed(signal) => Some(*signal),
            Self::Died { signal, .. } => *signal,
            _ => None,
        }
    }

    /// Whether the run was the whole of what the program does.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Exited(_) | Self::Killed(_) | Self::Stopped)
    }
}

/// The name of a signal of Linux on x86-64 that ends programs.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}
