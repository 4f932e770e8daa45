//! `heapwise allocators` as it is typed.

use super::destination::Destination;
use clap::{Args, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise allocators                               what there is, and the settings of each
  heapwise allocators jemalloc,mimalloc:purge_delay=0
                                                    check that a program gets these
  heapwise allocators /usr/lib/libany.so:env.ANY_CONF=quick

A list has commas, settings have colons. Exit code 3: one of them cannot be used.";

/// Arguments of `allocators`.
#[derive(Debug, Args)]
pub(crate) struct AllocatorsArgs {
    /// Candidates, separated by commas: see whether a program gets them, with their settings.
    #[arg(value_name = "CANDIDATES")]
    pub(crate) candidates: Option<String>,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = PlainFormat::Text)]
    pub(crate) format: PlainFormat,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
}

/// Formats of a plain list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlainFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.allocators/1.
    Json,
}
