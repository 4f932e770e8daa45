//! Where recordings go besides their files: `--push` to a server that shows profiles, `--fleet` into the tables of many recordings.
//!
//! Each recording goes to every destination when it is complete and has its names; of a recording in several files, each of them does.

mod fleet;
mod push;

use crate::args::DeliveryArgs;
use crate::{Failure, exit};
use heapwise_analysis::Analysis;
use std::path::Path;

/// A place that recordings go to.
trait Destination: Send {
    /// Takes a recording. It does not wait for other machines.
    fn take(&mut self, recording: &Path, analysis: &Analysis) -> anyhow::Result<()>;

    /// No more recordings come. What was not delivered after some seconds is given up, and that is said.
    fn end(self: Box<Self>);
}

/// All places that the recordings of this command go to.
#[derive(Default)]
pub(crate) struct Destinations {
    all: Vec<(Box<dyn Destination>, Trouble)>,
    /// Recordings that were removed before their turn came.
    missed: u64,
}

/// Why the last recording did not arrive at a destination, so that the same is not said of every file; empty if it did.
type Trouble = String;

impl Destinations {
    /// Those that were asked for. Finds out before the recording what would fail after it.
    pub(crate) fn of(args: &DeliveryArgs) -> Result<Self, Failure> {
        let mut all: Vec<Box<dyn Destination>> = Vec::new();
        if let Some(folder) = &args.fleet {
            all.push(Box::new(fleet::Fleet::new(folder, args)?));
        }
        if let Some(url) = &args.push {
            let push = push::Push::new(url, args).map_err(|error| Failure::new(exit::USAGE, error))?;
            all.push(Box::new(push));
        }
        Ok(Self {
            all: all.into_iter().map(|destination| (destination, Trouble::new())).collect(),
            missed: 0,
        })
    }

    /// Whether recordings go nowhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A recording is complete and has its names.
    pub(crate) fn take(&mut self, recording: &Path, analysis: &Analysis) {
        for (destination, trouble) in &mut self.all {
            let taken = destination.take(recording, analysis);
            // The rest of the message names the file.
            let now = taken.as_ref().err().map(|error| error.root_cause().to_string()).unwrap_or_default();
            if let Err(error) = taken
                && now != *trouble
            {
                heapwise_report::say!("heapwise: warning: {}: {error:#}", recording.display());
            }
            *trouble = now;
        }
    }

    /// A recording was removed before its turn came: newer ones have its place.
    pub(crate) fn miss(&mut self, recording: &Path) {
        if self.is_empty() {
            return;
        }
        if self.missed == 0 {
            heapwise_report::say!(
                "heapwise: warning: {} was removed before it went anywhere: keep more files with --keep, or let each last longer with --rotate",
                recording.display()
            );
        }
        self.missed += 1;
    }

    /// No more recordings come.
    pub(crate) fn end(self) {
        if self.missed > 0 {
            heapwise_report::say!(
                "heapwise: warning: {} file(s) were removed before they went anywhere",
                self.missed
            );
        }
        self.all.into_iter().for_each(|(destination, _)| destination.end());
    }
}
