//! The environment of a worker.

use crate::lab::conditions::clean;
use crate::lab::variable::FOLDER_VARIABLE;
use std::path::Path;
use std::process::Command;

/// Nothing of the shell's that concerns the heap, and the folder for files.
pub(super) fn prepare(command: &mut Command, folder: Option<&Path>) {
    clean(command);
    if let Some(folder) = folder {
        command.env(FOLDER_VARIABLE, folder);
    }
}
