//! Examines its own environment, as a program that uses the library would: `cargo run -p heapwise --example look`
//!
//! It ends with 3 if something slows the heap. Try it with `MALLOC_PERTURB_=1` on Linux, or under a debugger on Windows.

use std::process::ExitCode;

fn main() -> ExitCode {
    heapwise::warn_at_start();
    let environment = heapwise::environment();
    println!("{environment}");
    if environment.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(3) }
}
