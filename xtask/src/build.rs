//! The one build of the workspace that the steps share.

use crate::cargo;
use anyhow::Result;
use std::path::PathBuf;

/// Builds everything that the tests have, programs and examples among it, and returns the folder in which they are.
///
/// Cargo chooses the features of a dependency by the packages that it is asked for. Whoever asks for one package alone
/// gets most of the workspace built once more.
///
/// # Errors
/// When it does not build.
pub fn workspace() -> Result<PathBuf> {
    cargo::run(&["test", "--workspace", "--no-run"])?;
    Ok(cargo::target()?.join("debug"))
}
