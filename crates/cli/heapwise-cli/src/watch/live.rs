//! The view of what this process records itself.
//!
//! The recorder stays on the thread that it is on without a view, and the view has a thread of its own. Both know of each other by the
//! recording's file, by how the view ends, and by [`Watched::end`].

use super::follower::Source;
use super::model::Kind;
use super::page::Pages;
use super::screen;
use super::window::{Ended, Window};
use crate::args::RecordingArgs;
use crate::{Failure, exit, inherited};
use heapwise_collector::output;
use signal_hook::consts::SIGINT;
use signal_hook::low_level;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A recording that is looked at while it is made.
#[derive(Debug)]
pub(crate) struct Watched {
    view: JoinHandle<std::io::Result<Ended>>,
    is_recorded: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Watched {
    /// Begins to look at a recording that is about to be made.
    pub(super) fn begin(window: Window) -> Result<Self, Failure> {
        let (is_recorded, stop) = (Arc::new(AtomicBool::new(false)), window.stop());
        let (recorded, kind) = (Arc::clone(&is_recorded), window.kind());
        let show = move || {
            let ended = window.show();
            screen::restore();
            if !recorded.load(Ordering::Acquire) {
                left_early(kind, &ended);
            }
            ended
        };
        let view =
            std::thread::Builder::new().name("view".into()).spawn(show).inspect_err(|_| screen::restore())?;
        Ok(Self { view, is_recorded, stop })
    }

    /// The same for a program. What it writes to the terminal goes to a file beside the recording, whose name is returned.
    pub(crate) fn program(recording: &Path, args: &RecordingArgs) -> Result<(Self, PathBuf), Failure> {
        let written = recording.with_extension("out");
        let log =
            output::create(&written, args.force).map_err(|error| Failure::new(exit::RUN_FAILED, error))?;
        let screen = screen::take(log).map_err(|error| {
            output::remove(&written);
            screen::refused(error)
        })?;
        let mut window = Window::new(screen, Source::of_file(recording), Kind::Program);
        window.set_pages(Pages::new().with(&args.look));
        window.say(format!("what the program writes is in {}", shown(&written)));
        Ok((Self::begin(window)?, written))
    }

    /// The recording is over. Waits until the user has seen enough; if it has failed, the view ends at once.
    pub(crate) fn end(self, has_failed: bool) {
        self.is_recorded.store(true, Ordering::Release);
        if has_failed {
            self.stop.store(true, Ordering::Release);
        }
        match self.view.join() {
            Ok(Ok(Ended::Failed(failure))) => {
                heapwise_report::say!("heapwise: warning: the view ended early: {:#}", failure.error);
            }
            Ok(Err(error)) => heapwise_report::say!("heapwise: warning: the view ended early: {error}"),
            Ok(Ok(_)) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// What it means that the view is over and the recording is not.
fn left_early(kind: Kind, ended: &std::io::Result<Ended>) {
    match kind {
        Kind::Process => _ = low_level::raise(SIGINT),
        Kind::Program if matches!(ended, Ok(Ended::ByUser)) => {
            heapwise_report::say!("heapwise: the program goes on, and is recorded; Ctrl-C ends it");
        }
        _ => {}
    }
}

fn shown(path: &Path) -> String {
    heapwise_report::escape::terminal::escape(&path.display().to_string()).into_owned()
}

/// Says where the program's output is. A file without any is removed.
pub(crate) fn say_written(written: &Path) {
    match written.metadata() {
        Ok(found) if found.len() == 0 => output::remove(written),
        _ => heapwise_report::note!("heapwise: what the program wrote is in {}", written.display()),
    }
}

/// Prepares a program that must not read the keys that are for the view.
pub(crate) fn without_keys(command: &mut Command) {
    if std::io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    inherited::forward(command);
}

/// Gives the terminal back when heapwise is about to leave without an end.
pub(crate) fn give_back() {
    screen::restore();
}
