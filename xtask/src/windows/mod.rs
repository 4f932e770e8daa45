//! `cargo xtask windows`: builds for Windows and runs the tests under Wine.
//!
//! Everything that this makes is below `target/windows`, and the target itself comes from rustup where that has it
//! (docs/adr/0008-windows-from-linux.md).

mod reports;
mod rust_src;
mod standard_library;
mod wine;

use crate::{cargo, install};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is built for.
const TARGET: &str = "x86_64-pc-windows-gnu";

/// The linker, and what runs its programs.
const NEEDED: &[install::Needed] =
    &[("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-posix"), ("wine", "wine")];

/// The packages whose tests matter on Windows.
const TESTED: &[&str] =
    &["heapwise-environment", "heapwise-doctor", "heapwise-portable", "heapwise", "heapwise-cli"];

/// Many times what building and testing takes on two cores.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Where this cannot be had and may be missing: as with the programs that other tests need.
const SKIP: &str = "HEAPWISE_SKIP_MISSING";

/// Builds, runs the tests, and compares reports with those of Linux.
///
/// # Errors
/// When something is missing and may not be skipped, does not build, or a test fails.
pub fn run(may_install: bool) -> Result<()> {
    let folder = cargo::target()?.join("windows");
    let prefix = folder.join("wine");
    let variables = match prepare(&folder, &prefix, may_install) {
        Ok(variables) => variables,
        Err(problem) if std::env::var_os(SKIP).is_some_and(|value| value == "1") => {
            eprintln!("xtask: SKIPPED: {problem:#}");
            return Ok(());
        }
        Err(problem) => return Err(problem.context(format!("{SKIP}=1 skips the tests for Windows"))),
    };
    let result = check(&prefix, &variables);
    wine::stop(&variables);
    result
}

fn prepare(folder: &Path, prefix: &Path, may_install: bool) -> Result<Vec<(&'static str, OsString)>> {
    install::programs(NEEDED, may_install)?;
    let mut variables = wine::prepare(prefix)?;
    variables.push(("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", "x86_64-w64-mingw32-gcc".into()));
    if let Some(sysroot) = standard_library::prepare(folder, may_install)? {
        let mut flags = OsString::from("--sysroot\u{1f}");
        flags.push(sysroot);
        // With `--target`, these do not reach what is built for this machine: build scripts and procedural macros.
        variables.push(("CARGO_ENCODED_RUSTFLAGS", flags));
    }
    Ok(variables)
}

fn check(prefix: &Path, variables: &[(&'static str, OsString)]) -> Result<()> {
    let packages = TESTED.iter().flat_map(|package| ["-p", package]);
    let mut arguments = vec!["test", "--no-fail-fast", "--target", TARGET, "--lib", "--bins", "--tests"];
    arguments.extend(packages);
    // Programs that record themselves.
    arguments.extend(["--features", "heapwise/record-to"]);
    let quick = unoptimised(&std::fs::read_to_string(cargo::root().join("Cargo.toml"))?)?;
    arguments.extend(quick.iter().flat_map(|setting| ["--config", setting]));
    let runner = wine::runner(prefix);
    arguments.extend(["--config", &runner]);
    start(cargo::command(&arguments).envs(variables.iter().cloned()))?;
    reports::compare(variables)
}

/// Settings that take back what the workspace optimises in a debug build: tests start that thousands of times, but few start the one for
/// Windows, and compiling it takes longer.
fn unoptimised(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("Cargo.toml is not valid")?;
    let packages =
        manifest["profile"]["dev"]["package"].as_table().context("Cargo.toml optimises nothing")?;
    let optimised = packages.iter().filter(|(_, settings)| settings.get("opt-level").is_some());
    Ok(optimised.map(|(name, _)| format!("profile.dev.package.{name}.opt-level=0")).collect())
}

/// Shows a command and runs it. A program that hangs, which under Wine is often all that a crash looks like, is not waited
/// for.
fn start(command: &mut Command) -> Result<()> {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let program = PathBuf::from(command.get_program());
    let line = format!("{} {}", program.file_name().unwrap_or_default().to_string_lossy(), words.join(" "));
    eprintln!("xtask: {line}");
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            bail!("`{line}` did not end within {} minutes", PATIENCE.as_secs() / 60);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "`{line}` failed");
    Ok(())
}

/// Runs a command that is shown only if it fails. Returns what it wrote to standard output.
fn quietly(command: &mut Command) -> Result<String> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().with_context(|| format!("cannot run {}", program.display()))?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{} ended with {}:\n{said}{errors}", program.display(), output.status);
    Ok(said.into_owned())
}

/// Whether rustup did it.
fn rustup(arguments: &[&str]) -> bool {
    eprintln!("xtask: rustup {}", arguments.join(" "));
    let mut rustup = Command::new("rustup");
    rustup.args(arguments).current_dir(crate::cargo::root());
    rustup.output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_optimised_for_tests_is_not_for_windows() {
        let manifest = "[profile.dev.package.a]\nopt-level = 2\n[profile.dev.package.b]\ndebug = \"full\"\n";
        assert_eq!(unoptimised(manifest).expect("a manifest"), ["profile.dev.package.a.opt-level=0"]);
    }
}
