//! The one build of the workspace that the steps share.

use crate::cargo;
use anyhow::Result;
use std::path::PathBuf;

/// Builds everything that the tests have, programs and examples among it, and returns the folder in which they are.
///
/// Cargo chooses the features of a dependency by the requested packages. A request for one package alone builds most of the
/// workspace once more.
///
/// # Errors
/// When it does not build.
pub fn workspace() -> Result<PathBuf> {
    cargo::run(&["test", "--workspace", "--no-run"])?;
    Ok(cargo::target()?.join("debug"))
}
