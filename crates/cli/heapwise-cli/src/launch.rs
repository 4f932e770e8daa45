//! `heapwise launch`: starts a program on Windows without the debug heap, or with it to see what it does.

use crate::args::LaunchArgs;
use crate::{Failure, exit};
use anyhow::anyhow;
use heapwise_doctor::launch::{Condition, Error, ErrorKind, Launch};

/// Starts a program and ends as it does.
pub(crate) fn launch(args: LaunchArgs) -> Result<u8, Failure> {
    let launch = match (args.debugged, args.with_variable) {
        (false, _) => Launch::without_debug_heap(args.command),
        (true, false) => Launch::new(args.command, Condition::Debugged),
        (true, true) => Launch::new(args.command, Condition::DebuggedWithVariable),
    };
    start(&launch)
}

/// The same for a program that is described already.
pub(crate) fn start(launch: &Launch) -> Result<u8, Failure> {
    let outcome = launch.run().map_err(failure)?;
    if let Some(version) = outcome.emulated_by {
        heapwise_report::say!(
            "heapwise: this is Wine {version}, which gives debugged programs no debug heap by itself: it was turned on in \
             its place, as an emulation of Windows"
        );
    }
    // Codes of Windows have 32 bits, and those of crashes need them all.
    std::process::exit(outcome.code as i32)
}

fn failure(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::NotWindows => Failure::new(
            exit::USAGE,
            anyhow!(
                "{error}; here, `heapwise doctor -- CMD` says what slows a program's heap and how to turn it off"
            ),
        ),
        ErrorKind::NoSuchProgram => Failure::new(exit::NO_SUCH_PROGRAM, error),
        ErrorKind::NotExecutable => Failure::new(exit::NOT_EXECUTABLE, error),
        _ => Failure::new(exit::RUN_FAILED, error),
    }
}
