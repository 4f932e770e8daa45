//! The one build of the workspace that the steps share, and of what is built apart from it.

use crate::cargo;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Builds everything that the tests have, programs and examples among it, and returns the folder in which they are.
///
/// Cargo chooses the features of a dependency by the requested packages. A request for one package alone builds most of the
/// workspace once more.
///
/// # Errors
/// When it does not build.
pub fn workspace() -> Result<PathBuf> {
    cargo::run(&[&["test"], cargo::WORKSPACE, &["--no-run"]].concat())?;
    Ok(cargo::target()?.join("debug"))
}

/// Builds an allocator as a library to preload, and returns its file.
///
/// Each is built alone: cargo would unite the features of those that are the same crate.
///
/// # Errors
/// When it does not build.
pub fn allocator(target: &Path, name: &str) -> Result<PathBuf> {
    let folder = target.join("allocators").join(name);
    let path = folder.to_str().context("the target folder has a name that is not text")?;
    let manifest = ["--manifest-path", "allocators/Cargo.toml", "--target-dir", path];
    cargo::run(&[&["build", "--quiet", "--locked", "--release", "-p", name], &manifest[..]].concat())?;
    Ok(folder.join(format!("release/lib{name}.so")))
}
