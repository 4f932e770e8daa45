//! A process that runs already: recorded and shown until the view is over.

use super::follower::Source;
use super::live::Watched;
use super::model::Kind;
use super::page::Pages;
use super::screen;
use super::window::Window;
use crate::args::RecordingArgs;
use crate::{Failure, attach as attaching, exit, run};
use anyhow::Context;
use bytesize::ByteSize;
use heapwise_collector::{Begun, attach as record, output};

/// Records a process that runs already, and shows it meanwhile.
pub(super) fn watch(pid: u32, mut args: RecordingArgs) -> Result<u8, Failure> {
    // A look at a server must not slow it.
    if args.sample.is_none() && args.snapshot_every.is_none() {
        args.sample = Some(ByteSize::kib(512));
    }
    run::check(&args)?;
    let mut request = attaching::request(pid, &args);
    let name = request.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let default = output::default_name(&name, pid);
    let folder =
        tempfile::Builder::new().prefix("heapwise-").tempdir().context("cannot make a temporary folder")?;
    let recording = args.output.clone().unwrap_or_else(|| folder.path().join(&default));
    request.output = Some(recording.clone());
    let said = tempfile::tempfile()?;
    let screen = screen::take(said.try_clone()?).map_err(screen::refused)?;
    let mut window = Window::new(screen, Source::of_file(&recording), Kind::Process);
    // What is temporary is no place for what is to stay.
    let beside = args.output.clone().unwrap_or(default);
    window.set_pages(Pages::new().beside(beside).with(&args.look));
    let watched = Watched::begin(window)?;
    let recorded = record(pid, &request, begun);
    watched.end(recorded.is_err());
    screen::say_kept(said);
    let recorded = recorded.map_err(run::failure)?;
    attaching::say_left(&recorded.left);
    match args.output {
        Some(_) => run::conclude(&recorded, args, None)?,
        None => {
            heapwise_report::note!("heapwise: the recording was temporary; -o FILE keeps it, with a report")
        }
    }
    match recorded.error {
        None => Ok(exit::SUCCESS),
        Some(error) => Err(run::incomplete(&recorded.path, &error, "")),
    }
}

fn begun(begun: &Begun) {
    heapwise_report::note!(
        "heapwise: when recording began, threads stood still {}",
        attaching::how_long(&begun.stops)
    );
}
