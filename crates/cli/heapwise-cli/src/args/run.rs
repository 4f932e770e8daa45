//! `heapwise run` as it is typed.

use super::RecordingArgs;
use clap::Args;
use std::ffi::OsString;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise run sqlite3 my.db 'select count(*) from t'
  heapwise run --no-follow ./supervisor            only the first process, not its children
  heapwise run --delay 10s --duration 1m ./server  one minute, after a warm-up
  heapwise run --watch ./server                    a live view meanwhile
  heapwise run --wait ./daemon                     go on until every process that it left behind has ended

Ctrl-C goes to the program, and the diagnosis still comes; a second Ctrl-C stops at once and keeps the recording.";

/// The two recorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RecorderChoice {
    /// The program's own library: Rust's allocations, whatever the allocator is, also in static programs.
    Library,
    /// The preload library: all calls of malloc, also those of C libraries.
    Preload,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What can be said of any recording.
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Show it live in the terminal; what the program writes there goes to a file beside the recording.
    #[cfg(target_os = "linux")]
    #[arg(long, conflicts_with = "several")]
    pub(crate) watch: bool,
    /// Go on until every recorded process has ended, not only the first one, or a signal ends the waiting.
    #[arg(long)]
    pub(crate) wait: bool,
    /// End the program when heapwise ends, however that comes.
    #[arg(long, hide = true)]
    pub(crate) end_together: bool,
    /// Which recorder records a program that has wrapped its allocator in heapwise::Allocator.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = RecorderChoice::Library)]
    pub(crate) recorder: RecorderChoice,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
