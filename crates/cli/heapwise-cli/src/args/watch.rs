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
    /// What can be said of any recording; a file has what its writer has chosen.
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

    /// A number that is the id of no process whatever runs.
    pub(crate) fn no_pid(&self) -> Option<&str> {
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_pid = |text: &str| text.parse::<i32>().is_ok_and(|pid| pid > 0);
        self.target.to_str().filter(is_number).filter(|text| !is_pid(text))
    }

    /// An option that was given and only has a meaning for a process that is recorded here.
    pub(crate) fn only_of_a_process(&self) -> Option<&'static str> {
        let of = &self.recording;
        let given = [
            ("--output", of.output.is_some()),
            ("--force", of.force),
            ("--no-follow", of.no_follow),
            ("--delay", of.delay.is_some()),
            ("--duration", of.duration.is_some()),
            ("--max-size", of.max_size.is_some()),
            ("--sample", of.sample.is_some()),
            ("--push", of.delivery.push.is_some()),
            ("--fleet", of.delivery.fleet.is_some()),
            ("--rotate", of.rotate.is_some()),
            ("--snapshot-every", of.snapshot_every.is_some()),
            ("--no-report", of.no_report),
            ("--report-file", of.report_file.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}
