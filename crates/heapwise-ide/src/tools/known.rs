//! What settings say to launches in other files.

use crate::given::Given;
use std::path::{Path, PathBuf};

/// Settings of VS Code that reach the launches of CodeLLDB.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whom they are for: the `.vscode` folder, the workspace file, or the user's settings file.
    pub(crate) place: PathBuf,
    /// Whether they are for every folder: those of a user and of a workspace file.
    pub(crate) is_for_all: bool,
    /// What `lldb.launch.env`, `lldb.launch.envFile` and the commands in `lldb.launch.*` say about the variable.
    pub(crate) lldb: Given,
    /// What the environment of rust-analyzer's runnables says.
    pub(crate) runnables: Given,
    /// The debugger that rust-analyzer shall start.
    pub(crate) engine: Option<String>,
    /// Whether the variable could be put there.
    pub(crate) can_take: bool,
}

/// What is known of all settings that were read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    settings: Vec<Settings>,
}

impl Known {
    pub(crate) fn add(&mut self, settings: Settings) {
        self.settings.push(settings);
    }

    /// What CodeLLDB is told for the launches of a place. VS Code merges objects of settings: the nearer one wins.
    pub(crate) fn lldb(&self, place: &Path) -> Given {
        self.of(place).map(|s| s.lldb.clone()).find(|given| *given != Given::Absent).unwrap_or_default()
    }

    /// What the environment of rust-analyzer's runnables says in a place.
    pub(crate) fn runnables(&self, place: &Path) -> Given {
        self.of(place).map(|s| s.runnables.clone()).find(|given| *given != Given::Absent).unwrap_or_default()
    }

    /// The debugger that rust-analyzer shall start in a place.
    pub(crate) fn engine(&self, place: &Path) -> Option<&str> {
        self.of(place).find_map(|s| s.engine.as_deref())
    }

    /// The settings that count in a place, the nearest first.
    fn of(&self, place: &Path) -> impl Iterator<Item = &Settings> {
        let own = self.settings.iter().filter(move |s| s.place == place);
        own.chain(self.settings.iter().filter(move |s| s.is_for_all && s.place != place))
    }

    /// Whether there are settings for a place, and for no other, that the variable could be put into.
    pub(crate) fn can_help(&self, place: &Path) -> bool {
        self.settings.iter().any(|s| s.place == place && s.can_take)
    }
}
