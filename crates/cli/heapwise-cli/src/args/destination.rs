//! Where a command writes its result, and in which form: the same options in every command.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where a result goes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Destination {
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// The form of a result that can be a page.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Form {
    /// For people, machines, a browser or a pull request.
    #[arg(short, long, value_enum, default_value_t = Format::Text, default_value_if("open", "true", "html"))]
    pub(crate) format: Format,
    /// Show the result in the browser, as HTML.
    #[arg(long)]
    pub(crate) open: bool,
}

/// Formats of a result that can be a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// The schema heapwise.report/1, heapwise.compare/1, heapwise.replay/1 or heapwise.tune/1.
    Json,
    /// One file for a browser, to be opened from disk.
    Html,
    /// For a comment on a pull request.
    Markdown,
}
