//! How far long work is: a line on a terminal, and nothing elsewhere.

use heapwise_report::escape::terminal::Verbosity;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// Shown until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of so many steps, of which `what` says what they are.
    pub(crate) fn new(what: &'static str, steps: u64) -> Self {
        let is_shown = std::io::stderr().is_terminal() && Verbosity::now() != Verbosity::Quiet;
        let target =
            if is_shown { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        if let Ok(style) = ProgressStyle::with_template("{msg}: {human_pos} of {human_len}, {eta} left") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
