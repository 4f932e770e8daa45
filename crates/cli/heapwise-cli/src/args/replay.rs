//! `heapwise replay` as it is typed.

use super::destination::{Destination, Form};
use clap::Args;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise replay run.hw                                      glibc, jemalloc, mimalloc, snmalloc side by side
  heapwise replay run.hw --with glibc,jemalloc:background_thread=true:dirty_decay_ms=1000
  heapwise replay run.hw --timed --settle 12s                 with the pauses of the recording: memory after the load
  heapwise replay run.hw --with glibc,./libmy.so              your own allocator
  heapwise replay run.hw --format html -o replay.html          for a browser; json and markdown too

Candidates are separated by commas, settings by colons; `heapwise allocators` lists them.
Ctrl-C ends with the results until then.
Exit codes: 0, 3 if an allocator failed, 4 for a recording that cannot be read or that needs more memory to be \
replayed than --memory, 130 if it was interrupted.";

/// How many rounds count for times if no number is given.
pub(crate) const ROUNDS: u32 = 3;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// Allocators with settings, such as glibc,jemalloc:dirty_decay_ms=0,./my.so [default: those that are there].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many rounds count for times, besides the first; 0 for memory only.
    #[arg(short = 'n', long, value_name = "N", default_value_t = ROUNDS)]
    pub(crate) runs: u32,
    /// Replay with the pauses of the recording as well, for memory after the load.
    #[arg(long)]
    pub(crate) timed: bool,
    /// With --timed: divide pauses by N, and the times that allocators are given [default: 1 up to half a minute].
    #[arg(long, value_name = "N", requires = "timed", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) compress: Option<u32>,
    /// With --timed: wait so long at the end before looking at memory again, such as 12s.
    #[arg(long, value_name = "TIME", requires = "timed", value_parser = super::time)]
    pub(crate) settle: Option<std::time::Duration>,
    /// The process whose part is replayed [default: the one that allocates most].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Memory that replays may take, such as 8GiB [default: half of what is available].
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub(crate) memory: Option<bytesize::ByteSize>,
    /// Give up on an allocator that has made no progress for so long.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = super::time)]
    pub(crate) stall_timeout: std::time::Duration,
    /// Its form.
    #[command(flatten)]
    pub(crate) form: Form,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) destination: Destination,
}
