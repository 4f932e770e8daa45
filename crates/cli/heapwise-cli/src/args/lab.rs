//! `heapwise lab` as it is typed.

use super::destination::Destination;
use super::diff::DiffFormat;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise lab                                      which experiments there are
  heapwise lab debug-heap --quick                   does it work here? numbers are indicative only
  heapwise lab debug-heap                           all of it: ten to twenty minutes
  heapwise lab debug-heap --workload hash-map       a part of it; may be repeated
  heapwise lab debug-heap --format markdown -o debug-heap.md

Leave the machine idle meanwhile, or use more rounds (--runs).";

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// The experiment.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Small sizes and few rounds: to see that it works, not how much it is.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The largest size, in entries of a map [default: 1000000, with --quick 20000].
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u64>,
    /// How many rounds count [default: 5, with --quick 2].
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Only this workload; may be repeated, or separated by commas [default: all].
    // Looked up later, since each experiment has its own.
    #[arg(long = "workload", value_name = "NAME", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Only this condition, and the plain one; may be repeated, or separated by commas [default: all].
    #[arg(long = "condition", value_name = "NAME", value_delimiter = ',')]
    pub(crate) conditions: Vec<String>,
    /// For people, for machines or for a document.
    #[arg(short, long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
}
