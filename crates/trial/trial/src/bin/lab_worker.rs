//! The worker of experiments: does one workload once, and prints how long that took and which heap it had.
//!
//! An experiment needs a program whose allocator is chosen when it starts. `heapwise` does not, so this is a separate one, which
//! `heapwise` carries and starts.

#![deny(unsafe_code)]

use heapwise_trial::lab::{Switch, worker};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Switch = Switch;

/// Exit code for arguments that cannot be used.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    match worker::work(&words.collect::<Vec<_>>()) {
        Ok(line) => println!("{line}"),
        Err(reason) => {
            eprintln!("heapwise-lab-worker: error: {}", reason.escape_debug());
            return ExitCode::from(USAGE);
        }
    }
    ExitCode::SUCCESS
}
