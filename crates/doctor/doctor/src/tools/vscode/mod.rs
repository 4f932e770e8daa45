//! Visual Studio Code, and editors that are built from it.

mod code_workspace;
mod engine;
mod extensions;
mod launch;
mod launch_json;
mod settings;
mod settings_json;

pub(super) use code_workspace::CodeWorkspace;
pub(super) use launch_json::LaunchJson;
pub(super) use settings_json::SettingsJson;
