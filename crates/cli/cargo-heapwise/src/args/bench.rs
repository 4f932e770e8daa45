//! `cargo heapwise bench` as it is typed.

use super::{Build, Targets};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo heapwise bench                                      what each benchmark allocates
  cargo heapwise bench --save-baseline main                 keep that as the baseline main
  cargo heapwise bench --baseline main                      compare with it
  cargo heapwise bench --baseline main --fail-on allocated_bytes+5% --bench parse -- json
  cargo heapwise bench --baseline main --format markdown -o heap.md

A benchmark measures its heap with `heapwise::bench::measure(\"name\", || …)`, or with the trait of heapwise's feature criterion.
Thresholds: MEASURE+PERCENT% and MEASURE+AMOUNT bound the increase, 'MEASURE>AMOUNT' bounds the new mean. Measures: requests \
(allocations and reallocations), allocated_bytes, peak_bytes. Exit code 3 if a benchmark needs more than its iterations vary by, \
and more than the threshold allows.";

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Only benchmarks whose names contain this.
    #[arg(value_name = "BENCHNAME")]
    pub(crate) name: Option<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// What to build, and how.
    #[command(flatten)]
    pub(crate) build: Build,
    /// Keep what was measured under this name, once it was compared.
    #[arg(long, value_name = "NAME")]
    pub(crate) save_baseline: Option<String>,
    /// Compare with what was kept under this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// End with exit code 3 if this is exceeded, such as allocated_bytes+5%; may be repeated, or separated by commas
    /// [default: requests+0%,allocated_bytes+1%,peak_bytes+1%].
    // Parsed later, for an error in one line.
    #[arg(long, value_name = "EXPR", value_delimiter = ',', requires = "baseline")]
    pub(crate) fail_on: Vec<String>,
    /// How many iterations are measured, the first one not counted [default: what the benchmark says, or 10].
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<NonZeroU64>,
    /// For people, for machines or for a pull request.
    #[arg(short, long, value_enum, default_value_t = BenchFormat::Text)]
    pub(crate) format: BenchFormat,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Arguments of the benchmarks, behind `--`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

impl BenchArgs {
    /// Whether some benchmarks may have been left out.
    pub(crate) fn is_selective(&self) -> bool {
        self.name.is_some()
            || !self.arguments.is_empty()
            || !self.build.package.is_empty()
            || self.targets.is_selective()
    }
}

/// Formats of what benchmarks allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.bench-diff/1.
    Json,
    /// For a comment on a pull request.
    Markdown,
}
