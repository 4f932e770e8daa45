//! The step for `fleet/`: the engine for questions about many recordings.

use crate::{build, cargo, install};
use anyhow::{Context, Result, ensure};
use std::path::Path;

const MANIFEST: &str = "fleet/Cargo.toml";

/// What [`check`] tells the tests: which heapwise makes tables of recordings, and which Python has DuckDB.
const PROGRAM: &str = "HEAPWISE_PROGRAM";
const PYTHON: &str = "HEAPWISE_PYTHON";

/// Compiles it and runs its tests. The engine takes minutes to compile, so it is compiled once: clippy is the compiler, which it is
/// where nothing has to be fast.
///
/// # Errors
/// When there is a warning, or a test fails.
pub(crate) fn check(may_install: bool) -> Result<()> {
    install::component("clippy", "clippy", may_install)?;
    let target = cargo::target()?;
    let programs = build::workspace()?;
    let folder = target.join("fleet");
    let folder = folder.to_str().context("the target folder has a name that is not text")?;
    let arguments =
        ["test", "--locked", "--no-fail-fast", "--manifest-path", MANIFEST, "--target-dir", folder];
    eprintln!("xtask: cargo {}", arguments.join(" "));
    let mut command = cargo::command(&arguments);
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", flags(&["-D", "warnings"]));
    command.env(PROGRAM, programs.join("heapwise")).env(PYTHON, python(&target));
    ensure!(command.status().context("cannot run cargo")?.success(), "the tests of {MANIFEST} failed");
    Ok(())
}

/// Flags as `cargo clippy` passes them on.
fn flags(flags: &[&str]) -> String {
    flags.iter().map(|flag| format!("{flag}__CLIPPY_HACKERY__")).collect()
}

fn python(target: &Path) -> std::path::PathBuf {
    target.join("python/bin/python3")
}
