//! heapwise: says where a native program's memory comes from.

#![deny(unsafe_code)]

mod annotate;
mod args;
#[cfg(target_os = "linux")]
mod attach;
mod diff;
mod doctor;
mod exit;
mod export;
mod fix;
mod fleet;
mod growing;
mod lab;
mod lab_worker;
mod launch;
mod lines;
mod pager;
mod progress;
mod report;
mod result;
mod sources;
mod watch;

#[cfg(target_os = "linux")]
mod ahead;
#[cfg(target_os = "linux")]
mod allocators;
#[cfg(target_os = "linux")]
mod blind_spots;
#[cfg(target_os = "linux")]
mod bundled;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod delivery;
#[cfg(all(test, target_os = "linux"))]
mod documented;
#[cfg(target_os = "linux")]
mod executable;
#[cfg(target_os = "linux")]
mod inherited;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod preload;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod rotation;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod snapshot;
#[cfg(target_os = "linux")]
mod symbolize;
#[cfg(target_os = "linux")]
mod tune;

#[cfg(not(target_os = "linux"))]
#[path = "unsupported/executable.rs"]
mod executable;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/run.rs"]
mod run;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/symbolize.rs"]
mod symbolize;

use args::{Cli, Command};
use clap::FromArgMatches;
use heapwise_report::escape::terminal;
use std::io::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    nested::leave_session();
    #[cfg(target_os = "linux")]
    replay::work_if_asked();
    let has_colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let parsed = args::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| {
        std::process::exit(heapwise_report::escape::usage::tell(error, std::env::args_os(), has_colours))
    });
    cli.output.apply();
    let result = match cli.command {
        Command::Run(args) => run::run(args),
        #[cfg(target_os = "linux")]
        Command::Attach(args) => attach::attach(args),
        #[cfg(target_os = "linux")]
        Command::Snapshot(args) => snapshot::snapshot(args),
        #[cfg(target_os = "linux")]
        Command::Replay(args) => replay::replay(&args),
        #[cfg(target_os = "linux")]
        Command::Tune(args) => tune::tune(&args),
        Command::Launch(args) => launch::launch(args),
        Command::Watch(args) => watch::watch(args),
        Command::Report(args) => report::report(&args),
        Command::Annotate(args) => annotate::annotate(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Export(args) => export::export(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Lab(args) => lab::lab(&args),
        #[cfg(target_os = "linux")]
        Command::Compare(args) => compare::compare(&args),
        Command::Query(args) => fleet::start("query", &args.arguments, cli.output),
        Command::Fleet(args) => fleet::start("fleet", &args.arguments, cli.output),
        Command::Completions { shell } => completions(shell),
        #[cfg(target_os = "linux")]
        Command::UsableSizes => usable_sizes(),
        #[cfg(target_os = "linux")]
        Command::TraceChildren { session, library } => {
            heapwise_collector::trace_children(&session, &library, preload::recorder_for);
            Ok(exit::SUCCESS)
        }
        #[cfg(target_os = "linux")]
        Command::AllocatorProbe => doctor::answer_probe(),
        #[cfg(target_os = "linux")]
        Command::AllocatorIdentity { settings } => allocators::answer(&settings),
        #[cfg(target_os = "linux")]
        Command::Allocators(args) => allocators::allocators(&args),
        Command::Man { folder } => man(&folder),
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
    clap_complete::generate(shell, &mut args::with_fleet(), "heapwise", &mut script);
    terminal::print(&String::from_utf8_lossy(&script), false)?;
    Ok(exit::SUCCESS)
}

/// Started by a recording, with the allocator of the recorded program preloaded.
#[cfg(target_os = "linux")]
fn usable_sizes() -> Result<u8, Failure> {
    let sizes = heapwise_collector::usable::ask_here();
    let lines: String = sizes.iter().map(|size| format!("{size}\n")).collect();
    terminal::print(&lines, false)?;
    Ok(exit::SUCCESS)
}

fn man(folder: &std::path::Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(args::with_fleet(), folder)?;
    Ok(exit::SUCCESS)
}
