//! `cargo heapwise run` as it is typed.

use super::{Build, Kind, RecordingOptions};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo heapwise run                                   the package's only program, optimised, with line tables
  cargo heapwise run --bin server -- --port 8080
  cargo heapwise run --example parse --features simd -- input.json
  cargo heapwise run --format text --no-open           the diagnosis in the terminal
  cargo heapwise run --delay 10s --duration 1m --bin server

It ends with the program's own exit code, as `heapwise run` does.";

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Which program.
    #[command(flatten)]
    pub(crate) kind: Kind,
    /// What to build, and how.
    #[command(flatten)]
    pub(crate) build: Build,
    /// How it is recorded.
    #[command(flatten)]
    pub(crate) recording: RecordingOptions,
    /// Write the recording to FILE [default: <program>.<number>.hw in <target folder>/heapwise/recordings].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE, and the report beside it, if they exist.
    #[arg(long)]
    pub(crate) force: bool,
    /// How the diagnosis looks: html is a file beside the recording, the others go to standard error.
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Html)]
    pub(crate) format: ReportFormat,
    /// Write the diagnosis to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_file: Option<PathBuf>,
    /// Leave source lines out of the report.
    #[arg(long)]
    pub(crate) no_source: bool,
    /// Show source lines of files below DIR, too, besides those of the workspace, of toolchains and packages.
    #[arg(long, value_name = "DIR", conflicts_with = "no_source")]
    pub(crate) source_root: Vec<PathBuf>,
    /// Do not open the report; it is opened only in a terminal anyway.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Arguments of the program, behind `--`.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Formats of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.report/1.
    Json,
    /// One file for a browser.
    Html,
    /// For a comment on a pull request.
    Markdown,
}

impl ReportFormat {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Html => "html",
            Self::Markdown => "markdown",
        }
    }
}
