//! `cargo heapwise flamegraph` as it is typed.

use super::{Build, Kind, RecordingOptions};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use heapwise_report::export::Measure;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo heapwise flamegraph                            the report in a browser, at its flame graph
  cargo heapwise flamegraph --bin server --duration 1m -- --port 8080
  cargo heapwise flamegraph --measure peak_bytes -o peak.svg    a picture, drawn by inferno-flamegraph
  cargo heapwise flamegraph --measure allocations -o x.folded   stacks for other programs

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
    /// Replace FILE if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// What the widths mean in .svg and .folded files [default: allocated_bytes].
    #[arg(long, value_name = "MEASURE", value_parser = measures())]
    pub(crate) measure: Option<Measure>,
    /// Do not open the graph; it is opened only in a terminal anyway.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Arguments of the program, behind `--`.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Those of `heapwise export`.
fn measures() -> impl TypedValueParser<Value = Measure> {
    let named = Measure::OF_SITES.into_iter().map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(named).try_map(|name| Measure::of_name(&name).ok_or("no such measure"))
}
