//! The command line of the generator.
//!
//! Two programs need it: `poetry-generate`, and `poetry-contest`, which starts itself as a generator when its
//! data is missing. So it lives in the library.

use crate::generate::{Options, write_contest};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The help text of `poetry-generate`.
const HELP: &str = "\
Writes the data of a poetry contest into a directory.

Usage: poetry-generate --out DIR [--seed N] [--rounds N] [--entries N]

  --out DIR      the directory, created if necessary
  --seed N       where the random numbers begin (default 1)
  --rounds N     the number of rounds, one file each (default 50)
  --entries N    the number of entries in each round (default 12000)
  --help         show this text
";

/// Runs the generator with the arguments that follow the name of the program.
///
/// Errors are printed as one line; the exit code is 2 for wrong arguments and 1 when the files cannot be
/// written.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (out, options) = match parse(lexopt::Parser::from_args(arguments)) {
        Ok(Some(request)) => request,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("poetry-generate: {error}");
            return ExitCode::from(2);
        }
    };
    match write_contest(&out, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("poetry-generate: cannot write to {}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

/// Returns the directory and the options, or `None` when help is asked for.
fn parse(mut parser: lexopt::Parser) -> Result<Option<(PathBuf, Options)>, lexopt::Error> {
    let mut out = None;
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("out") => out = Some(PathBuf::from(parser.value()?)),
            Long("seed") => options.seed = number(&mut parser, "--seed")?,
            Long("rounds") => options.rounds = number(&mut parser, "--rounds")?,
            Long("entries") => options.entries = number(&mut parser, "--entries")?,
            Short('h') | Long("help") => return Ok(None),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some((out.ok_or("--out DIR is missing")?, options)))
}

/// Reads the value of `option`, which must be a whole number.
///
/// # Errors
///
/// When the value is missing or is not such a number; the message names the option.
pub fn number(parser: &mut lexopt::Parser, option: &str) -> Result<u64, lexopt::Error> {
    let value = parser.value()?;
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("{option} needs a whole number, not {value:?}").into())
}
