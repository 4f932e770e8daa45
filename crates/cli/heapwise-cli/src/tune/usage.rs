//! Errors of the command line are reported before minutes of searching.

use crate::args::TuneArgs;
use crate::compare;
use crate::{Failure, executable, exit};
use anyhow::anyhow;
use heapwise_analysis::Analysis;
use heapwise_trial::compare::{Error, Program};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The program that is named behind `--`, with how it is driven; `None` if there is only a recording.
pub(super) fn program(args: &TuneArgs) -> Result<Option<Program>, Failure> {
    let usage = |message: String| Failure::new(exit::USAGE, anyhow!(message));
    if args.runs == Some(0) {
        let what = "--runs 0 leaves nothing to compare; 5 is the least that can find small differences, and \
                    --confirm 0 leaves the program alone";
        return Err(usage(what.into()));
    }
    let Some(first) = args.command.first() else {
        let drive = &args.drive;
        let options = [
            ("--ready", drive.ready.is_some()),
            ("--load", drive.load.is_some()),
            ("--stdin", drive.stdin.is_some()),
            ("--timeout", drive.timeout.is_some()),
            ("--runs", args.runs.is_some()),
        ];
        if let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) {
            let what = "needs the program itself: add its command after --";
            return Err(usage(format!("{option} {what}")));
        }
        return Ok(None);
    };
    can_be_started(first).map_err(compare::failure)?;
    compare::refusal::check(first)?;
    // A program that ends by itself has no idle time after the load; its replays may still have some.
    let mut drive = args.drive.clone();
    if drive.ready.is_none() && drive.load.is_none() {
        drive.settle = None;
    }
    compare::program(&args.command, &drive).map(Some)
}

/// For a command line that names neither a recording nor a program.
pub(super) fn nothing() -> Failure {
    const WHAT: &str = "name a recording (heapwise tune FILE), or a program that is recorded first (heapwise tune -- CMD); \
                        heapwise tune --help has examples";
    Failure::new(exit::USAGE, anyhow!(WHAT))
}

/// Whether there is such a program, as far as can be seen without starting it.
fn can_be_started(program: &OsStr) -> Result<(), Error> {
    let name = || program.to_string_lossy().into_owned();
    let none = || Error::NoSuchProgram { program: name() };
    let search = std::env::var_os("PATH");
    let path = executable::find(program, search.as_deref()).ok_or_else(none)?;
    let reason = match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(none()),
        Err(error) => error,
        // Without any execute bit not even root may run it.
        Ok(found) if found.is_dir() || found.permissions().mode() & 0o111 == 0 => {
            std::io::ErrorKind::PermissionDenied.into()
        }
        Ok(_) => return Ok(()),
    };
    Err(Error::NotExecutable { program: name(), reason })
}

/// A warning if the recording seems to be of another program than the one on which the best candidates are tried, judged by
/// names. A script is recognised as an argument of its interpreter, and another name of the same file by its target.
pub(super) fn other_program(analysis: &Analysis, program: &Program) -> Option<String> {
    let asked = program.command.first()?;
    let commands = std::iter::once(&analysis.meta.command);
    let commands: Vec<&Vec<String>> = commands.chain(analysis.processes.iter().map(|p| &p.command)).collect();
    let name = Path::new(asked).file_name();
    let is_named = commands.iter().copied().flatten().any(|word| Path::new(word).file_name() == name);
    let file = executable::find(asked, std::env::var_os("PATH").as_deref());
    let file = file.and_then(|file| file.canonicalize().ok());
    let mut modules = analysis.processes.iter().flat_map(|process| &process.modules);
    let is_loaded = file.is_some_and(|file| modules.any(|module| Path::new(&module.path) == file));
    let recorded = commands.iter().find_map(|command| command.first())?;
    (!is_named && !is_loaded).then(|| {
        format!(
            "The recording is of {recorded}, and what was best for that was tried on {}: what one needs says little of the other.",
            asked.to_string_lossy()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(program: &str) -> Option<u8> {
        can_be_started(program.as_ref()).err().map(|error| compare::failure(error).code)
    }

    #[test]
    fn what_cannot_be_started_is_reported_as_by_a_shell() {
        assert_eq!(code("sh"), None);
        assert_eq!(code("/bin/sh"), None);
        assert_eq!(code("no-such-program-anywhere"), Some(exit::NO_SUCH_PROGRAM));
        assert_eq!(code("/no/such/program"), Some(exit::NO_SUCH_PROGRAM));
        assert_eq!(code("/etc/passwd"), Some(exit::NOT_EXECUTABLE));
        assert_eq!(code("/etc/"), Some(exit::NOT_EXECUTABLE));
    }
}
