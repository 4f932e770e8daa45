//! `heapwise compare` as it is typed, and how a program is driven.

use super::destination::{Destination, Form};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise compare ./my-program --its-option      every allocator that is there, five rounds
  heapwise compare --with jemalloc,mimalloc:purge_delay=0 --runs 10 ./my-program
  heapwise compare --with glibc,path/to/libany.so --stdin input.json ./my-program
  heapwise compare --ready tcp:6379 --load 'redis-benchmark -q' --settle 12s redis-server
  heapwise compare --format markdown -o comment.md ./my-program
  heapwise compare --format html -o compare.html ./my-program

The first candidate is always `default`, the baseline: the program without any change. It runs twice in each round, to see \
how much is noise. See `heapwise allocators` for names and settings.

Exit codes: 0 all did the same, 3 a candidate crashed, hung, wrote something else or could not be used, 1 the baseline does not \
work, 2 usage or a program that no allocator can be put into, 126 it cannot be executed, 127 command not found, 130 \
interrupted (what was measured is reported).";

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The candidates that are compared with the baseline, separated by commas, with settings after colons [default: all that are there].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many rounds count, beside the first one [default: 5, or down to 3 if they would take more than ten minutes].
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How the program is driven.
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
    /// Its form.
    #[command(flatten)]
    pub(crate) form: Form,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How a program is driven that is run again and again.
#[derive(Clone, Debug, Args)]
pub(crate) struct DriveArgs {
    /// Treat the program as a server that is ready when this port accepts (tcp:PORT), it has written a line with this text
    /// (line:TEXT), or this shell command succeeds.
    #[arg(long, value_name = "tcp:PORT|line:TEXT|CMD")]
    pub(crate) ready: Option<String>,
    /// How long it may take to become ready.
    #[arg(long, value_name = "TIME", value_parser = super::time, default_value = "30s")]
    pub(crate) ready_timeout: std::time::Duration,
    /// A shell command that gives the server something to do; its time is the result.
    #[arg(long, value_name = "CMD")]
    pub(crate) load: Option<String>,
    /// Measure the server's memory again when it has been idle for so long after the load.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) settle: Option<std::time::Duration>,
    /// End a run, or a load, that takes longer [default: ten times the first one, and a minute].
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// What the program reads from standard input, in each run [default: nothing].
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
}
