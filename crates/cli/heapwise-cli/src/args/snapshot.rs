//! `heapwise snapshot` as it is typed.

use super::destination::Destination;
use super::report::Look;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise snapshot 4711                    a service that `heapwise run --sample --rotate 10m` or `attach` records
  heapwise snapshot 4711 --open             in the browser
  heapwise snapshot 4711 -f json -o a.json

The recording goes on. With --rotate the file at hand ends, and the report is on that; else it is on all that was recorded so far.";

/// Arguments of `snapshot`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// The process that is recorded, or the heapwise that records it.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: u32,
    /// Where the report goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
}
