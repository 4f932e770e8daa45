//! `heapwise lab` as it is typed.

use super::destination::{Destination, Form};
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise lab                                      which experiments there are
  heapwise lab shootout                             one of them, under every allocator that is there
  heapwise lab shootout --with jemalloc,mimalloc2   under these, beside the system's
  heapwise lab --all --open                         all of them, as one page in the browser: 10 to 15 minutes
  heapwise lab decay --quick                        does it work here? numbers are indicative only
  heapwise lab debug-heap --workload hash-map       a part of it; may be repeated
  heapwise lab debug-heap --format markdown -o debug-heap.md

Leave the machine idle meanwhile, or use more rounds (--runs).";

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// The experiment.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// All experiments, one after the other.
    #[arg(long, conflicts_with_all = ["name", "with", "size", "workloads", "conditions"])]
    pub(crate) all: bool,
    /// The allocators beside the system's, separated by commas, with settings after colons [default: the experiment's].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// Small sizes and few rounds: to see that it works, not how much it is.
    #[arg(long)]
    pub(crate) quick: bool,
    /// How much of the articles' numbers is done [default: 1, with --quick 0.02].
    #[arg(long, value_name = "X")]
    pub(crate) scale: Option<f64>,
    /// The largest size of debug-heap, in entries of a map [default: 1000000, with --all or --quick 20000].
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u64>,
    /// How many rounds count [default: the experiment's, 3 or 5].
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Only this workload; may be repeated, or separated by commas [default: all].
    // Looked up later, since each experiment has its own.
    #[arg(long = "workload", value_name = "NAME", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Only this condition, and the plain one; may be repeated, or separated by commas [default: all].
    #[arg(long = "condition", value_name = "NAME", value_delimiter = ',')]
    pub(crate) conditions: Vec<String>,
    /// Its form.
    #[command(flatten)]
    pub(crate) form: Form,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
}
