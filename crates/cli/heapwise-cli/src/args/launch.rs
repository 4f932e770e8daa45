//! `heapwise launch` as it is typed.

use clap::Args;
use std::ffi::OsString;

pub(super) const EXAMPLES: &str = "\
Examples:
  heapwise launch devenv.exe my.sln        a debugger, whose children inherit the variable
  heapwise launch --debugged my-program    see what a debugger does to it

It sets _NO_DEBUG_HEAP=1 unless the variable has a value that works, and ends with the program's own exit code.";

/// Arguments of `launch`.
#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// Be a debugger that does nothing, so that the program has the debug heap unless _NO_DEBUG_HEAP says no.
    #[arg(long)]
    pub(crate) debugged: bool,
    /// Set _NO_DEBUG_HEAP=1 for a program that is started with --debugged.
    #[arg(long, requires = "debugged")]
    pub(crate) with_variable: bool,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
