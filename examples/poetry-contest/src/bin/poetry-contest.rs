//! Runs one version of the contest program and prints its answer.
//!
//! This is the program to record with a profiler. A recording should show the version and next to nothing
//! else, so the program itself does little: it prepares the data in another process, and prints one number.

#![forbid(unsafe_code)]

use lexopt::prelude::*;
use poetry_contest::generate::Options;
use poetry_contest::generate_command::{self, number};
use poetry_contest::{Solve, VERSIONS, dataset};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Runs one version of the poetry contest program and prints its answer.

Usage: poetry-contest VERSION [--data DIR] [--repeat N]
       poetry-contest VERSION [--rounds N] [--entries N] [--seed N] [--repeat N]

  VERSION        v01, v02, v03, v04, v05, v06, v07 or v08
  --data DIR     a directory that poetry-generate has written
  --rounds N     without --data: the number of rounds (default 50)
  --entries N    without --data: the number of entries in each round (default 12000)
  --seed N       without --data: where the random numbers begin (default 1)
  --repeat N     solve this many times (default 1)
  --help         show this text

Without --data, the data is generated once into a directory for temporary files and kept for later runs.
";

struct Request {
    solve: Solve,
    data: Option<PathBuf>,
    options: Options,
    repeat: u64,
}

/// Also called by `examples/dhat_contest.rs`.
pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == dataset::GENERATE) {
        return generate_command::run(arguments.skip(1));
    }
    let request = match parse(lexopt::Parser::from_args(arguments)) {
        Ok(Some(request)) => request,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("poetry-contest: {error}");
            return ExitCode::from(2);
        }
    };
    match answer(&request) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("poetry-contest: {message}");
            ExitCode::FAILURE
        }
    }
}

fn answer(request: &Request) -> Result<u64, String> {
    let data_dir = match &request.data {
        Some(dir) if !dataset::is_complete(dir) => {
            return Err(format!("{} has no manifest.json", dir.display()));
        }
        Some(dir) => dir.clone(),
        None => dataset::prepare(&request.options)?,
    };
    let mut answer = 0;
    for _ in 0..request.repeat {
        answer = (request.solve)(&data_dir);
    }
    Ok(answer)
}

/// Returns what to do, or `None` when help is asked for.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, lexopt::Error> {
    let mut solve = None;
    let mut data = None;
    let mut options = Options::default();
    let mut repeat = 1;
    // An option of the generator, if there was one: it would have no effect on existing data.
    let mut generating = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("data") => data = Some(PathBuf::from(parser.value()?)),
            Long("repeat") => repeat = number(&mut parser, "--repeat")?,
            Long("rounds") => {
                options.rounds = number(&mut parser, "--rounds")?;
                generating = Some("--rounds");
            }
            Long("entries") => {
                options.entries = number(&mut parser, "--entries")?;
                generating = Some("--entries");
            }
            Long("seed") => {
                options.seed = number(&mut parser, "--seed")?;
                generating = Some("--seed");
            }
            Short('h') | Long("help") => return Ok(None),
            Value(name) if solve.is_none() => {
                let version = VERSIONS.iter().find(|(version, _)| name == *version);
                let unknown = || format!("there is no version {name:?}, only v01 to v08");
                solve = Some(version.ok_or_else(unknown)?.1);
            }
            _ => return Err(argument.unexpected()),
        }
    }
    let solve = solve.ok_or("the version is missing, one of v01 to v08")?;
    if let (Some(_), Some(option)) = (&data, generating) {
        return Err(format!("{option} has no effect together with --data").into());
    }
    if repeat == 0 {
        return Err("--repeat must be at least 1".into());
    }
    Ok(Some(Request { solve, data, options, repeat }))
}
