//! `heapwise doctor` as it is typed.

use super::destination::Destination;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise doctor                           this machine and this folder: variables, limits, editors' configuration
  heapwise doctor ./server --port 80     what the program would inherit; it is not started
  heapwise doctor --pid 4711                what a running process has
  heapwise doctor --format json             for machines
  heapwise doctor --fix                     set right what editors in this folder are configured to do

Exit codes: 0 nothing that slows the heap (notes do not count), 3 findings, 1 the process cannot be examined.";

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at a running process.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub(crate) pid: Option<u32>,
    /// Show the changes that would turn debug heaps off in the configuration of editors in this folder, ask, and make
    /// them; a backup stays beside each file.
    #[arg(long, conflicts_with_all = ["command", "pid", "format", "output", "force"])]
    pub(crate) fix: bool,
    /// Make the changes without asking.
    #[arg(long, requires = "fix")]
    pub(crate) yes: bool,
    /// For people, for machines or for a pull request.
    #[arg(short, long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// The program that would be started, and its arguments.
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Formats of a checkup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.doctor/1.
    Json,
    /// For a comment on a pull request.
    Markdown,
}
