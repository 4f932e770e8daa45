//! `settings.json` of a folder and of a user.

use super::{launch, settings};
use crate::json;
use crate::places::{Owner, Places};
use crate::report::Report;
use crate::source::{Refused, Source};
use crate::tools::{Known, Tool, ends_in};
use std::path::{Path, PathBuf};

/// Editors that are built from VS Code, by the names of their folders.
const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Code - OSS", "Cursor"];

#[derive(Debug)]
pub(in crate::tools) struct SettingsJson;

/// The scope of the settings: the folder `.vscode`, or a user.
fn place(source: &Source) -> &Path {
    match source.owner {
        Owner::Project => source.folder(),
        Owner::User => &source.file,
    }
}

impl Tool for SettingsJson {
    fn id(&self) -> &'static str {
        "vscode-settings"
    }

    fn about(&self) -> &'static str {
        "settings.json of a folder and of a user: what CodeLLDB and rust-analyzer give to every launch"
    }

    fn claims(&self, path: &Path) -> bool {
        ends_in(path, &[".vscode", "settings.json"])
    }

    /// Source: <https://code.visualstudio.com/docs/configure/settings#_user-settingsjson-location>.
    fn of_user(&self, places: &Places) -> Vec<PathBuf> {
        let folder = places.settings_folder();
        let file =
            |folder: PathBuf| EDITORS.iter().map(move |e| folder.join(e).join("User").join("settings.json"));
        folder.into_iter().flat_map(file).collect()
    }

    fn learn(&self, source: &Source, known: &mut Known) {
        if let Ok(Some(value)) = json::parse(source)
            && let Some(object) = value.as_object()
        {
            settings::learn(source, object, place(source), source.owner == Owner::User, known);
        }
    }

    fn read(&self, source: &Source, known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        if let Some(root) = json::parse(source)?.as_ref().and_then(|value| value.as_object()) {
            // A user's own configurations are below "launch".
            if let Some(own) = json::object(root, "launch") {
                launch::read(source, own, place(source), known, report);
            }
            settings::read(source, root, place(source), known, report);
        }
        Ok(())
    }
}
