//! `cargo xtask bench`: builds what is measured, then measures.

use crate::{build, cargo, install};
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
    let is_sampled = arguments.first().is_some_and(|task| task == "sampled");
    if is_replay || is_tune || is_sampled {
        cargo::run(&["build", "--release", "-p", "async-server", "-p", "fragmentation"])?;
    }
    if is_replay {
        allocators(&target)?;
    }
    if arguments.first().is_some_and(|task| task == "library") {
        let is_quick = arguments.iter().any(|argument| argument == "--quick");
        wrappers(&target, if is_quick { 1 } else { LAYOUTS })?;
    }
    if arguments.first().is_some_and(|task| task == "record" || task == "sampled") {
        let programs = ["--bin", "pairs_jemalloc", "--bin", "pairs_mimalloc"];
        cargo::run(&[&["build", "--release", "-p", "wrappers"], &programs[..]].concat())?;
        allocators(&target)?;
    }
    let is_peers = arguments.first().is_some_and(|task| task == "peers");
    if is_peers {
        cargo::run(&["build", "--release", "-p", "with-dhat"])?;
        cargo::run(&["build", "--release", "-p", "poetry-contest", "--example", "dhat_contest"])?;
    }
    // Without heaptrack there is still something to measure.
    let sampled = [install::FOR_REPLAYS, install::FOR_SAMPLES].concat();
    let needed = match arguments.first().and_then(|task| task.to_str()) {
        _ if is_replay => install::FOR_REPLAYS,
        Some("peers") => install::FOR_PEERS,
        Some("sampled") => &sampled,
        _ => install::FOR_BENCHMARKS,
    };
    if let Err(problem) = install::programs(needed, true) {
        eprintln!("xtask: {problem:#}");
    }
    if is_peers {
        // Without one of them there are still the others.
        if let Err(problem) = memray(&target.join("bench/peers/memray")) {
            eprintln!("xtask: {problem:#}");
        }
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

/// What is compared with, for Python: the version with which the figures of the documents were made.
const MEMRAY: &str = "memray==1.20.0";

/// Installs memray into a folder of its own, with an interpreter that is a link to that of `python3`.
fn memray(folder: &Path) -> Result<()> {
    let python = folder.join("bin/python");
    let mut is_there = Command::new(&python);
    if is_there.args(["-c", "import memray"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    eprintln!("xtask: python3 -m venv {}; pip install {MEMRAY}", folder.display());
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", MEMRAY]);
    for command in [&mut venv, &mut pip] {
        let output = command.output().context("cannot run python3")?;
        // venv says on standard output which package of the system it lacks.
        let said = [output.stdout, output.stderr].concat();
        ensure!(
            output.status.success(),
            "memray is not installed:\n{}",
            String::from_utf8_lossy(&said).trim()
        );
    }
    Ok(())
}

/// Builds the allocators that are preloaded.
fn allocators(target: &Path) -> Result<()> {
    for allocator in heapwise_allocators::bundled() {
        build::allocator(target, allocator.name())?;
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
        let is_built = |features: &[&str]| -> Result<bool> {
            let mut command =
                cargo::command(&[&["build", "--quiet", "--release", "-p", "wrappers"], features].concat());
            let status = command.env("HEAPWISE_BENCH_LAYOUT", number.to_string()).status();
            Ok(status.context("cannot run cargo")?.success())
        };
        // The library has a branch more in each call where a program can serve, so the others are without that.
        let are_built = is_built(&["--features", "snmalloc", "--bins"])?
            && is_built(&["--features", "serve", "--bin", "wrapper_served"])?;
        if !are_built && number > 0 {
            eprintln!("xtask: the linker does not shuffle (it is not lld); one layout has to do");
            return std::fs::remove_dir_all(&layout)
                .with_context(|| format!("cannot remove {}", layout.display()));
        }
        ensure!(are_built, "the programs of benches/wrappers do not build");
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
