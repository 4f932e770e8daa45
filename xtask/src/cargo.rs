//! Running cargo, and where its files are.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// All packages, with what programs serve, which no package of the workspace has without being asked.
pub const WORKSPACE: &[&str] = &["--workspace", "--features", "heapwise/serve,wrappers/serve"];

/// The folder of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this crate lies in a folder of the workspace")
}

/// The cargo that runs this task, to be run in the folder of the workspace.
#[must_use]
pub fn command(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(root());
    heapwise_allocators::build_quickly(&mut cargo);
    cargo
}

/// Shows a command of cargo and runs it.
///
/// # Errors
/// When it fails.
pub fn run(arguments: &[&str]) -> Result<()> {
    let line = arguments.join(" ");
    eprintln!("xtask: cargo {line}");
    let status = command(arguments).status().context("cannot run cargo")?;
    ensure!(status.success(), "`cargo {line}` failed");
    Ok(())
}

/// cargo's metadata of the packages, those of other platforms included: what only the program for Windows has is built and passed
/// on as well.
///
/// # Errors
/// When cargo cannot read the workspace.
pub fn metadata(dependencies: bool) -> Result<serde_json::Value> {
    ask(if dependencies { &[] } else { &["--no-deps"] })
}

/// The same, with dependencies, about another workspace of the project.
///
/// # Errors
/// When cargo cannot read the workspace.
pub fn metadata_of(manifest: &str) -> Result<serde_json::Value> {
    ask(&["--manifest-path", manifest])
}

fn ask(more: &[&str]) -> Result<serde_json::Value> {
    let mut cargo = command(&["metadata", "--format-version", "1"]);
    cargo.args(more);
    let output = cargo.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The folder that cargo builds in.
///
/// # Errors
/// When cargo cannot read the workspace.
pub fn target() -> Result<PathBuf> {
    let metadata = metadata(false)?;
    Ok(metadata["target_directory"].as_str().context("cargo does not say where it builds")?.into())
}
