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
    if arguments.first().is_some_and(|task| task == "library") {
        let is_quick = arguments.iter().any(|argument| argument == "--quick");
        wrappers(&target, if is_quick { 1 } else { LAYOUTS })?;
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
    for name in heapwise_allocators::carried().map(|allocator| allocator.name()) {
        let folder = target.join("allocators").join(name);
        let folder = folder.to_str().context("the target folder has a name that is not text")?;
        let manifest = ["--manifest-path", "allocators/Cargo.toml", "--target-dir", folder];
        cargo::run(&[&["build", "--quiet", "--locked", "--release", "-p", name], &manifest[..]].concat())?;
    }
    Ok(())
}

/// How many times the programs of `bench library` are linked, with functions in another order each time.
const LAYOUTS: usize = 7;

/// Builds the programs of `bench library` into one folder for each layout. In the first one functions lie as they usually do.
fn wrappers(target: &Path, layouts: usize) -> Result<()> {
    let folder = target.join("bench/library");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    for number in 0..layouts {
        let layout = folder.join(format!("layout-{number}"));
        std::fs::create_dir_all(&layout).with_context(|| format!("cannot make {}", layout.display()))?;
        let arguments =
            ["build", "--quiet", "--release", "-p", "wrappers", "--features", "snmalloc", "--bins"];
        let status = cargo::command(&arguments)
            .env("HEAPWISE_BENCH_LAYOUT", number.to_string())
            .status()
            .context("cannot run cargo")?;
        if !status.success() && number > 0 {
            eprintln!("xtask: the linker does not shuffle (it is not lld); one layout has to do");
            return std::fs::remove_dir_all(&layout)
                .with_context(|| format!("cannot remove {}", layout.display()));
        }
        ensure!(status.success(), "cargo build -p wrappers --features snmalloc failed");
        for entry in std::fs::read_dir(target.join("release")).context("there is a folder of programs")? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_candidate = ["wrapper_", "bare_", "over_"].iter().any(|prefix| name.starts_with(prefix));
            if is_candidate && path.extension().is_none() {
                std::fs::copy(&path, layout.join(name))
                    .with_context(|| format!("cannot copy {}", path.display()))?;
            }
        }
    }
    Ok(())
}
