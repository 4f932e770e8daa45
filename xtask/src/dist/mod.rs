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

pub use check::{check, check_fleet};

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

/// What is passed on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Package {
    /// `heapwise` and `cargo heapwise`.
    Heapwise,
    /// The engine for questions about many recordings, which is larger than all the rest.
    Fleet,
}

impl Package {
    const fn name(self) -> &'static str {
        match self {
            Self::Heapwise => "heapwise",
            Self::Fleet => "heapwise-fleet",
        }
    }
}

/// Builds the programs in release mode and packs them into `target/dist`.
///
/// # Errors
/// When something does not build, or cannot be packed.
pub fn run(may_install: bool) -> Result<()> {
    install::programs(NEEDED, may_install)?;
    let folder = cargo::target()?.join("dist");
    cargo::run(&["build", "--release", "-p", "heapwise-cli", "-p", "cargo-heapwise"])?;
    fleet_in_release()?;
    for package in [Package::Heapwise, Package::Fleet] {
        for archive in linux(&folder, package, Build::Release)? {
            println!("{}", archive.display());
        }
    }
    if install::target(WINDOWS, may_install) {
        cargo::run(&["build", "--release", "-p", "heapwise-cli", "--target", WINDOWS])?;
        println!("{}", windows(&folder)?.display());
    }
    Ok(())
}

/// Builds the engine, which takes up to half an hour, in the folder that its tests have.
fn fleet_in_release() -> Result<()> {
    let folder = cargo::target()?.join("fleet");
    let folder = folder.to_str().context("the target folder has a name that is not text")?;
    let manifest = ["--manifest-path", "fleet/Cargo.toml", "--target-dir", folder];
    cargo::run(&[&["build", "--release", "--locked", "--bin", "heapwise-fleet"], &manifest[..]].concat())
}

/// The archives of a package for Linux.
fn linux(folder: &Path, package: Package, build: Build) -> Result<[PathBuf; 2]> {
    let target = cargo::target()?;
    let built = match package {
        Package::Heapwise => target,
        Package::Fleet => target.join("fleet"),
    };
    let programs = built.join(if build == Build::Release { "release" } else { "debug" });
    let tree = folder.join(format!("{}-{}-x86_64-linux", package.name(), version()));
    stage::linux(package, &programs, &tree)?;
    Ok([pack::tar(&tree)?, pack::deb(package, &tree, folder)?])
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
