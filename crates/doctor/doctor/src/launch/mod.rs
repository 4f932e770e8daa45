//! Starts a program on Windows without the debug heap, or as a debugger would start it.
//!
//! The debug heap belongs to processes that a debugger creates, so a parent process can show both the problem and the fix:
//! [`Condition::Debugged`] is a debugger that only waits, and [`Condition::DebuggedWithVariable`] the same with the variable that
//! Windows checks. [`Condition::Plain`] is what a shell does.
//!
//! Wine has a debug heap, but never turns it on for a process by itself. There the debugger applies Windows' rule, lets the
//! process go as soon as it has its heap, and reports that in [`Outcome::emulated_by`]: this shows the way from the variable to
//! the heap's flags, and not what it costs on Windows.
//!
//! Other systems have no debug heap to start a program without, and [`Launch::run`] returns [`ErrorKind::NotWindows`].

mod error;
mod variable;
#[cfg(windows)]
mod windows;

pub use error::{Error, ErrorKind};

use std::ffi::OsString;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As from a shell.
    Plain,
    /// By a debugger, in an environment where `_NO_DEBUG_HEAP` is whatever it is.
    Debugged,
    /// By a debugger, with `_NO_DEBUG_HEAP=1` unless it has a value that works.
    DebuggedWithVariable,
}

/// A program that is to be started.
#[derive(Clone, Debug)]
#[cfg_attr(not(windows), expect(dead_code, reason = "read on Windows"))]
pub struct Launch {
    command: Vec<OsString>,
    condition: Condition,
    with_variable: bool,
    captures: bool,
}

impl Launch {
    /// The program and its arguments, the first of which is looked for in `PATH`.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>, condition: Condition) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        let with_variable = condition == Condition::DebuggedWithVariable;
        Self { command, condition, with_variable, captures: false }
    }

    /// A program as from a shell, with `_NO_DEBUG_HEAP=1` unless it has a value that works: if it is a debugger, its children
    /// inherit that.
    pub fn without_debug_heap(command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { with_variable: true, ..Self::new(command, Condition::Plain) }
    }

    /// Keeps what the program writes, instead of letting it through.
    #[must_use]
    pub fn capture(mut self) -> Self {
        self.captures = true;
        self
    }

    /// Starts the program and waits for its end.
    ///
    /// # Errors
    ///
    /// If there is no such program, if it cannot be executed or waited for, or if this is not Windows.
    #[cfg(windows)]
    pub fn run(&self) -> Result<Outcome, Error> {
        windows::run(self)
    }

    /// Reports that this is not Windows.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(windows))]
    pub fn run(&self) -> Result<Outcome, Error> {
        Err(error::Repr::NotWindows.into())
    }
}

/// Runs a command that is prepared already, under a condition, and keeps what it writes. For an experiment whose command has a
/// changed environment; one that was cleared as a whole is not recognised as such.
///
/// # Errors
///
/// As those of [`Launch::run`].
#[cfg(windows)]
pub fn output_of(command: &mut std::process::Command, condition: Condition) -> Result<Outcome, Error> {
    let with_variable = condition == Condition::DebuggedWithVariable;
    windows::start(command, condition != Condition::Plain, with_variable, true)
}

/// The result of running a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code; that of a crash is the code of the exception, such as 0xC0000005.
    pub code: u32,
    /// What it wrote to standard output, if that was to be kept.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, if that was to be kept.
    pub stderr: Vec<u8>,
    /// The version of Wine, if the debug heap was turned on by us because Wine does not.
    pub emulated_by: Option<String>,
}
