//! What can be said of a recording, however it is made.

use super::DeliveryArgs;
use super::report::Look;
use bytesize::ByteSize;
use clap::builder::ArgPredicate;
use clap::{ArgGroup, Args};
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `run` and `attach`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("several").multiple(true))]
pub(crate) struct RecordingArgs {
    /// Write the recording to OUT [default: heapwise.<program>.<pid>.hw in the current folder].
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists, and the report.
    #[arg(long)]
    pub(crate) force: bool,
    /// Record only the first process, not those that it starts.
    #[arg(long)]
    pub(crate) no_follow: bool,
    /// Begin recording after this time, such as 500ms, 10s or 2m.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) delay: Option<Duration>,
    /// Stop recording after this time; the program goes on.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) duration: Option<Duration>,
    /// Stop recording when the file has this size, such as 100MiB; the program goes on.
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub(crate) max_size: Option<ByteSize>,
    /// Record a sample of the blocks, with at most so many bytes between two of them, rounded up to a power of two; all numbers are
    /// estimates then. Without a size it is 512KiB; 1 records everything.
    #[arg(
        long,
        value_name = "BYTES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "512KiB",
        value_parser = super::size,
        conflicts_with = "snapshot_every"
    )]
    pub(crate) sample: Option<ByteSize>,
    /// Go on in a new file this often, such as 10m; each is complete in itself, and named OUT with a number. Needs --sample.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = rotation,
        requires = "sample",
        conflicts_with = "max_size",
        group = "several",
        default_value_if("push", ArgPredicate::IsPresent, "15s")
    )]
    pub(crate) rotate: Option<Duration>,
    /// How many files --rotate keeps, with the one that is written and those of earlier recordings of that name.
    #[arg(long, value_name = "N", default_value_t = 144, value_parser = clap::value_parser!(u32).range(2..), requires = "several")]
    pub(crate) keep: u32,
    /// Account for all resident memory this often, such as 10s; SIGUSR2 to heapwise does it once.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub(crate) snapshot_every: Option<Duration>,
    /// Where it goes besides.
    #[command(flatten)]
    pub(crate) delivery: DeliveryArgs,
    /// No diagnosis; the recording is complete all the same, with names.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Write the diagnosis to a file instead of standard error; with --format html, instead of a file beside the
    /// recording.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_file: Option<PathBuf>,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
    /// Compare every N-th stack with a full unwind.
    #[arg(long, value_name = "N", env = "HEAPWISE_VERIFY", default_value_t = 0, hide = true)]
    pub(crate) verify: u32,
}

/// How long a file lasts: the collector writes five times a second.
fn rotation(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_millis(100);
    match super::time(text)? {
        time if time < SHORTEST => Err("a file lasts 100ms at least".to_owned()),
        time => Ok(time),
    }
}
