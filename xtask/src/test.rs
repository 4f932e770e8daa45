//! `cargo xtask test`: all that a change has to pass.

use crate::totals::Totals;
use crate::{build, cargo, dist, install, model, tidy, web, windows};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::str::FromStr;

/// One of the steps, in the order in which they are done: what is quick and fails often comes first, and the tests come
/// last, so that their results are the last thing to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The code is formatted.
    Fmt,
    /// The rules that the compiler does not check.
    Tidy,
    /// No warnings.
    Clippy,
    /// Ring and trie of the recorder in every schedule.
    Model,
    /// The programs, and what tests them.
    Build,
    /// What is passed on works where it is installed.
    Dist,
    /// The HTML report: its program, and what a browser makes of it.
    Web,
    /// What runs on Windows, under Wine.
    Windows,
    Test,
}

const ALL: [(Step, &str); 9] = [
    (Step::Fmt, "fmt"),
    (Step::Tidy, "tidy"),
    (Step::Clippy, "clippy"),
    (Step::Model, "model"),
    (Step::Build, "build"),
    (Step::Dist, "dist"),
    (Step::Web, "web"),
    (Step::Windows, "windows"),
    (Step::Test, "test"),
];

impl FromStr for Step {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match ALL.iter().find(|(_, name)| *name == text) {
            Some((step, _)) => Ok(*step),
            None => bail!("there is no step {text}, only {}", ALL.map(|(_, name)| name).join(", ")),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Only this step.
    pub only: Option<Step>,
    /// Install what is missing.
    pub install: bool,
}

/// Does the steps up to the first one that fails.
///
/// # Errors
/// When a step fails, or programs are missing that it needs.
pub fn run(options: &Options) -> Result<()> {
    for (step, _) in ALL {
        if options.only.is_some_and(|only| only != step) {
            continue;
        }
        match step {
            Step::Fmt => {
                install::component("rustfmt", "fmt", options.install)?;
                cargo::run(&["fmt", "--all", "--check"])?;
                // A separate workspace, as fuzz is.
                cargo::run(&["fmt", "--all", "--check", "--manifest-path", "allocators/Cargo.toml"])?;
            }
            Step::Tidy => tidy::run()?,
            Step::Clippy => {
                install::component("clippy", "clippy", options.install)?;
                cargo::run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
                let portable =
                    [&["clippy"], PORTABLE_RECORDER, &["--all-targets", "--", "-D", "warnings"]].concat();
                cargo::run(&portable)?;
                fuzz_targets()?;
                other_systems(options.install)?;
            }
            Step::Model => model::run()?,
            Step::Build => build::workspace().map(drop)?,
            Step::Dist => {
                build::workspace()?;
                dist::check(options.install)?;
            }
            Step::Web => web::check(options.install)?,
            Step::Windows => windows::run(options.install)?,
            Step::Test => {
                install::programs(install::FOR_TESTS, options.install)?;
                // Statically linked programs that record themselves.
                install::target("x86_64-unknown-linux-musl", options.install);
                tests()?;
                // The messages of budgets depend on the line tables of an optimised program.
                cargo::run(&["test", "--release", "-p", "heapwise", "--test", "budget_message"])?;
            }
        }
    }
    Ok(())
}

/// Whether the fuzz targets compile: a separate workspace that no other step builds.
fn fuzz_targets() -> Result<()> {
    check_rust_only(&["check", "--quiet", "--locked", "--manifest-path", "fuzz/Cargo.toml"])
}

/// Whether the library compiles for systems that there is no machine for here.
fn other_systems(may_install: bool) -> Result<()> {
    const LIBRARY: &[&str] = &["check", "--quiet", "-p", "heapwise", "--features", "record-to,tracing"];
    for target in ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu"] {
        if install::target(target, may_install) {
            check_rust_only(&[LIBRARY, &["--target", target]].concat())?;
        }
    }
    Ok(())
}

/// Checks code of which nothing is linked. What its dependencies have in C or C++ is not compiled, since there may be no
/// compiler for it.
fn check_rust_only(arguments: &[&str]) -> Result<()> {
    eprintln!("xtask: cargo {}", arguments.join(" "));
    let mut command = cargo::command(arguments);
    let status = command.env("CC", "true").env("CXX", "true").env("AR", "true").status();
    ensure!(status.context("cannot run cargo")?.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// What records programs on other systems is chosen on this one for its tests only.
const PORTABLE_RECORDER: &[&str] = &["-p", "heapwise", "--features", "record-to,portable-recorder"];

/// Runs the tests, and reports how many there were.
fn tests() -> Result<()> {
    let mut totals = Totals::default();
    let all = run_tests(&["test", "--workspace", "--no-fail-fast"], &mut totals);
    // Its unit tests are those of a crate of the workspace.
    let portable = [&["test"], PORTABLE_RECORDER, &["--test", "recording"]].concat();
    let portable = run_tests(&portable, &mut totals);
    println!("xtask: {totals}");
    all.and(portable)
}

/// How many tests of an executable run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs tests and passes on what they print.
fn run_tests(arguments: &[&str], totals: &mut Totals) -> Result<()> {
    eprintln!("xtask: cargo {}", arguments.join(" "));
    let mut command = cargo::command(arguments);
    if std::env::var_os(THREADS).is_none() {
        // Tests wait for programs as often as they compute.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (cores + 1).to_string());
    }
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("the output was to be piped")?;
    let mut screen = std::io::stdout();
    // Bytes, because a test may print what is no text.
    for line in BufReader::new(output).split(b'\n') {
        let mut line = line?;
        totals.add(&String::from_utf8_lossy(&line));
        line.push(b'\n');
        screen.write_all(&line)?;
    }
    let status = child.wait()?;
    ensure!(status.success(), "`cargo test` failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read() {
        assert_eq!("clippy".parse::<Step>().unwrap(), Step::Clippy);
        assert!(
            "lint"
                .parse::<Step>()
                .unwrap_err()
                .to_string()
                .contains("fmt, tidy, clippy, model, build, dist, web, windows, test")
        );
    }
}
