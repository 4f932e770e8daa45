//! `heapwise tune` as it is typed.

use super::compare::DriveArgs;
use super::destination::{Destination, Form};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise tune --goal cpu -- ./batch input.csv       record it, search, then try the best on it
  heapwise tune run.hw --goal rss                     search with a recording, run nothing
  heapwise tune run.hw --goal rss-after -- ./batch    search with a recording, then try the best
  heapwise tune --goal rss-after --ready tcp:80 --load ./load.sh --settle 12s -- ./server
  heapwise tune run.hw --goal rss=2,cpu=1 --with glibc,jemalloc,mimalloc:purge_delay=0

Staying with the baseline is a valid answer. Nothing is recommended that was not run. --settle holds for replays, and for the \
program if it is driven as a server.

Exit codes: 0 an answer, 1 unexpected, such as a program that cannot be recorded, 2 usage or a program that no allocator can be \
put into, 3 nothing could be tried on the program (what replays found is reported) or the baseline cannot be replayed, 4 a recording that cannot be read or needs more memory to be replayed than --memory, 126 the program cannot be executed, 127 command not found, 130 interrupted (what was \
measured is reported).";

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// A recording of the program; without one, CMD is recorded first.
    // That one of both is needed is said later, in a line that names both.
    #[arg(value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// What to minimise: rss, rss-after, cpu, latency, batch, balanced, or weights such as rss=2,cpu=1 [default: batch for a program
    /// that ends when its work is done, balanced for one that goes on].
    // Parsed later, for an error in one line.
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// The baseline, which everything is compared with [default: the allocator that the recorded program had].
    #[arg(long, value_name = "CANDIDATE")]
    pub(crate) baseline: Option<String>,
    /// Only these candidates [default: all allocators that are there, with all settings that are worth trying].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many of the best are tried on the program itself; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) confirm: usize,
    /// How many rounds of the program itself count [default: 5, or down to 3 if they would take more than ten minutes].
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// The process of the recording whose part is replayed [default: the one that allocates most].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Memory that replays may take, such as 8GiB [default: half of what is available].
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub(crate) memory: Option<bytesize::ByteSize>,
    /// What a replay with pauses may take; longer recordings are compressed.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = super::time)]
    pub(crate) longest: std::time::Duration,
    /// How the program is driven.
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
    /// Its form.
    #[command(flatten)]
    pub(crate) form: Form,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// The program and its arguments, behind `--`: what is best in replays is tried on it.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
