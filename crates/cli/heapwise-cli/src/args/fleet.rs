//! `heapwise query` and `heapwise fleet` as they are typed: another program has their words.

use clap::Args;
use std::ffi::OsString;

pub(super) const QUERY: &str = "\
Examples:
  heapwise query 'select place, allocated_bytes from sites order by 2 desc limit 5' run.hw
  heapwise query 'select host, max(peak_rss_bytes) from recordings group by host' fleet/
  heapwise query --help

heapwise-fleet does it, a program of its own.";

pub(super) const FLEET: &str = "\
Examples:
  heapwise fleet ingest recordings/ -o fleet/ --release 4.1    add recordings to tables
  heapwise fleet compact fleet/                                put small files together
  heapwise fleet ask                                           list the usual questions
  heapwise fleet ask growth fleet/ --service checkout          ask one
  heapwise fleet serve fleet/                                  look around in a browser
  heapwise fleet --help

heapwise-fleet does it, a program of its own.";

/// Arguments of `query` and `fleet`.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// What heapwise-fleet is to do.
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
