//! `cargo heapwise flamegraph` as it is typed.

use super::{Build, Kind, RecordingOptions};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo heapwise flamegraph                            the report in a browser, at its flame graph
  cargo heapwise flamegraph --bin server --duration 1m -- --port 8080
  cargo heapwise flamegraph --measure peak -o peak.svg     a picture, drawn by inferno-flamegraph
  cargo heapwise flamegraph --measure count -o run.folded  stacks for other programs

An SVG needs the program inferno-flamegraph: cargo install inferno. In the report, the measure is chosen in the page.";

/// Arguments of `flamegraph`.
#[derive(Debug, Args)]
pub(crate) struct FlamegraphArgs {
    /// Which program.
    #[command(flatten)]
    pub(crate) kind: Kind,
    /// What to build, and how.
    #[command(flatten)]
    pub(crate) build: Build,
    /// How it is recorded.
    #[command(flatten)]
    pub(crate) recording: RecordingOptions,
    /// Write the graph to FILE, whose name ends in .svg, .html or .folded [default: an HTML report beside the recording].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the widths mean in .svg and .folded files [default: bytes].
    #[arg(long, value_enum, value_name = "MEASURE")]
    pub(crate) measure: Option<Measure>,
    /// Do not open the graph; it is opened only in a terminal anyway.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Arguments of the program, behind `--`.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

/// What the widths in a flame graph mean: measures of `heapwise export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// Requested bytes of allocations and resizes.
    Bytes,
    /// Allocations.
    #[value(alias = "allocations")]
    Count,
    /// Bytes that were live at the peak.
    Peak,
}

impl Measure {
    /// Its name for `heapwise export`, and what it is called in a picture.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Bytes => ("bytes", "bytes"),
            Self::Count => ("allocations", "allocations"),
            Self::Peak => ("peak", "bytes at the peak"),
        }
    }
}
