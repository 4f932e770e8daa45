//! Progress of long work: on standard error, and only if that is a terminal.

use heapwise_report::escape::terminal::{Verbosity, escape};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A progress bar that appears when the work takes long enough for the user to wonder.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that is not shown yet.
    pub(crate) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() && Verbosity::now() != Verbosity::Quiet {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("heapwise: {msg} {wide_bar} {percent} %");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// One that is never shown.
    #[cfg(target_os = "linux")]
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Some of `total` is done.
    #[cfg(target_os = "linux")]
    pub(crate) fn step(&self, what: &'static str, done: u64, total: u64) {
        if self.0.elapsed() > Duration::from_millis(500) {
            self.0.set_message(what);
            self.0.set_length(total);
        }
        self.0.inc(done);
    }

    /// So much of `total` is done.
    pub(crate) fn at(&self, what: &'static str, position: u64, total: u64) {
        if self.0.elapsed() > Duration::from_millis(500) {
            self.0.set_message(what);
            self.0.set_length(total);
            self.0.set_position(position);
        }
    }
}

impl Progress {
    /// So many steps are done, and this is the one at hand.
    pub(crate) fn at_step(&self, what: &str, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
        self.0.set_message(escape(what).into_owned());
    }
}

impl Progress {
    /// A line above the bar, where there is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn say(&self, line: &str) {
        self.0.println(escape(line));
    }
}

/// An estimated time: to the second, or to the minute.
#[cfg(target_os = "linux")]
pub(crate) fn rounded(time: Duration) -> String {
    match time.as_secs() {
        0 => "a second".to_owned(),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn estimates_pretend_to_no_precision() {
        let times = [0, 1, 119, 120, 200].map(|s| rounded(Duration::from_secs(s)));
        assert_eq!(times, ["a second", "1 s", "119 s", "2 min", "3 min"]);
    }
}
