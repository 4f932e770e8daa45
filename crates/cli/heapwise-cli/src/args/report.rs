//! `heapwise report` as it is typed, and how a diagnosis looks.

use super::destination::{Destination, Form};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
}

/// How a diagnosis looks.
#[derive(Clone, Debug, Args)]
pub(crate) struct Look {
    /// Its form.
    #[command(flatten)]
    pub(crate) form: Form,
    /// Show all of it, not only what matters most; on a terminal through a pager (PAGER) if it does not fit.
    #[arg(long)]
    pub(crate) full: bool,
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
