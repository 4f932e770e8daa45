//! Cargo itself: where it puts things, for which targets it builds, and what it ended with.
//!
//! Cargo is queried wherever it has an answer (`cargo metadata` for the folders), since only cargo knows all that the answer
//! depends on.

use crate::args::{Build, Cargo};
use crate::config::Config;
use crate::{Failure, exit};
use anyhow::{Context, anyhow};
use serde::Deserialize;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Where things of a workspace are.
#[derive(Debug, Deserialize)]
pub(crate) struct Places {
    /// Folder of all that is built.
    pub(crate) target_directory: PathBuf,
    /// Folder of the manifest that has the profiles.
    pub(crate) workspace_root: PathBuf,
}

impl Places {
    /// Queries cargo, which reports its own errors.
    pub(crate) fn of(build: &Build) -> Result<Self, Failure> {
        let mut cargo = Cargo::default();
        build.place(&mut cargo);
        let mut command = command();
        command.args(["metadata", "--no-deps", "--format-version", "1"]).args(cargo.words());
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(&error))?;
        if !output.status.success() {
            let error = anyhow!("cargo cannot describe this package");
            return Err(Failure::new(code(output.status), error));
        }
        let mut places: Self =
            serde_json::from_slice(&output.stdout).context("cannot read the answer of `cargo metadata`")?;
        if let Some(folder) = &build.target_dir {
            places.target_directory = std::path::absolute(folder).context("there is no current folder")?;
        }
        Ok(places)
    }

    /// Folder of recordings.
    pub(crate) fn recordings(&self) -> PathBuf {
        self.target_directory.join("heapwise").join("recordings")
    }

    /// Folder of what benchmarks measured.
    pub(crate) fn benches(&self) -> PathBuf {
        self.target_directory.join("heapwise").join("bench")
    }

    /// Folder of baselines.
    pub(crate) fn baselines(&self) -> PathBuf {
        self.target_directory.join("heapwise").join("baseline")
    }
}

/// The cargo that started this process, or the one in `PATH`.
pub(crate) fn command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs cargo to its end. An interrupt meanwhile is left to cargo and its children: they end as they choose, and then this
/// program goes on.
pub(crate) fn run(command: &mut Command) -> Result<ExitStatus, Failure> {
    outlive_interrupts();
    command.status().map_err(|error| not_started(&error))
}

fn not_started(error: &std::io::Error) -> Failure {
    let error = anyhow!("cannot start cargo: {error}; install it, or set CARGO to its path");
    Failure::new(exit::NO_SUCH_PROGRAM, error)
}

/// A handler instead of ignoring, because a handler is not inherited.
fn outlive_interrupts() {
    #[cfg(unix)]
    if !is_ignored(signal_hook::consts::SIGINT) {
        let noticed = std::sync::Arc::default();
        // If that cannot be done, an interrupt ends this program before it can print where the results are; nothing else is lost.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, noticed);
    }
}

/// Whether this process was started with the signal ignored, as shells without job control start what runs in the background. Cargo
/// and the program are to inherit that, which they would not if there were a handler.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// The exit code of a process: its own, or 128 plus the number of the signal.
pub(crate) fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(exit::UNEXPECTED);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::UNEXPECTED)
}

/// What this build is for, as triples or names of files that describe a target.
pub(crate) fn targets(build: &Build, config: &Config) -> Result<Vec<String>, Failure> {
    let mut targets = build.target.clone();
    if targets.is_empty() {
        targets = config.build_targets();
    }
    if targets.is_empty() || targets.iter().any(|target| target == "host-tuple") {
        targets.retain(|target| target != "host-tuple");
        targets.push(host()?);
    }
    Ok(targets.iter().map(|target| target_name(target).to_owned()).collect())
}

/// A target may be a file that describes it; its name is that of the file then.
fn target_name(target: &str) -> &str {
    let name = target.rsplit(['/', '\\']).next().unwrap_or(target);
    name.strip_suffix(".json").unwrap_or(name)
}

/// Name of the variable by which cargo starts a runner in place of the programs of a target.
pub(crate) fn runner_variable(name: &str) -> String {
    format!("CARGO_TARGET_{}_RUNNER", name.to_uppercase().replace(['-', '.'], "_"))
}

/// The target that cargo builds for by default.
fn host() -> Result<String, Failure> {
    let output = command().arg("-vV").output().map_err(|error| not_started(&error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(|host| host.trim().to_owned()).ok_or_else(|| {
        anyhow!("`cargo -vV` does not say for which host it builds; name it with --target").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_become_variables() {
        let cases = [
            ("x86_64-unknown-linux-gnu", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"),
            ("thumbv8m.main-none-eabi", "CARGO_TARGET_THUMBV8M_MAIN_NONE_EABI_RUNNER"),
            ("targets/my-own.json", "CARGO_TARGET_MY_OWN_RUNNER"),
        ];
        for (target, variable) in cases {
            assert_eq!(runner_variable(target_name(target)), variable);
        }
    }
}
