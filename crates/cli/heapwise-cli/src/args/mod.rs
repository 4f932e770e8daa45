//! The command line as it is typed: what there is to do here, the arguments of each command in a separate file.

mod annotate;
#[cfg(target_os = "linux")]
mod attach;
mod delivery;
mod destination;
mod diff;
mod doctor;
mod export;
mod fleet;
mod groups;
mod lab;
mod launch;
mod recording;
mod report;
mod run;
#[cfg(target_os = "linux")]
mod snapshot;
mod watch;

#[cfg(target_os = "linux")]
mod allocators;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod tune;

#[cfg(target_os = "linux")]
pub(crate) use allocators::{AllocatorsArgs, PlainFormat};
pub(crate) use annotate::AnnotateArgs;
#[cfg(target_os = "linux")]
pub(crate) use attach::AttachArgs;
#[cfg(target_os = "linux")]
pub(crate) use compare::{CompareArgs, DriveArgs};
pub(crate) use delivery::DeliveryArgs;
pub(crate) use destination::{Destination, Form, Format};
pub(crate) use diff::{DiffArgs, DiffFormat};
pub(crate) use doctor::{DoctorArgs, DoctorFormat};
pub(crate) use export::{ExportArgs, Target};
pub(crate) use fleet::FleetArgs;
pub(crate) use groups::{command, with_fleet};
pub(crate) use lab::LabArgs;
pub(crate) use launch::LaunchArgs;
pub(crate) use recording::RecordingArgs;
#[cfg(target_os = "linux")]
pub(crate) use replay::{ROUNDS, ReplayArgs};
pub(crate) use report::{Look, ReportArgs};
#[cfg(target_os = "linux")]
pub(crate) use run::RecorderChoice;
pub(crate) use run::RunArgs;
#[cfg(target_os = "linux")]
pub(crate) use snapshot::SnapshotArgs;
#[cfg(target_os = "linux")]
pub(crate) use tune::TuneArgs;
pub(crate) use watch::WatchArgs;

use bytesize::ByteSize;
use clap::{Parser, Subcommand};
use heapwise_report::escape::options::OutputOptions;
use std::path::PathBuf;

/// Says where a native program's memory comes from.
#[derive(Debug, Parser)]
#[command(name = "heapwise", version, help_expected = true, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What is said beside the result.
    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a program, then print the diagnosis on standard error.
    #[command(after_help = run::EXAMPLES)]
    Run(RunArgs),
    /// Record a process that runs already, then print the diagnosis on standard error.
    #[cfg(target_os = "linux")]
    #[command(after_help = attach::EXAMPLES)]
    Attach(AttachArgs),
    /// Show a process, or a recording that grows, live in the terminal.
    #[command(after_help = watch::EXAMPLES)]
    Watch(WatchArgs),
    /// Print the diagnosis of what is being recorded, so far.
    #[cfg(target_os = "linux")]
    #[command(after_help = snapshot::EXAMPLES)]
    Snapshot(SnapshotArgs),
    /// Print the diagnosis of a recording on standard output.
    Report(ReportArgs),
    /// Say what each source file and line allocates.
    #[command(after_help = annotate::EXAMPLES)]
    Annotate(AnnotateArgs),
    /// Compare two recordings and say what became better or worse.
    #[command(after_help = diff::examples())]
    Diff(DiffArgs),
    /// Write a recording in the format of another tool.
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArgs),
    /// Say what outside the code slows the heap, and what to do about it.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Repeat a recording's allocations with other allocators: memory, time, latency.
    #[cfg(target_os = "linux")]
    #[command(after_help = replay::EXAMPLES)]
    Replay(ReplayArgs),
    /// Search allocators and settings, try the best on the program, and print the fix.
    #[cfg(target_os = "linux")]
    #[command(after_help = tune::EXAMPLES)]
    Tune(TuneArgs),
    /// Start a program on Windows without the debug heap that debuggers give to programs.
    #[command(hide = cfg!(not(windows)), after_help = launch::EXAMPLES)]
    Launch(LaunchArgs),
    /// Do an experiment on this machine; without a name, list the experiments.
    #[command(after_help = lab::EXAMPLES)]
    Lab(LabArgs),
    /// List allocators and their settings, or check that a program gets them.
    #[cfg(target_os = "linux")]
    #[command(after_help = allocators::EXAMPLES)]
    Allocators(AllocatorsArgs),
    /// Run a program under one allocator after the other: what differs, what is noise.
    #[cfg(target_os = "linux")]
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Ask recordings, or tables of many, a question in SQL.
    #[command(disable_help_flag = true, after_help = fleet::QUERY)]
    Query(FleetArgs),
    /// Keep tables of many recordings of many hosts, and ask them the usual questions.
    #[command(disable_help_flag = true, after_help = fleet::FLEET)]
    Fleet(FleetArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Ask this process's allocator how large its blocks are.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = heapwise_collector::usable::COMMAND)]
    UsableSizes,
    /// Write the recorder into programs that a recorded program starts.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = heapwise_collector::TRACE_CHILDREN)]
    TraceChildren {
        /// Where the session is.
        session: String,
        /// Where the preload library is.
        library: String,
    },
    /// Ask this process's allocator what it does with blocks.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = crate::doctor::PROBE)]
    AllocatorProbe,
    /// Say who this process's allocator is.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = heapwise_allocators::IDENTITY_COMMAND)]
    AllocatorIdentity {
        /// Settings whose values are printed.
        #[arg(value_name = "SETTING")]
        settings: Vec<String>,
    },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    Man {
        /// The folder.
        folder: PathBuf,
    },
}

/// A time with its unit, ten years at most: what is far longer does not fit into a clock.
fn time(text: &str) -> Result<std::time::Duration, String> {
    const LONGEST: std::time::Duration = std::time::Duration::from_secs(10 * 365 * 24 * 3600);
    match humantime::parse_duration(text) {
        Ok(time) if time > LONGEST => Err("longer than ten years".to_owned()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

/// A size, with or without a unit.
fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "a size is a number of bytes, or has a unit, such as 512KiB or 8GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_flag_means_the_same_in_every_command() {
        let mut all = Cli::command();
        all.build();
        let mut known = std::collections::BTreeMap::new();
        for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long().filter(|long| *long != "help") else { continue };
                let shape = (argument.get_short(), argument.get_value_names().map(<[_]>::to_vec));
                let first = known.entry(long.to_owned()).or_insert_with(|| shape.clone());
                assert_eq!(*first, shape, "--{long} of {}", command.get_name());
                if let Some(short) = shape.0 {
                    let owner = known.iter().find(|(_, (other, _))| *other == Some(short));
                    assert_eq!(owner.map(|(name, _)| name.as_str()), Some(long), "-{short}");
                }
            }
        }
        assert!(known.len() > 30, "{known:?}");
    }

    #[test]
    fn a_program_needs_no_dashes_before_it() {
        let run = |words: &[&str]| {
            let words = ["heapwise", "run"].iter().chain(words);
            let Command::Run(run) = Cli::parse_from(words).command else { panic!("run was asked for") };
            (run.recording.output, run.command)
        };
        let plain = run(&["-o", "x.hw", "ls", "-o", "--color", "never", "--", "-q"]);
        assert_eq!(plain.0.as_deref(), Some(std::path::Path::new("x.hw")));
        assert_eq!(plain.1, ["ls", "-o", "--color", "never", "--", "-q"]);
        assert_eq!(run(&["--", "ls", "-l"]).1, ["ls", "-l"]);
        assert!(Cli::try_parse_from(["heapwise", "run", "--no-such", "ls"]).is_err());
    }

    #[test]
    fn times_and_sizes_are_read_with_their_units() {
        let line = [
            "heapwise",
            "run",
            "--delay",
            "500ms",
            "--duration",
            "2m",
            "--max-size",
            "3MiB",
            "--",
            "ls",
            "-l",
        ];
        let Command::Run(run) = Cli::parse_from(line).command else { panic!("run was asked for") };
        assert_eq!(run.command, ["ls", "-l"]);
        let run = run.recording;
        assert_eq!(run.delay, Some(std::time::Duration::from_millis(500)));
        assert_eq!(run.duration, Some(std::time::Duration::from_secs(120)));
        assert_eq!(run.max_size, Some(ByteSize::mib(3)));
        assert!(time("18446744073709551615s").is_err_and(|error| error.contains("ten years")));
        assert!(time("3").is_err() && time("3650d").is_ok());
    }
}
