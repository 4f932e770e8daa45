//! `cargo xtask test`: all that a change has to pass.

use crate::jobs::{self, Job};
use crate::{build, cargo, dist, fleet, install, model, tidy, web, windows};
use anyhow::{Context, Result, bail, ensure};
use std::process::Command;
use std::str::FromStr;
use std::time::Instant;

/// One of the steps, in the order in which they are done: what is quick and fails often comes first. The last ones wait for
/// programs as often as they compute, so they run beside each other, each as a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The code is formatted.
    Fmt,
    /// The rules that the compiler does not check.
    Tidy,
    /// No warnings.
    Clippy,
    /// The programs, and what tests them.
    Build,
    /// What is passed on works where it is installed.
    Dist,
    /// Ring and trie of the recorder in every schedule.
    Model,
    /// The HTML report: its program, and what a browser makes of it.
    Web,
    /// What runs on Windows, under Wine.
    Windows,
    /// Questions about many recordings: a separate workspace, with its engine.
    Fleet,
    Test,
}

const ALL: [(Step, &str); 10] = [
    (Step::Fmt, "fmt"),
    (Step::Tidy, "tidy"),
    (Step::Clippy, "clippy"),
    (Step::Build, "build"),
    (Step::Dist, "dist"),
    (Step::Model, "model"),
    (Step::Web, "web"),
    (Step::Windows, "windows"),
    (Step::Fleet, "fleet"),
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
    /// All but this step.
    pub without: Option<Step>,
    /// Install what is missing.
    pub install: bool,
}

/// Steps that need nothing of each other.
const BESIDE_TESTS: [Step; 4] = [Step::Windows, Step::Fleet, Step::Web, Step::Model];

/// Does the steps up to the first one that fails. Those that are jobs are all done.
///
/// # Errors
/// When a step fails, or programs are missing that it needs.
pub fn run(options: &Options) -> Result<()> {
    for (step, name) in ALL {
        let is_wanted = match options.only {
            Some(only) => only == step,
            None => !BESIDE_TESTS.contains(&step) && options.without != Some(step),
        };
        if !is_wanted {
            continue;
        }
        let begin = Instant::now();
        match step {
            Step::Fmt => {
                install::component("rustfmt", "fmt", options.install)?;
                cargo::run(&["fmt", "--all", "--check"])?;
                // Separate workspaces, as fuzz is.
                for manifest in ["allocators/Cargo.toml", "fleet/Cargo.toml"] {
                    cargo::run(&["fmt", "--all", "--check", "--manifest-path", manifest])?;
                }
            }
            Step::Tidy => tidy::run()?,
            Step::Clippy => {
                install::component("clippy", "clippy", options.install)?;
                cargo::run(
                    &[&["clippy"], cargo::WORKSPACE, &["--all-targets", "--", "-D", "warnings"]].concat(),
                )?;
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
            Step::Fleet => fleet::check(options.install)?,
            Step::Test => {
                install::programs(install::FOR_TESTS, options.install)?;
                install::python_packages(options.install)?;
                // Statically linked programs that record themselves.
                install::target("x86_64-unknown-linux-musl", options.install);
                let mut beside = if options.only.is_none() { BESIDE_TESTS.to_vec() } else { Vec::new() };
                beside.retain(|step| options.without != Some(*step));
                tests(&beside, options.install)?;
            }
        }
        eprintln!("xtask: {name} took {:.0} s", begin.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Whether the fuzz targets compile: a separate workspace that no other step builds.
fn fuzz_targets() -> Result<()> {
    check_rust_only(&["check", "--quiet", "--locked", "--manifest-path", "fuzz/Cargo.toml"])
}

/// Whether the library compiles for systems that there is no machine for here, or no test of all of it.
fn other_systems(may_install: bool) -> Result<()> {
    const TARGETS: [&str; 3] =
        ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl"];
    let there = TARGETS.into_iter().filter(|target| install::target(target, may_install));
    let targets: Vec<_> = there.flat_map(|target| ["--target", target]).collect();
    if targets.is_empty() {
        return Ok(());
    }
    // All at once, so that no core waits for the end of one.
    let library = ["check", "--quiet", "-p", "heapwise", "--features", "record-to,serve,tracing"];
    check_rust_only(&[&library[..], &targets].concat())
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

/// What records programs on other systems is chosen on this one for its tests only. Of the whole workspace, since cargo would build
/// other features of most dependencies for one package.
const PORTABLE_RECORDER: &[&str] =
    &["--workspace", "--features", "heapwise/portable-recorder,heapwise/serve,wrappers/serve"];

/// Runs the tests and the steps beside them, and reports how many tests there were.
fn tests(steps: &[Step], may_install: bool) -> Result<()> {
    // What is compiled already comes first: a build for another system locks the folder for minutes.
    let mut jobs = vec![
        // Its unit tests are those of a crate of the workspace. A profile is served beside recordings of everything by the other tests.
        Job::cargo(&[&["test"], PORTABLE_RECORDER, &["--test", "recording", "--test", "serve"]].concat()),
        // Of the whole workspace: without some crates, cargo would build other features of most dependencies.
        Job::cargo(&[&["test", "--no-fail-fast", "--doc"], cargo::WORKSPACE].concat()),
    ];
    for (_, name) in steps.iter().flat_map(|step| ALL.into_iter().find(|(one, _)| one == step)) {
        // This program, also when a build has put another one in its place.
        let mut command = Command::new("/proc/self/exe");
        command.args(["test", "--only", name]);
        if !may_install {
            command.arg("--no-install");
        }
        jobs.push(Job::new(name.to_owned(), command));
    }
    // The messages of budgets depend on the line tables of an optimised program. It compiles while the first of these do, too, but in
    // another folder, where nothing of the workspace is: with that one package alone, a tenth of it is compiled.
    jobs.push(Job::cargo(&["test", "--release", "-p", "budgets", "--test", "budget_message"]));
    jobs.extend(jobs::executables()?);
    jobs::run(jobs, &mut std::io::stdout()).map(drop)
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
                .contains("fmt, tidy, clippy, build, dist, model, web, windows, fleet, test")
        );
    }
}
