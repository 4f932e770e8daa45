//! How a program is recorded, as it is typed: options of `heapwise run`, read here so that what makes no sense is said before the
//! build.

use bytesize::ByteSize;
use clap::Args;
use std::time::Duration;

const RECORDING: &str = "Options of heapwise run";

/// Options of `heapwise run` that concern the recording.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecordingOptions {
    /// Record only the first process, not those that it starts.
    #[arg(long, help_heading = RECORDING)]
    no_follow: bool,
    /// Go on until every recorded process has ended, not only the first one.
    #[arg(long, help_heading = RECORDING)]
    wait: bool,
    /// Begin recording after this time, such as 500ms, 10s or 2m.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = RECORDING)]
    delay: Option<Duration>,
    /// Stop recording after this time; the program goes on.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = RECORDING)]
    duration: Option<Duration>,
    /// Stop recording when the file has this size, such as 100MiB; the program goes on.
    #[arg(long, value_name = "SIZE", help_heading = RECORDING)]
    max_size: Option<ByteSize>,
    /// Account for all resident memory this often, such as 10s.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = RECORDING)]
    snapshot_every: Option<Duration>,
    /// Which recorder records a program that has wrapped its allocator in heapwise::Allocator: library or preload.
    #[arg(long, value_name = "WHICH", value_parser = ["library", "preload"], help_heading = RECORDING)]
    recorder: Option<String>,
}

impl RecordingOptions {
    /// The same for `heapwise run`.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (name, is_set) in [("--no-follow", self.no_follow), ("--wait", self.wait)] {
            words.extend(is_set.then(|| name.to_owned()));
        }
        let times = [
            ("--delay", self.delay),
            ("--duration", self.duration),
            ("--snapshot-every", self.snapshot_every),
        ];
        for (name, time) in times {
            let time = time.map(|time| format!("{}ns", time.as_nanos()));
            words.extend(time.into_iter().flat_map(|time| [name.to_owned(), time]));
        }
        let size = self.max_size.map(|size| format!("{}B", size.as_u64()));
        words.extend(size.into_iter().flat_map(|size| ["--max-size".to_owned(), size]));
        words.extend(self.recorder.iter().flat_map(|which| ["--recorder".to_owned(), which.clone()]));
        words
    }
}
