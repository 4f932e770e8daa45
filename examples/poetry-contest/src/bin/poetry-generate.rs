//! Writes the data of a poetry contest into a directory.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    poetry_contest::generate_command::run(std::env::args_os().skip(1))
}
