//! `heapwise attach` as it is typed.

use super::RecordingArgs;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise attach 4711                      until the process ends, or Ctrl-C: then it goes on alone
  heapwise attach --duration 30s 4711       half a minute of it
  heapwise attach -o a.hw $(pidof -s redis-server)

The process stands still for some milliseconds at the beginning and at the end. What it had allocated before is distinguished: its places
are not known.";

/// Arguments of `attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// What can be said of any recording.
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// The process.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: u32,
}
