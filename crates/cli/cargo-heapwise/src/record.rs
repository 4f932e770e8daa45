//! What `run` and `flamegraph` have in common: a program that cargo builds and starts is recorded.

use crate::args::{Build, Cargo, Kind};
use crate::cargo::{self, Places};
use crate::config::Config;
use crate::profile::{self, Additions};
use crate::runner::{self, Plan, To};
use crate::{Failure, exit, program};
use anyhow::{Context, anyhow};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to record, and how.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) build: &'a Build,
    /// Options of `heapwise run`.
    pub(crate) options: Vec<String>,
    /// The recording, if the user named one.
    pub(crate) file: Option<&'a Path>,
    /// The program's.
    pub(crate) arguments: &'a [OsString],
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The exit code: cargo's, or that of `heapwise run`.
    pub(crate) code: u8,
    /// The recording, if one was begun.
    pub(crate) file: Option<PathBuf>,
}

/// Has cargo build and start the program, recorded.
pub(crate) fn record(request: &Request<'_>) -> Result<Recorded, Failure> {
    let heapwise = program::heapwise()?;
    let places = Places::of(request.build)?;
    let mut options = request.options.clone();
    let root = places.workspace_root.to_str();
    // Cargo may be started in a folder of one package, and the program has lines of others.
    if let Some(root) = root.filter(|_| !options.iter().any(|option| option == "--no-source")) {
        options.extend(["--source-root".to_owned(), root.to_owned()]);
    }
    let mut words = Cargo::default();
    let profile = request.kind.all(request.build, &mut words);
    request.build.all(&mut words);
    let config = Config::of_process();
    let mut command = cargo::command();
    command.arg("run").args(words.words());
    add_lines(&mut command, &profile::additions(&places.workspace_root, &config, &profile), &profile);
    let private = tempfile::tempdir().context("cannot make a temporary folder")?;
    let chosen = private.path().join("chosen");
    let file = request.file.map(std::path::absolute).transpose().context("there is no current folder")?;
    let to = To::One { folder: places.recordings(), file, chosen: chosen.clone() };
    runner::prepare(&mut command, request.build, &config, &Plan { heapwise, options, to })?;
    command.arg("--").args(request.arguments);
    let status = cargo::run(&mut command)?;
    let file = std::fs::read(&chosen).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if status.success() && file.is_none() {
        return Err(not_recorded());
    }
    Ok(Recorded { code: cargo::code(status), file })
}

/// Builds with line tables, and reports it: the executable differs from that of a usual build.
pub(crate) fn add_lines(command: &mut Command, additions: &Additions, profile: &str) {
    for (name, value) in &additions.variables {
        command.env(name, value);
    }
    if !additions.variables.is_empty() {
        let list = additions.variables.iter().map(|(name, value)| format!("{name}={value}"));
        let list: Vec<_> = list.collect();
        heapwise_report::say!("heapwise: building with the profile {profile} and {}", list.join(" "));
    }
}

/// Cargo was content, and the runner was not started.
pub(crate) fn not_recorded() -> Failure {
    let error = anyhow!(
        "cargo started the program without recording it; a runner that is given with --config comes before heapwise: leave it out"
    );
    Failure::new(exit::UNEXPECTED, error)
}
