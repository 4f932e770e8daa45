//! `heapwise watch`, and `run --watch`: a live view in the terminal of a recording that grows.
//!
//! The recording's file is all that there is between who writes it and who looks: [`follower`] reads it as it grows, on a thread of its
//! own, and passes on an [`update`](update::Update) a few times a second; the [`model`] adds to that what the user has chosen, by
//! [`keys`]; and [`view`] draws it. So a view of a program that runs here and of a file that another one writes is the same.

mod clock;
mod curve;
mod follower;
mod keys;
#[cfg(target_os = "linux")]
pub(crate) mod live;
mod model;
mod names;
mod page;
#[cfg(target_os = "linux")]
mod process;
mod rates;
mod rows;
mod screen;
mod state;
#[cfg(test)]
mod testing;
mod update;
mod view;
mod window;

use crate::args::WatchArgs;
use crate::growing::{Growing, hopeless};
use crate::{Failure, exit};
#[cfg(target_os = "linux")]
use anyhow::anyhow;
use follower::Source;
use model::Kind;
use std::path::Path;
use window::{Ended, Window};

/// Shows a process or a file until the user has seen enough.
pub(crate) fn watch(args: WatchArgs) -> Result<u8, Failure> {
    #[cfg(target_os = "linux")]
    if let Some(number) = args.no_pid() {
        let error = anyhow!("{number} is the id of no process; a file of that name is ./{number}");
        return Err(Failure::new(exit::USAGE, error));
    }
    #[cfg(target_os = "linux")]
    if let Some(pid) = args.pid() {
        if args.recording.rotate.is_some() || args.recording.delivery.fleet.is_some() {
            let error = anyhow!(
                "a view is of one file: --rotate, --push and --fleet are for attach and run, and `watch FILE` follows their files"
            );
            return Err(Failure::new(exit::USAGE, error));
        }
        return process::watch(pid, args.recording);
    }
    #[cfg(target_os = "linux")]
    if let Some(option) = args.only_of_a_process() {
        let error = anyhow!(
            "{option} is for a process that is recorded; {} is a file, which whoever writes it has chosen all of",
            Path::new(&args.target).display()
        );
        return Err(Failure::new(exit::USAGE, error));
    }
    show_file(Path::new(&args.target))
}

fn show_file(path: &Path) -> Result<u8, Failure> {
    if let Some(failure) = hopeless(path) {
        return Err(failure);
    }
    if path.exists() {
        Growing::open(path)?;
    }
    // What is said meanwhile would be in the picture.
    let said = tempfile::tempfile()?;
    let screen = screen::take(said.try_clone()?).map_err(screen::refused)?;
    let ended = Window::new(screen, Source::of_file(path), Kind::File).show();
    screen::restore();
    screen::say_kept(said);
    match ended? {
        Ended::ByUser => Ok(exit::SUCCESS),
        Ended::BySignal => Ok(exit::INTERRUPTED),
        Ended::Failed(failure) => Err(failure),
    }
}
