//! What settings mean for launches in other files.

use crate::given::Given;
use std::collections::HashMap;
use std::mem::take;
use std::path::{Path, PathBuf};

/// Settings of VS Code that reach the launches of CodeLLDB.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Their place: the `.vscode` folder, the workspace file, or the user's settings file.
    pub(crate) place: PathBuf,
    /// Whether they are for every folder: those of a user and of a workspace file.
    pub(crate) is_for_all: bool,
    /// What `lldb.launch.env`, `lldb.launch.envFile` and the commands in `lldb.launch.*` set the variable to.
    pub(crate) lldb: Given,
    /// What the environment of rust-analyzer's runnables sets the variable to.
    pub(crate) runnables: Given,
    /// The debugger that rust-analyzer starts.
    pub(crate) engine: Option<String>,
    /// Whether the variable could be put there.
    pub(crate) can_take: bool,
}

/// What is known of all settings that were read. A repository may have thousands of places with settings, so each is found by its
/// name.
#[derive(Debug, Default)]
pub(crate) struct Known {
    places: HashMap<PathBuf, Vec<Settings>>,
    /// Those that are for every folder; the first one with a value counts.
    for_all: Option<Settings>,
}

impl Known {
    pub(crate) fn add(&mut self, settings: Settings) {
        if settings.is_for_all {
            let of_all = self.for_all.get_or_insert_with(|| settings.clone());
            of_all.lldb = take(&mut of_all.lldb).or_else(|| settings.lldb.clone());
            of_all.runnables = take(&mut of_all.runnables).or_else(|| settings.runnables.clone());
            of_all.engine = of_all.engine.take().or_else(|| settings.engine.clone());
        }
        self.places.entry(settings.place.clone()).or_default().push(settings);
    }

    /// CodeLLDB's settings for the launches of a place. VS Code merges objects of settings: the nearer one wins.
    pub(crate) fn lldb(&self, place: &Path) -> Given {
        self.of(place).map(|s| &s.lldb).find(|given| **given != Given::Absent).cloned().unwrap_or_default()
    }

    /// The environment of rust-analyzer's runnables in a place.
    pub(crate) fn runnables(&self, place: &Path) -> Given {
        self.of(place)
            .map(|s| &s.runnables)
            .find(|given| **given != Given::Absent)
            .cloned()
            .unwrap_or_default()
    }

    /// The debugger that rust-analyzer starts in a place.
    pub(crate) fn engine(&self, place: &Path) -> Option<&str> {
        self.of(place).find_map(|s| s.engine.as_deref())
    }

    fn own(&self, place: &Path) -> &[Settings] {
        self.places.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// The settings that count in a place, the nearest first.
    fn of(&self, place: &Path) -> impl Iterator<Item = &Settings> {
        self.own(place).iter().chain(&self.for_all)
    }

    /// Whether there are settings for a place, and for no other, that the variable could be put into.
    pub(crate) fn can_help(&self, place: &Path) -> bool {
        self.own(place).iter().any(|s| s.can_take)
    }
}
