//! Where a recording goes besides its file.

use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// Arguments of `run` and `attach`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("elsewhere").multiple(true))]
pub(crate) struct DeliveryArgs {
    /// Send the profile of each file to a server: Pyroscope's, or if URL ends with /v1development/profiles one that takes OpenTelemetry's
    /// profiles, which are experimental. Needs --sample; without --rotate a file lasts 15s.
    #[arg(
        long,
        value_name = "URL",
        requires = "sample",
        conflicts_with = "max_size",
        groups = ["several", "elsewhere"],
        help_heading = HEADING
    )]
    pub(crate) push: Option<String>,
    /// Send the headers in a file, such as `Authorization: Bearer …`, a line each; it is read each time.
    #[arg(long, value_name = "FILE", requires = "push", help_heading = HEADING)]
    pub(crate) push_headers: Option<PathBuf>,
    /// Say more about what is pushed: any number of these.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label, requires = "push", help_heading = HEADING)]
    pub(crate) label: Vec<(String, String)>,
    /// Add each file to the tables in a folder, as `heapwise export --to parquet` does.
    #[arg(long, value_name = "FOLDER", group = "elsewhere", help_heading = HEADING)]
    pub(crate) fleet: Option<PathBuf>,
    /// What recordings are grouped by there [default: the program's name].
    #[arg(long, value_name = "NAME", requires = "elsewhere", help_heading = HEADING)]
    pub(crate) service: Option<String>,
    /// Which release of the service is recorded.
    #[arg(long, value_name = "RELEASE", requires = "elsewhere", help_heading = HEADING)]
    pub(crate) release: Option<String>,
}

const HEADING: &str = "Where it goes besides the file";

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("a label is written as NAME=VALUE".to_owned()),
    }
}
