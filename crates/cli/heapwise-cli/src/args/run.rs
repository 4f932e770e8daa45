//! `heapwise run` as it is typed.

use super::report::Look;
use bytesize::ByteSize;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise run sqlite3 my.db 'select count(*) from t'
  heapwise run --no-follow ./supervisor            only the first process, not its children
  heapwise run --delay 10s --duration 1m ./server  one minute, after a warm-up
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
    /// Write the recording to OUT [default: heapwise.<program>.<pid>.hw in the current folder].
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists, and the report.
    #[arg(long)]
    pub(crate) force: bool,
    /// Record only the first process, not those that it starts.
    #[arg(long)]
    pub(crate) no_follow: bool,
    /// Go on until every recorded process has ended, not only the first one, or a signal ends the waiting.
    #[arg(long)]
    pub(crate) wait: bool,
    /// End the program when heapwise ends, however that comes.
    #[arg(long, hide = true)]
    pub(crate) end_together: bool,
    /// Begin recording after this time, such as 500ms, 10s or 2m.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) delay: Option<std::time::Duration>,
    /// Stop recording after this time; the program goes on.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) duration: Option<std::time::Duration>,
    /// Stop recording when the file has this size, such as 100MiB; the program goes on.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<ByteSize>,
    /// Account for all resident memory this often, such as 10s; SIGUSR2 to heapwise does it once.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) snapshot_every: Option<std::time::Duration>,
    /// Which recorder records a program that has wrapped its allocator in heapwise::Allocator.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = RecorderChoice::Library)]
    pub(crate) recorder: RecorderChoice,
    /// No diagnosis; the recording is complete all the same, with names.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Write the diagnosis to a file instead of standard error; with --format html, instead of a file beside the
    /// recording.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_file: Option<PathBuf>,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
    /// Compare every N-th stack with a full unwind.
    #[arg(long, value_name = "N", env = "HEAPWISE_VERIFY", default_value_t = 0, hide = true)]
    pub(crate) verify: u32,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
