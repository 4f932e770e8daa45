//! `heapwise report` as it is typed, and how a diagnosis looks.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
}

/// How a diagnosis looks.
#[derive(Clone, Debug, Args)]
pub(crate) struct Look {
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Show the whole stack of each site.
    #[arg(long)]
    pub(crate) stacks: bool,
    /// How many sites each table shows.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Leave source lines out.
    #[arg(long)]
    pub(crate) no_source: bool,
    /// Show source lines of files below DIR, too; else only of those below the current folder, and of toolchains and packages.
    #[arg(long, value_name = "DIR", conflicts_with = "no_source")]
    pub(crate) source_root: Vec<PathBuf>,
}

/// Formats of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// The schema heapwise.report/1, heapwise.compare/1, heapwise.replay/1 or heapwise.tune/1.
    Json,
    /// One file for a browser, to be opened from disk.
    Html,
    /// For a comment on a pull request.
    Markdown,
}
