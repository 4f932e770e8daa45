//! The kinds of configuration files: one file each, and one table that lists them.

mod jetbrains;
mod known;
mod lldbinit;
mod visual_studio;
mod vscode;
mod xcode;
mod zed;

pub(crate) use known::{Known, Settings};

use crate::places::Places;
use crate::report::Report;
use crate::source::{Refused, Source};
use std::path::{Path, PathBuf};

/// A kind of configuration file.
pub(crate) trait Tool: Sync {
    fn id(&self) -> &'static str;

    /// Which files these are and what they contain, in one line.
    fn about(&self) -> &'static str;

    /// Whether a file of the project is one. The path is relative to the project.
    fn claims(&self, path: &Path) -> bool;

    /// Where a user keeps such files.
    fn of_user(&self, _places: &Places) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Notes what other files need from this one. A file that is not understood adds nothing.
    fn learn(&self, _source: &Source, _known: &mut Known) {}

    /// Reports which launches the file describes and what is wrong with them.
    fn read(&self, source: &Source, known: &Known, report: &mut Report<'_>) -> Result<(), Refused>;
}

/// All that are known. Settings come behind what they can help.
pub(crate) const TOOLS: &[&dyn Tool] = &[
    &vscode::LaunchJson,
    &vscode::SettingsJson,
    &vscode::CodeWorkspace,
    &jetbrains::RunConfigurations,
    &visual_studio::ProjectUser,
    &zed::DebugJson,
    &lldbinit::LldbInit,
    &xcode::Scheme,
];

/// The kinds of configuration files that are read, each with a line about it.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOOLS.iter().map(|tool| (tool.id(), tool.about()))
}

/// Whether a path ends in these parts.
fn ends_in(path: &Path, parts: &[&str]) -> bool {
    path.ends_with(parts.iter().collect::<PathBuf>())
}

/// Whether a file's name ends like this.
fn has_suffix(path: &Path, suffix: &str) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_a_name_and_a_row_in_the_documentation() {
        let documentation = include_str!("../../../../../docs/ides.md");
        let names: BTreeSet<_> = kinds().map(|(id, _)| id).collect();
        assert_eq!(names.len(), TOOLS.len());
        for name in names {
            assert!(documentation.contains(&format!("`{name}`")), "docs/ides.md does not mention {name}");
        }
    }

    #[test]
    fn files_are_claimed_by_one_kind_at_most() {
        let claimed = |path: &str| {
            let path = Path::new(path);
            TOOLS.iter().filter(|t| t.claims(path)).map(|t| t.id()).collect::<Vec<_>>().join(" ")
        };
        for (path, kind) in [
            (".vscode/launch.json", "vscode-launch"),
            ("sub/.vscode/settings.json", "vscode-settings"),
            ("all.code-workspace", "code-workspace"),
            (".idea/workspace.xml", "jetbrains"),
            (".idea/runConfigurations/Debug.xml", "jetbrains"),
            (".run/Debug.run.xml", "jetbrains"),
            ("vs/app.vcxproj.user", "visual-studio"),
            (".zed/debug.json", "zed"),
            (".lldbinit", "lldbinit"),
            ("A.xcodeproj/xcshareddata/xcschemes/A.xcscheme", "xcode-scheme"),
            ("A.xcodeproj/xcuserdata/me.xcuserdatad/xcschemes/A.xcscheme", "xcode-scheme"),
            ("launch.json", ""),
            (".vscode/launch.json.heapwise-backup", ""),
            (".idea/runConfigurations/Debug.xml.heapwise-backup", ""),
            (".idea/modules.xml", ""),
        ] {
            assert_eq!(claimed(path), kind, "{path}");
        }
    }
}
