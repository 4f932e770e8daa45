//! Who gives complete files their names: a thread that yields to everything else on the machine, and at the end whoever waits for it.
//!
//! A thread that yields hardly gets on while others are busy, and cannot be hurried: only privileged users may take that back. So the end
//! does not wait for it, but does what it has not done. The thread finds out names without the lock, and changes a file with it.

use super::known::Known;
use crate::delivery::Destinations;
use crate::{blind_spots, symbolize};
use heapwise_analysis::{ImageAddresses, Unnamed};
use heapwise_trace::file::tables::Symbols;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The files that wait for their names, and what is needed for it.
#[derive(Clone, Default)]
pub(super) struct Namer {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Never locked for long: whoever has completed a file must not wait for a thread that yields.
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Locked before the queue, if both are.
    desk: Mutex<Desk>,
    has_destinations: bool,
}

#[derive(Default)]
struct Queue {
    /// The oldest one, which may be at hand, is the first.
    waiting: VecDeque<PathBuf>,
    /// Someone else does the rest.
    is_over: bool,
}

#[derive(Default)]
struct Desk {
    known: Known,
    destinations: Destinations,
}

/// What was found out about a file without changing anything.
struct Found {
    /// With what destinations want of it. `None` if it was removed.
    file: Option<(File, Result<Option<Unnamed>, String>)>,
    /// Addresses that are new, and their names.
    new: Vec<ImageAddresses>,
    names: Option<Symbols>,
}

impl Namer {
    pub(super) fn new(destinations: Destinations) -> Self {
        let has_destinations = !destinations.is_empty();
        let desk = Mutex::new(Desk { destinations, ..Desk::default() });
        Self { shared: Arc::new(Shared { desk, has_destinations, ..Shared::default() }) }
    }

    /// A file is complete.
    pub(super) fn add(&self, path: &Path) {
        lock(&self.shared.queue).waiting.push_back(path.to_owned());
        self.shared.changed.notify_all();
    }

    /// Names files as they come, until someone else does the rest.
    pub(super) fn work(&self) {
        while let Some(path) = self.first() {
            let found = self.find(&path, |needed| lock(&self.shared.desk).known.unknown(needed));
            let mut desk = lock(&self.shared.desk);
            let mut queue = lock(&self.shared.queue);
            if queue.is_over {
                return;
            }
            queue.waiting.pop_front();
            drop(queue);
            desk.done(&path, found);
        }
    }

    /// The file that is next, once there is one. `None` if someone else does the rest.
    fn first(&self) -> Option<PathBuf> {
        let queue = lock(&self.shared.queue);
        let has_none = |queue: &mut Queue| !queue.is_over && queue.waiting.is_empty();
        let queue = self.shared.changed.wait_while(queue, has_none).unwrap_or_else(PoisonError::into_inner);
        queue.waiting.front().filter(|_| !queue.is_over).cloned()
    }

    /// Names the rest. Returns where the last file goes.
    pub(super) fn finish(&self) -> Destinations {
        let mut queue = lock(&self.shared.queue);
        queue.is_over = true;
        let rest = std::mem::take(&mut queue.waiting);
        drop(queue);
        self.shared.changed.notify_all();
        let mut desk = lock(&self.shared.desk);
        for path in rest {
            let found = self.find(&path, |needed| desk.known.unknown(needed));
            desk.done(&path, found);
        }
        std::mem::take(&mut desk.destinations)
    }

    fn find(&self, path: &Path, unknown: impl FnOnce(&[ImageAddresses]) -> Vec<ImageAddresses>) -> Found {
        Found::of(path, self.shared.has_destinations, unknown)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// Stores the names in a file, and sends it on its way. One that was removed meanwhile, since there are enough newer ones, needs no
    /// names.
    fn done(&mut self, path: &Path, found: Found) {
        self.known.add(&found.new, found.names);
        let Some((file, read)) = found.file else { return self.destinations.miss(path) };
        match read.and_then(|read| self.known.keep(&file).map(|()| read)) {
            Ok(None) => {}
            Ok(Some(read)) => {
                let mut analysis = read.named(self.known.names().cloned());
                blind_spots::complete(&mut analysis);
                self.destinations.take(path, &analysis);
            }
            Err(error) => {
                heapwise_report::say!("heapwise: warning: {} has no names: {error}", path.display())
            }
        }
    }
}

impl Found {
    fn of(
        path: &Path,
        has_destinations: bool,
        unknown: impl FnOnce(&[ImageAddresses]) -> Vec<ImageAddresses>,
    ) -> Self {
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
            return Self { file: None, new: Vec::new(), names: None };
        };
        let read = match has_destinations {
            false => super::addresses_of(&file).map(|needed| (needed, None)),
            true => super::read(&file).map(|read| (read.needed_addresses(), Some(read))),
        };
        let (needed, read) = match read {
            Ok((needed, read)) => (needed, Ok(read)),
            Err(error) => (Vec::new(), Err(error)),
        };
        let new = unknown(&needed);
        let names = (!new.is_empty()).then(|| symbolize::look_up(new.clone()));
        Self { file: Some((file, read)), new, names }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(namer: &Namer) -> usize {
        lock(&namer.shared.queue).waiting.len()
    }

    #[test]
    fn files_can_be_added_while_one_is_being_named_and_the_end_waits_for_that_one() {
        let namer = Namer::default();
        let desk = lock(&namer.shared.desk);
        namer.add(Path::new("/nowhere/1"));
        std::thread::scope(|scope| {
            scope.spawn(|| namer.work());
            // That cannot go on, and this does.
            namer.add(Path::new("/nowhere/2"));
            let end = scope.spawn(|| namer.finish());
            while waiting(&namer) > 0 {
                std::thread::yield_now();
            }
            assert!(!end.is_finished());
            drop(desk);
            assert!(end.join().expect("it ends").is_empty());
        });
    }

    #[test]
    fn files_are_named_as_they_come_and_the_rest_in_the_end() {
        let namer = Namer::default();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| namer.work());
            namer.add(Path::new("/nowhere/1"));
            while waiting(&namer) > 0 {
                std::thread::yield_now();
            }
            namer.finish();
            worker.join().expect("it ends");
        });
        namer.add(Path::new("/nowhere/2"));
        namer.work();
        assert_eq!(waiting(&namer), 1, "it is over");
    }
}
