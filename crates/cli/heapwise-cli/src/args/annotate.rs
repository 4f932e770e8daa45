//! `heapwise annotate` as it is typed.

use super::destination::Destination;
use super::diff::DiffFormat;
use clap::Args;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise annotate run.hw                       the files that allocate most
  heapwise annotate run.hw src/parse.rs          its lines that allocate, and those around them
  heapwise annotate run.hw src/parse.rs --full   the whole file
  heapwise annotate run.hw parse.rs -f json      for an editor: every line that occurs in a stack

Own: allocations whose nearest frame of your own code is the line. With callees: allocations with the line anywhere in \
their stack, each once. A source file that is newer than the program is not shown: its lines may have moved.";

/// Arguments of `annotate`.
#[derive(Debug, Args)]
pub(crate) struct AnnotateArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// A source file, or the end of its path; without one, the files are listed.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// For people, for machines or for a pull request.
    #[arg(short, long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Show all files, or all lines of the file; on a terminal through a pager (PAGER) if it does not fit.
    #[arg(long)]
    pub(crate) full: bool,
    /// Leave source lines out.
    #[arg(long)]
    pub(crate) no_source: bool,
    /// Show source lines of files below DIR, too; else only of those below the current folder, and of toolchains and packages.
    #[arg(long, value_name = "DIR", conflicts_with = "no_source")]
    pub(crate) source_root: Vec<PathBuf>,
}
