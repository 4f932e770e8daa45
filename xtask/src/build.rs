//! The one build of the workspace that the steps share, and of what is built apart from it.

use crate::cargo;
use anyhow::{Context, Result, ensure};
use heapwise_allocators::library;
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
/// # Errors
/// When it does not build.
pub fn allocator(target: &Path, name: &str) -> Result<PathBuf> {
    let (mut cargo, library) = library(cargo::root(), &target.join("allocators"), name, None);
    eprintln!("xtask: building {name}");
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(status.success(), "the allocator {name} did not build");
    Ok(library)
}
