//! Who gives complete files their names: a thread that yields to everything else on the machine, and at the end whoever waits for it.
//!
//! A thread that yields hardly gets on while others are busy, and cannot be hurried: only privileged users may take that back. So the end
//! does not wait for it, but does what it has not done. The thread finds out names without the lock, and changes a file with it.

use super::known::Known;
use crate::delivery::Destinations;
use crate::{blind_spots, symbolize};
use heapwise_analysis::{Analysis, ImageAddresses};
use heapwise_trace::file::tables::Symbols;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The files that wait for their names.
#[derive(Clone, Default)]
pub(super) struct Namer {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    known: Known,
    destinations: Destinations,
    /// The oldest one, which may be at hand, is the first.
    waiting: VecDeque<PathBuf>,
    /// Someone else does the rest.
    is_over: bool,
}

/// What was found out about a file without changing anything.
struct Found {
    /// With what destinations want of it. `None` if it was removed.
    file: Option<(File, Result<Option<Analysis>, String>)>,
    /// Addresses that are new, and their names.
    new: Vec<ImageAddresses>,
    names: Option<Symbols>,
}

impl Namer {
    pub(super) fn new(destinations: Destinations) -> Self {
        let namer = Self::default();
        namer.lock().destinations = destinations;
        namer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file is complete.
    pub(super) fn add(&self, path: &Path) {
        self.lock().waiting.push_back(path.to_owned());
        self.shared.1.notify_all();
    }

    /// Names files as they come, until someone else does the rest.
    pub(super) fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return;
            }
            let Some(path) = state.waiting.front().cloned() else {
                state = self.shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let has_destinations = !state.destinations.is_empty();
            drop(state);
            let found = Found::of(&path, has_destinations, |needed| self.lock().known.unknown(needed));
            state = self.lock();
            if state.is_over {
                return;
            }
            state.done(&path, found);
            state.waiting.pop_front();
        }
    }

    /// Names the rest. Returns where the last file goes.
    pub(super) fn finish(&self) -> Destinations {
        let mut state = self.lock();
        state.is_over = true;
        self.shared.1.notify_all();
        while let Some(path) = state.waiting.pop_front() {
            let has_destinations = !state.destinations.is_empty();
            let found = Found::of(&path, has_destinations, |needed| state.known.unknown(needed));
            state.done(&path, found);
        }
        std::mem::take(&mut state.destinations)
    }
}

impl State {
    /// Stores the names in a file, and sends it on its way. One that was removed meanwhile, since there are enough newer ones, needs no
    /// names.
    fn done(&mut self, path: &Path, found: Found) {
        self.known.add(&found.new, found.names);
        let Some((file, analysis)) = found.file else { return self.destinations.miss(path) };
        let named = analysis.and_then(|analysis| self.known.keep(&file).map(|()| analysis));
        match named {
            Ok(None) => {}
            Ok(Some(mut analysis)) => {
                analysis.add_symbols(self.known.names().cloned());
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
            true => super::analysis_of(&file).map(|analysis| (analysis.needed_addresses(), Some(analysis))),
        };
        let (needed, analysis) = match read {
            Ok((needed, analysis)) => (needed, Ok(analysis)),
            Err(error) => (Vec::new(), Err(error)),
        };
        let new = unknown(&needed);
        let names = (!new.is_empty()).then(|| symbolize::look_up(new.clone()));
        Self { file: Some((file, analysis)), new, names }
    }
}
