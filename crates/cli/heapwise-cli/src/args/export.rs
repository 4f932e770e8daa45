//! `heapwise export` as it is typed.

use super::destination::Destination;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use heapwise_report::export::{FORMATS, Format, Measure, Moment};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise export run.hw --to pprof -o run.pb.gz && go tool pprof -http=: run.pb.gz
  heapwise export run.hw --to pprof --at exit -o leaks.pb.gz    in use: what was live at the exit
  heapwise export run.hw --to otlp -o run.otlp           OpenTelemetry's profiles, as a collector takes them
  heapwise export run.hw --to folded --measure allocations | inferno-flamegraph > run.svg
  heapwise export run.hw --to dhat -o run.dhat.json      load it in valgrind's dh_view.html
  heapwise export run.hw --to firefox -o run.json        load it at https://profiler.firefox.com
  heapwise export run.hw --to parquet -o fleet/          add it to tables of many recordings, for any SQL engine
  heapwise export run.hw --to parquet -o fleet/ --replay    with what other allocators would need

The sums over an export are the totals of `heapwise report`.";

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// The format.
    #[arg(long, value_name = "FORMAT", value_parser = targets())]
    pub(crate) to: Target,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Which number to write, for formats with one number per stack (folded) [default: allocated_bytes].
    #[arg(long, value_name = "MEASURE", value_parser = measures())]
    pub(crate) measure: Option<Measure>,
    /// Which moment the memory in use is that of, for formats with one such moment (pprof) [default: peak].
    #[arg(long, value_name = "MOMENT", value_parser = moments())]
    pub(crate) at: Option<Moment>,
    /// What recordings are grouped by, for parquet and otlp [default: the program's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Which release of the service was recorded, for parquet and otlp.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<String>,
    /// Replay it with other allocators as well, for parquet: what they would have needed.
    #[arg(long)]
    pub(crate) replay: bool,
}

/// What an export is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// One file.
    File(&'static dyn Format),
    /// A folder of tables.
    Parquet,
}

impl Target {
    const PARQUET: &str = "parquet";

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File(format) => format.name(),
            Self::Parquet => Self::PARQUET,
        }
    }
}

/// The list of formats as clap wants it.
fn targets() -> impl TypedValueParser<Value = Target> {
    let files = FORMATS.iter().map(|f| PossibleValue::new(f.name()).help(f.about()));
    let tables = PossibleValue::new(Target::PARQUET)
        .help("tables of many recordings in a folder, for DuckDB, pandas, Spark and others");
    PossibleValuesParser::new(files.chain([tables])).try_map(|name| match name.as_str() {
        Target::PARQUET => Ok(Target::Parquet),
        name => heapwise_report::export::format(name).map(Target::File).ok_or("no such format"),
    })
}

fn measures() -> impl TypedValueParser<Value = Measure> {
    let named = Measure::OF_SITES.into_iter().map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(named).try_map(|name| Measure::of_name(&name).ok_or("no such measure"))
}

fn moments() -> impl TypedValueParser<Value = Moment> {
    let named = Moment::ALL.iter().map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(named).try_map(|name| Moment::of_name(&name).ok_or("no such moment"))
}
