//! The command line as it is typed: what there is to do here, the arguments of each command in a separate file.

mod bench;
mod build;
mod flamegraph;
mod recording;
mod run;
mod test;

pub(crate) use bench::{BenchArgs, BenchFormat};
pub(crate) use build::{Build, Cargo, Kind, Targets};
pub(crate) use flamegraph::FlamegraphArgs;
pub(crate) use recording::RecordingOptions;
pub(crate) use run::{ReportFormat, RunArgs};
pub(crate) use test::TestArgs;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Records what cargo builds, and compares what benchmarks allocate with a baseline.
#[derive(Debug, Parser)]
#[command(name = "cargo-heapwise", bin_name = "cargo heapwise", version, help_expected = true)]
#[command(after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  cargo heapwise run --bin server -- --port 8080    record a program and open the report
  cargo heapwise test                               record the tests, one recording per test executable
  cargo heapwise flamegraph --example parse         which calls allocate, as a picture
  cargo heapwise bench                              what benchmarks allocate
  cargo heapwise bench --save-baseline main         keep that,
  cargo heapwise bench --baseline main              and compare with it later

Exit codes: 0 success, 1 unexpected, 2 usage, 3 a benchmark needs more than in the baseline, 4 unreadable baseline, 127 no program \
`heapwise` or cargo; otherwise that of cargo (101 if a build or a test failed), and of `run` and `flamegraph` that of the program as \
`heapwise run` gives it.

Environment: HEAPWISE is the path of the program `heapwise`, which is otherwise looked for beside this one and in PATH.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build a program with line tables, record it, and open the report.
    #[command(after_help = run::EXAMPLES)]
    Run(RunArgs),
    /// Build the tests and record each test executable.
    #[command(after_help = test::EXAMPLES)]
    Test(TestArgs),
    /// Run the benchmarks, tell what they allocate, and compare that with a baseline.
    #[command(after_help = bench::EXAMPLES)]
    Bench(BenchArgs),
    /// Build a program with line tables, record it, and show which calls allocate.
    #[command(after_help = flamegraph::EXAMPLES)]
    Flamegraph(FlamegraphArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  cargo heapwise completions bash > cargo-heapwise.bash")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    Man {
        /// The folder.
        folder: PathBuf,
    },
    /// Started by cargo in place of a program.
    #[command(hide = true, name = crate::runner::COMMAND)]
    Runner {
        /// The program and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

impl Cli {
    /// Reads the arguments of this process. Cargo puts the name of the command in front.
    pub(crate) fn of_process() -> Self {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        if words.get(1).is_some_and(|word| word == "heapwise") {
            words.remove(1);
        }
        let has_colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
        Self::try_parse_from(&words).unwrap_or_else(|error| {
            std::process::exit(heapwise_report::escape::usage::tell(error, words.into_iter(), has_colours))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_program_has_all_that_stands_behind_its_name() {
        let cli = Cli::parse_from(["cargo heapwise", "run", "--bin", "x", "--", "--help", "-o", "y"]);
        let Command::Run(run) = cli.command else { panic!("run was asked for") };
        assert_eq!(run.arguments, ["--help", "-o", "y"]);
        let cli =
            Cli::parse_from(["cargo heapwise", crate::runner::COMMAND, "program", "--help", "--", "-x"]);
        let Command::Runner { command } = cli.command else { panic!("the runner was asked for") };
        assert_eq!(command, ["program", "--help", "--", "-x"]);
    }
}
