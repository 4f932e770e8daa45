//! `heapwise watch` as it is typed.

#[cfg(target_os = "linux")]
use super::RecordingArgs;
use clap::Args;
use std::ffi::OsString;

#[cfg(target_os = "linux")]
pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise watch 4711                       a process that runs already: a sample of its blocks; q lets it go
  heapwise watch 4711 --sample=1 -o a.hw    all of its blocks, and the recording stays
  heapwise watch a.hw                       a recording that `run` or `attach` is writing, or will be
  heapwise run --watch ./server             a program from its start

? shows the keys.";

#[cfg(not(target_os = "linux"))]
pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise watch a.hw                       a recording that grows, or will be there

? shows the keys.";

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// What can be said of any recording; of one that somebody else makes, nothing.
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// The process to record, by its id; or the recording, which need not be there yet.
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: OsString,
}

#[cfg(target_os = "linux")]
impl WatchArgs {
    /// The process, if it is one that is to be looked at.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.target.to_str()?.parse().ok().filter(|pid| *pid > 0)
    }
}
