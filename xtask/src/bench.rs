//! `cargo xtask bench`: builds what is measured, then measures.

use crate::{cargo, install};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::process::Command;

/// Builds in release mode and hands the arguments to the program that measures.
///
/// # Errors
/// When something does not build or cannot be measured.
pub fn run(arguments: &[OsString]) -> Result<()> {
    cargo::run(&["build", "--release", "-p", "heapwise-cli", "-p", "poetry-contest", "-p", "benches"])?;
    // Without heaptrack there is still something to measure.
    if let Err(problem) = install::programs(install::FOR_BENCHMARKS, true) {
        eprintln!("xtask: {problem:#}");
    }
    let target = cargo::target()?;
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
