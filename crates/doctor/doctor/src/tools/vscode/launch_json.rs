//! `.vscode/launch.json`.

use super::launch;
use crate::json;
use crate::source::{Refused, Source};
use crate::survey::Report;
use crate::tools::{Known, Tool, ends_in};
use std::path::Path;

#[derive(Debug)]
pub(in crate::tools) struct LaunchJson;

impl Tool for LaunchJson {
    fn id(&self) -> &'static str {
        "vscode-launch"
    }

    fn about(&self) -> &'static str {
        ".vscode/launch.json: launch configurations of VS Code, for CodeLLDB, lldb-dap, C/C++ and others"
    }

    fn claims(&self, path: &Path) -> bool {
        ends_in(path, &[".vscode", "launch.json"])
    }

    fn read(&self, source: &Source, known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        if let Some(root) = json::parse(source)?.as_ref().and_then(|value| value.as_object()) {
            launch::read(source, root, source.folder(), known, report);
        }
        Ok(())
    }
}
