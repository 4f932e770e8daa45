//! How programs are recorded that cargo starts: this program is their *runner*.
//!
//! Cargo starts a runner with the program and its arguments, if a variable names one. So cargo chooses the program and gives it
//! the folder and the variables that it has without heapwise, and what `cargo run` and `cargo test` take and print is the same.
//! The runner becomes `heapwise run` with that program. What it has to know comes as a *plan* in a variable, since a runner's
//! words are separated at spaces; the program does not see it.

use crate::args::Build;
use crate::config::Config;
use crate::recordings::free;
use crate::{Failure, cargo, exit, program};
use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hidden command.
pub(crate) const COMMAND: &str = "run-for-cargo";
/// Has the plan, as JSON.
const PLAN: &str = "HEAPWISE_CARGO_PLAN";
/// Has the names of the variables that name the runner.
const RUNNERS: &str = "HEAPWISE_CARGO_RUNNERS";
/// Passes their own path to programs that rustdoc made.
const DOCUMENTATION: &str = "RUSTDOC_DOCTEST_BIN_PATH";

/// What to do with the programs that cargo starts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The program `heapwise`.
    pub(crate) heapwise: PathBuf,
    /// Options of `heapwise run`.
    pub(crate) options: Vec<String>,
    /// Where recordings go.
    pub(crate) to: To,
}

/// Where recordings go.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum To {
    /// The only one. An empty file at `chosen` receives its path, which may depend on the program's name.
    One {
        /// The folder, if the user named no file.
        folder: PathBuf,
        /// What the user named.
        file: Option<PathBuf>,
        /// Gets the path of the recording.
        chosen: PathBuf,
    },
    /// One for each test executable, with its report as JSON.
    Each {
        /// Folder of recordings.
        folder: PathBuf,
        /// Folder of reports.
        reports: PathBuf,
    },
}

/// Prepares cargo to start the programs that it builds with a plan. Arguments of the program come behind this.
pub(crate) fn prepare(
    command: &mut Command,
    build: &Build,
    config: &Config,
    plan: &Plan,
) -> Result<(), Failure> {
    let own = std::env::current_exe().context("cannot find the own executable")?;
    let own = own.to_str().context("the path of cargo-heapwise is not UTF-8; install it elsewhere")?;
    let targets = cargo::targets(build, config)?;
    let variables: Vec<_> = targets.iter().map(|target| cargo::runner_variable(target)).collect();
    let text = serde_json::to_string(plan).context("a path is not UTF-8; choose other folders")?;
    command.env(PLAN, text).env(RUNNERS, variables.join(" "));
    // A variable comes before what files of configuration say, and cargo separates its words at spaces.
    if own.contains(char::is_whitespace) {
        for target in &targets {
            command.arg("--config").arg(runner_setting(target, own)?);
        }
    } else {
        for name in &variables {
            command.env(name, format!("{own} {COMMAND}"));
        }
    }
    Ok(())
}

/// A line of configuration that names the runner. A JSON string is a valid TOML string.
fn runner_setting(target: &str, own: &str) -> Result<String, Failure> {
    let quoted = |text: &str| serde_json::to_string(text);
    Ok(format!("target.{}.runner=[{},{}]", quoted(target)?, quoted(own)?, quoted(COMMAND)?))
}

/// Replaces this process by `heapwise run` with the program that cargo starts.
pub(crate) fn run(command: &[OsString]) -> Result<u8, Failure> {
    let text = std::env::var(PLAN);
    let text = text.map_err(|_| anyhow!("{COMMAND} is for cargo; use `cargo heapwise run` or `test`"));
    let text = text.map_err(|error| Failure::new(exit::USAGE, error))?;
    let plan: Plan = serde_json::from_str(&text).with_context(|| format!("{PLAN} is not a plan"))?;
    let executable = Path::new(&command[0]);
    let mut next = match words(&plan, executable)? {
        Some(words) => {
            let mut next = Command::new(&plan.heapwise);
            next.arg("run").args(words).arg("--").args(command);
            next
        }
        None => {
            let mut next = Command::new(&command[0]);
            next.args(&command[1..]);
            // With a runner, rustdoc does not pass the path of a program of several tests to it, which the program needs to start
            // itself for each of them. Without it they would share a process.
            if std::env::var_os(DOCUMENTATION).is_none() {
                next.env(DOCUMENTATION, &command[0]);
            }
            next
        }
    };
    // The program is to see the environment that it has without heapwise, and its own calls of cargo as well.
    for name in std::env::var(RUNNERS).unwrap_or_default().split(' ').filter(|name| !name.is_empty()) {
        next.env_remove(name);
    }
    next.env_remove(PLAN).env_remove(RUNNERS);
    become_it(next)
}

/// What comes behind `heapwise run`, or nothing for a program that is not recorded.
fn words(plan: &Plan, executable: &Path) -> Result<Option<Vec<OsString>>, Failure> {
    let mut words: Vec<OsString> = plan.options.iter().map(Into::into).collect();
    match &plan.to {
        To::One { folder, file, chosen } => {
            let path = match file {
                Some(file) => file.clone(),
                None => free(folder, executable)?,
            };
            let text = serde_json::to_vec(&path).context("a path is not text")?;
            std::fs::write(chosen, text).with_context(|| format!("cannot write {}", chosen.display()))?;
            words.extend(["-o".into(), path.into()]);
        }
        To::Each { folder, reports } => {
            // Documentation tests are many small programs in a temporary folder.
            if executable.file_stem().is_some_and(|stem| stem == "rust_out") {
                return Ok(None);
            }
            let name = executable.file_stem().unwrap_or_default();
            let named = |folder: &Path, extension: &str| {
                let mut file = name.to_owned();
                file.push(extension);
                folder.join(file)
            };
            words.extend(["--force".into(), "-o".into(), named(folder, ".hw").into()]);
            words.extend(["--format".into(), "json".into()]);
            words.extend(["--report-file".into(), named(reports, ".json").into()]);
        }
    }
    Ok(Some(words))
}

/// Replaces this process by another program, so that signals reach it and its end is the end of this process.
#[cfg(unix)]
fn become_it(mut next: Command) -> Result<u8, Failure> {
    let error = std::os::unix::process::CommandExt::exec(&mut next);
    Err(not_started(&next, &error))
}

#[cfg(not(unix))]
fn become_it(mut next: Command) -> Result<u8, Failure> {
    match next.status() {
        Ok(status) => Ok(cargo::code(status)),
        Err(error) => Err(not_started(&next, &error)),
    }
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let name = Path::new(command.get_program()).display();
    let error = anyhow!("cannot start {name}: {error}; {} names another heapwise", program::VARIABLE);
    Failure::new(exit::NO_SUCH_PROGRAM, error)
}
