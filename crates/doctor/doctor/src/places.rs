//! Where to look, and on which system.

use heapwise_environment::Severity;
use heapwise_environment::facts::System;
use std::path::{Path, PathBuf};

/// Where to look for configuration, and what to take for granted.
#[derive(Clone, Debug)]
pub struct Places {
    /// The folder of the project. Everything in it is looked at, except for what is built or downloaded.
    pub folder: PathBuf,
    /// The user's home folder, for the settings of editors and debuggers. Nothing outside of the project is read without.
    pub home: Option<PathBuf>,
    /// Where programs keep their settings: `%APPDATA%` of Windows and `XDG_CONFIG_HOME`. If `None`, the usual place.
    pub settings: Option<PathBuf>,
    /// The system that counts as the one in use.
    pub system: System,
    /// The value of `_NO_DEBUG_HEAP` that editors inherit, if there is one.
    pub inherited: Option<String>,
}

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The project: others see it as well, on other systems.
    Project,
    /// The user, on this machine.
    User,
}

impl Places {
    /// A folder on its own, without a home.
    pub fn only(folder: impl Into<PathBuf>, system: System) -> Self {
        Self { folder: folder.into(), home: None, settings: None, system, inherited: None }
    }

    /// A folder, and the home and environment of this process.
    pub fn of_this_user(folder: impl Into<PathBuf>) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let system = System::HERE;
        let is_windows = system == System::Windows;
        Self {
            folder: folder.into(),
            home: variable(if is_windows { "USERPROFILE" } else { "HOME" }).map(PathBuf::from),
            settings: variable(if is_windows { "APPDATA" } else { "XDG_CONFIG_HOME" }).map(PathBuf::from),
            system,
            inherited: variable(crate::rule::VARIABLE).map(|value| value.to_string_lossy().into_owned()),
        }
    }

    /// Where programs of the user keep their settings on this system.
    pub(crate) fn settings_folder(&self) -> Option<PathBuf> {
        let usual = match self.system {
            System::Windows => "AppData/Roaming",
            System::MacOs => "Library/Application Support",
            System::Linux | System::Other => ".config",
        };
        match &self.settings {
            // macOS knows no such variable for the programs in question.
            Some(settings) if self.system != System::MacOs => Some(settings.clone()),
            _ => self.home.as_ref().map(|home| home.join(usual)),
        }
    }

    /// How much it matters that a launch has the debug heap: on another system than Windows only for others who share the
    /// project.
    pub(crate) fn debug_heap_severity(&self) -> Severity {
        if self.system == System::Windows { Severity::High } else { Severity::Low }
    }

    /// How much a mistake matters that keeps a remedy from working.
    pub(crate) fn mistake_severity(&self) -> Severity {
        if self.system == System::Windows { Severity::Medium } else { Severity::Low }
    }

    /// A path as messages have it: relative to the project if it is in there.
    pub(crate) fn shown(&self, file: &Path) -> String {
        let short = file.strip_prefix(&self.folder).unwrap_or(file);
        crate::text::plain(&short.display().to_string())
    }
}
