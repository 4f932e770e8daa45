//! Which debuggers are installed for VS Code, from the user's home.
//!
//! The name of a folder below `extensions` has publisher, name and version. It counts on Windows alone: extensions on other
//! systems do not show what is installed on the machines with a debug heap.

use crate::places::Places;
use heapwise_environment::facts::System;
use std::fs;

/// Where VS Code and what is built from it keep extensions.
const HOMES: &[&str] = &[".vscode", ".vscode-insiders", ".vscode-oss", ".cursor"];

/// The extensions with debuggers that rust-analyzer can use, the one that it prefers first.
/// Source: `knownEngines` in editors/code/src/debug.ts.
pub(super) const DEBUGGERS: &[&str] =
    &["vadimcn.vscode-lldb", "llvm-vs-code-extensions.lldb-dap", "ms-vscode.cpptools"];

/// The debugger that rust-analyzer takes by itself. Nothing if that is not known.
pub(super) fn preferred(places: &Places) -> Option<&'static str> {
    if places.system != System::Windows {
        return None;
    }
    let home = places.home.as_ref()?;
    let folders = HOMES.iter().filter_map(|name| fs::read_dir(home.join(name).join("extensions")).ok());
    let names: Vec<_> =
        folders.flatten().flatten().map(|e| e.file_name().to_string_lossy().to_lowercase()).collect();
    let is_installed = |id: &str| {
        names.iter().any(|name| {
            let version = name.strip_prefix(id).and_then(|rest| rest.strip_prefix('-'));
            // `ms-vscode.cpptools-extension-pack` has no debugger.
            version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    DEBUGGERS.iter().copied().find(|id| is_installed(id))
}
