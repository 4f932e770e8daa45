//! cargo heapwise: records what cargo builds, and compares what benchmarks allocate with a baseline.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod cargo;
mod config;
mod exit;
mod flamegraph;
mod output;
mod profile;
mod program;
mod record;
mod recordings;
mod run;
mod runner;
mod test;

#[cfg(test)]
mod documented;

use args::{Cli, Command};
use clap::CommandFactory;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::of_process().command {
        Command::Run(args) => run::run(&args),
        Command::Test(args) => test::test(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Flamegraph(args) => flamegraph::flamegraph(&args),
        Command::Completions { shell } => completions(shell),
        Command::Man { folder } => man(&folder),
        Command::Runner { command } => runner::run(&command),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) if is_broken_pipe(&failure.error) => ExitCode::from(exit::SUCCESS),
        Err(failure) => {
            heapwise_report::say!("heapwise: error: {:#}", failure.error);
            ExitCode::from(failure.code)
        }
    }
}

/// An error and the exit code that it ends with.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    code: u8,
}

impl Failure {
    fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), code }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(exit::UNEXPECTED, error)
    }
}

/// A reader that has seen enough, such as `head`, is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|e| e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe))
}

fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cargo-heapwise", &mut script);
    heapwise_report::escape::terminal::print(&String::from_utf8_lossy(&script), false)?;
    Ok(exit::SUCCESS)
}

fn man(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)?;
    Ok(exit::SUCCESS)
}
