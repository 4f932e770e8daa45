//! `cargo xtask bench`: builds what is measured, then measures.

use crate::{cargo, install};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Builds in release mode and hands the arguments to the program that measures.
///
/// # Errors
/// When something does not build or cannot be measured.
pub fn run(arguments: &[OsString]) -> Result<()> {
    cargo::run(&["build", "--release", "-p", "heapwise-cli", "-p", "poetry-contest", "-p", "benches"])?;
    let target = cargo::target()?;
    let is_replay = arguments.first().is_some_and(|task| task == "replay");
    let is_tune = arguments.first().is_some_and(|task| task == "tune");
    if is_replay || is_tune {
        cargo::run(&["build", "--release", "-p", "async-server", "-p", "fragmentation"])?;
    }
    if is_replay {
        allocators(&target)?;
    }
    // Without heaptrack there is still something to measure.
    let needed = if is_replay { install::FOR_REPLAYS } else { install::FOR_BENCHMARKS };
    if let Err(problem) = install::programs(needed, true) {
        eprintln!("xtask: {problem:#}");
    }
    let status = Command::new(target.join("release/bench"))
        .args(arguments)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(cargo::root())
        .status()
        .context("cannot run the program that measures")?;
    ensure!(status.success(), "nothing was measured");
    Ok(())
}

/// Builds the allocators that are preloaded. Each is built alone: cargo would unite the features of those that are the same
/// crate.
fn allocators(target: &Path) -> Result<()> {
    for name in ["glibc", "jemalloc", "mimalloc", "mimalloc2", "snmalloc"] {
        let folder = target.join("allocators").join(name);
        let folder = folder.to_str().context("the target folder has a name that is not text")?;
        let manifest = ["--manifest-path", "allocators/Cargo.toml", "--target-dir", folder];
        cargo::run(&[&["build", "--quiet", "--locked", "--release", "-p", name], &manifest[..]].concat())?;
    }
    Ok(())
}
