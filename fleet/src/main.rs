//! `heapwise query` and `heapwise fleet`: questions about many recordings.
//!
//! A program of its own, which `heapwise` starts: the engine is several times as large as all the rest. From the bottom to the top:
//! [`store`] knows where tables lie and which files count, [`cluster`] reaches workers, [`engine`] asks the tables, [`answer`] shows what
//! it found; above these is a module for each command.

mod answer;
mod ask;
mod asked;
mod cluster;
mod compact;
mod engine;
mod failure;
mod given;
mod ingest;
mod listening;
mod progress;
mod query;
mod question;
mod serve;
mod store;
mod token;
mod worker;

use clap::Parser;
use failure::Failure;
use futures::future::{Either, select};
use heapwise_report::escape::options::OutputOptions;
use heapwise_report::{escape, say};
use heapwise_tables::words::{Fleet, Top};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Asks questions about many recordings.
#[derive(Debug, Parser)]
#[command(
    name = "heapwise-fleet",
    bin_name = "heapwise",
    version,
    help_expected = true,
    max_term_width = 100
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Top,
    /// What is said beside the result.
    #[command(flatten)]
    output: OutputOptions,
    /// The heapwise that reads recordings [default: the one beside this program, or that of PATH].
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    heapwise: Option<PathBuf>,
}

fn main() -> ExitCode {
    // Tables are their owner's alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let has_colours =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        std::process::exit(escape::usage::tell(error, std::env::args_os(), has_colours))
    });
    cli.output.apply();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say!("heapwise: error: cannot start threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    // A worker has nothing to remove, and what it sends must not look whole because its threads end.
    let ends_at_once = matches!(cli.command, Top::Fleet(Fleet::Worker(_)));
    let result = runtime.block_on(async {
        let asked_to_end = pin!(interrupted());
        match select(pin!(command(cli)), asked_to_end).await {
            Either::Left((result, _)) => result,
            Either::Right(_) if ends_at_once => std::process::exit(failure::INTERRUPTED.into()),
            // What is under way is dropped, and its temporary files with it.
            Either::Right(_) => Ok(failure::INTERRUPTED),
        }
    });
    // A file that is being read is not waited for.
    runtime.shutdown_background();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { error, code }) => {
            say!("heapwise: error: {error:#}");
            ExitCode::from(code)
        }
    }
}

/// Ends when the user, or whatever started this, wants an end.
async fn interrupted() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signals) => drop(signals.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    select(pin!(tokio::signal::ctrl_c()), pin!(terminated)).await;
}

async fn command(cli: Cli) -> Result<u8, Failure> {
    let exporter = ingest::Exporter::new(cli.heapwise);
    match cli.command {
        Top::Query(args) => query::query(&args, &exporter).await,
        Top::Fleet(Fleet::Ask(args)) => ask::ask(&args, &exporter).await,
        Top::Fleet(Fleet::Ingest(args)) => ingest::ingest(&args, &exporter).await,
        Top::Fleet(Fleet::Compact(args)) => compact::compact(&args).await,
        Top::Fleet(Fleet::Serve(args)) => serve::serve(&args).await,
        Top::Fleet(Fleet::Worker(args)) => worker::worker(&args).await,
    }
}
