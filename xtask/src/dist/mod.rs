//! `cargo xtask dist`: the archives that heapwise is passed on as: a tar.gz and a .deb for Linux, a .zip for Windows.
//!
//! They are packed by the programs that every Debian has, and do not depend on when or by whom they were made.

mod check;
mod licences;
mod pack;
mod stage;

use crate::{cargo, install};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

pub use check::check;

/// What packs.
const NEEDED: &[install::Needed] = &[("tar", "tar"), ("gzip", "gzip"), ("dpkg-deb", "dpkg"), ("zip", "zip")];
/// What the programs for Windows are built for.
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The two builds of the programs that can be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// What is passed on.
    Release,
    /// What tests have at hand.
    Debug,
}

/// Builds the programs in release mode and packs them into `target/dist`.
///
/// # Errors
/// When something does not build, or cannot be packed.
pub fn run(may_install: bool) -> Result<()> {
    install::programs(NEEDED, may_install)?;
    let folder = cargo::target()?.join("dist");
    cargo::run(&["build", "--release", "-p", "heapwise-cli", "-p", "cargo-heapwise"])?;
    for archive in linux(&folder, Build::Release)? {
        println!("{}", archive.display());
    }
    if install::target(WINDOWS, may_install) {
        cargo::run(&["build", "--release", "-p", "heapwise-cli", "--target", WINDOWS])?;
        println!("{}", windows(&folder)?.display());
    }
    Ok(())
}

/// The archives for Linux.
fn linux(folder: &Path, build: Build) -> Result<[PathBuf; 2]> {
    let programs = cargo::target()?.join(if build == Build::Release { "release" } else { "debug" });
    let name = format!("heapwise-{}-x86_64-linux", version());
    let tree = folder.join(&name);
    stage::linux(&programs, &tree)?;
    Ok([pack::tar(&tree)?, pack::deb(&tree, folder)?])
}

fn windows(folder: &Path) -> Result<PathBuf> {
    let program = cargo::target()?.join(WINDOWS).join("release/heapwise.exe");
    let tree = folder.join(format!("heapwise-{}-x86_64-windows", version()));
    stage::windows(&program, &tree)?;
    pack::zip(&tree)
}

/// The version of the workspace, which this crate has, too.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Makes a folder that is empty.
fn fresh(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(folder),
    }
    .with_context(|| format!("cannot make {}", folder.display()))
}
