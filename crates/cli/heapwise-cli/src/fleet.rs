//! `heapwise query` and `heapwise fleet`: starts the program that has the engine for questions.

use crate::Failure;
use anyhow::{Context, anyhow};
use heapwise_report::escape::options::OutputOptions;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// The program.
const PROGRAM: &str = "heapwise-fleet";

/// Starts it with the same words, and ends as it does.
pub(crate) fn start(command: &str, arguments: &[OsString], output: OutputOptions) -> Result<u8, Failure> {
    let (here, program) = beside();
    let mut fleet = Command::new(&program);
    if let Some(here) = here {
        // It makes tables of recordings with this one.
        fleet.arg("--heapwise").arg(here);
    }
    fleet.args(output.words()).arg(command).args(arguments);
    match run(&mut fleet) {
        Ok(code) => Ok(code),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(anyhow!(
            "{PROGRAM} is neither beside heapwise nor in PATH: it has the engine for questions and is installed on its own, \
             `cargo install --locked --path fleet` in a checkout of heapwise"
        )
        .into()),
        Err(error) => Err(error).with_context(|| format!("cannot run {}", program.display())).map_err(Failure::from),
    }
}

/// This program, and the one beside it, or else its name, which is looked for in `PATH`.
fn beside() -> (Option<PathBuf>, PathBuf) {
    let here = std::env::current_exe().ok();
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = here.as_ref().map(|here| here.with_file_name(&name)).filter(|path| path.is_file());
    (here, beside.unwrap_or_else(|| PathBuf::from(name)))
}

/// Puts it in the place of this process, so that whoever ends this one ends it. Returns only if it cannot be started.
#[cfg(unix)]
fn run(fleet: &mut Command) -> std::io::Result<u8> {
    Err(std::os::unix::process::CommandExt::exec(fleet))
}

/// Runs it, and returns the code that it ended with.
#[cfg(not(unix))]
fn run(fleet: &mut Command) -> std::io::Result<u8> {
    let status = fleet.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::exit::UNEXPECTED))
}
