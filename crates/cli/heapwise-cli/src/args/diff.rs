//! `heapwise diff` as it is typed.

use super::destination::Destination;
use clap::{Args, ValueEnum};
use heapwise_diagnosis::compare::{Measure, Threshold};
use std::path::PathBuf;

pub(super) fn examples() -> String {
    let measures: Vec<&str> = Threshold::measures().into_iter().map(Measure::name).collect();
    let measures = measures.join(", ");
    format!(
        "\
Examples:
  heapwise diff base.hw new.hw
  heapwise diff base.hw new.hw --fail-on allocations+5%,peak_bytes+1MiB --format markdown -o comment.md
  heapwise diff base.hw new.hw --fail-on 'allocations>100000'

Thresholds: MEASURE+PERCENT% and MEASURE+AMOUNT bound the increase, 'MEASURE>AMOUNT' bounds the newer recording (in \
quotes: a shell takes > for itself). Measures: {measures}. Exit code 3 if one is exceeded."
    )
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The recording to compare with.
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The recording that is judged.
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// For people, for machines or for a pull request.
    #[arg(short, long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// How many places are shown as worse, and how many as better.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// End with exit code 3 if this is exceeded, such as allocations+5%; may be repeated, or separated by commas.
    // Parsed later, for an error in one line.
    #[arg(long, value_name = "EXPR", value_delimiter = ',')]
    pub(crate) fail_on: Vec<String>,
}

/// Formats of a comparison, of annotated files, and of what an experiment found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.diff/1, heapwise.annotate/1 or heapwise.lab/1.
    Json,
    /// For a comment on a pull request.
    Markdown,
}
