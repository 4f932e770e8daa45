//! `cargo xtask schemas`: the JSON Schemas and the columns of what heapwise writes, made of the structures that write it.

use crate::cargo;
use anyhow::{Context, Result, ensure};

/// Has the tests that compare the files with the structures write them.
///
/// # Errors
/// When they do not build, or cannot write.
pub fn write() -> Result<()> {
    let packages = ["-p", "heapwise-report", "-p", "heapwise-tables", "-p", "heapwise"];
    let mut command = cargo::command(&["test", "--lib", "the_files_are_those_of_the_structures"]);
    let status = command.args(packages).env("UPDATE_SNAPSHOTS", "1").status().context("cannot run cargo")?;
    ensure!(status.success(), "docs/schema was not written");
    Ok(())
}
