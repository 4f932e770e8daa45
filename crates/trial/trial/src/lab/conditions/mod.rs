//! The registry of conditions: what surrounds a worker, one type each, in a table for each operating system.
//!
//! A condition prepares the command that starts a worker, or, if that is not enough (a debugger has to stay with the process that
//! it starts), runs it itself. Afterwards it checks whether the worker had the expected heap.

mod bypass;
mod clean;
#[cfg(target_os = "linux")]
mod linux;
mod plain;
#[cfg(windows)]
mod windows;

pub use clean::{clean, own_heap_variables};

use crate::lab::worker::{Heap, WorkerError};
use std::path::Path;
use std::process::{Command, Output};

/// What part a condition has in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What everything is compared with.
    Plain,
    /// A heap that checks.
    Checking,
    /// The checking heap was requested, and then turned off as heapwise recommends.
    Fixed,
    /// The checking heap is there, and the program does not use it.
    Bypass,
}

impl Role {
    /// Its name in reports.
    pub fn id(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Checking => "checking",
            Self::Fixed => "fixed",
            Self::Bypass => "bypass",
        }
    }
}

/// What surrounds a worker.
pub trait Condition: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What is done, in a few words.
    fn about(&self) -> String;

    /// What has to be known before its numbers are believed, in a sentence.
    fn caveat(&self) -> Option<String> {
        None
    }

    /// What part it has.
    fn role(&self) -> Role;

    /// Whether it can be tried here.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing and where to get it.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Makes a command such that its process will be under this condition.
    fn prepare(&self, command: &mut Command);

    /// Runs the prepared command to its end. A condition that has to attend to the process does so here, with `heapwise`, the
    /// program, for what it does around others.
    ///
    /// # Errors
    ///
    /// If it cannot be run, or takes too long.
    fn run(&self, command: &mut Command, heapwise: &Path) -> Result<Output, WorkerError> {
        undisturbed(command, heapwise)
    }

    /// Whether a worker had the heap that this condition means.
    fn is_in_place(&self, heap: &Heap) -> bool;
}

/// Runs a worker with nothing around it.
fn undisturbed(command: &mut Command, _: &Path) -> Result<Output, WorkerError> {
    crate::lab::worker::run(command)
}

/// All that there are on this system, the plain one first.
#[cfg(target_os = "linux")]
pub const CONDITIONS: &[&dyn Condition] = &[
    &plain::Plain,
    &linux::MallocCheck,
    &linux::Perturb,
    &linux::TcmallocDebug,
    &linux::Fixed,
    &bypass::Mimalloc,
];

/// All that there are on this system, the plain one first.
#[cfg(windows)]
pub const CONDITIONS: &[&dyn Condition] =
    &[&plain::Plain, &windows::DebugHeap, &windows::Fixed, &bypass::Mimalloc];

/// All that there are on this system, the plain one first.
#[cfg(not(any(target_os = "linux", windows)))]
pub const CONDITIONS: &[&dyn Condition] = &[&plain::Plain, &bypass::Mimalloc];

/// The strongest checking heap of this system, for conditions that must be shown to escape it: puts it around a command, runs the
/// command under it, and returns whether a worker had it.
#[cfg(target_os = "linux")]
mod strongest {
    pub(super) use super::linux::{check_strongly as prepare, is_checking};
    pub(super) use super::undisturbed as run;
}

#[cfg(windows)]
mod strongest {
    pub(super) use super::windows::{debugged as run, is_checking};

    /// A debugger is nothing that a command could be prepared with.
    pub(super) fn prepare(_: &mut std::process::Command) {}
}

#[cfg(not(any(target_os = "linux", windows)))]
mod strongest {
    pub(super) use super::undisturbed as run;

    pub(super) fn prepare(_: &mut std::process::Command) {}

    /// There is none to be missed.
    pub(super) fn is_checking(_: &crate::lab::worker::Heap) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_plain_condition_is_the_first_and_the_only_one() {
        let plain: Vec<_> = CONDITIONS.iter().map(|c| c.role() == Role::Plain).collect();
        assert!(plain[0] && plain[1..].iter().all(|is| !is));
        let names: BTreeSet<_> = CONDITIONS.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), CONDITIONS.len());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn each_knows_its_own_heap_from_the_usual_one() {
        let usual = Heap { allocator: "system".to_owned(), usable_of_193: 200, ..Heap::default() };
        for condition in CONDITIONS {
            let usual_is_right = matches!(condition.role(), Role::Plain | Role::Fixed);
            assert_eq!(condition.is_in_place(&usual), usual_is_right, "{}", condition.name());
        }
    }
}
