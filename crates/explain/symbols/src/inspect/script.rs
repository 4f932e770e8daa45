//! The `#!` line of a script, as the kernel and `env` read it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Repr};

/// How many bytes of the first line the kernel looks at (`BINPRM_BUF_SIZE` in `include/uapi/linux/binfmts.h`).
const LONGEST_LINE: usize = 256;

/// How many interpreters one after the other the kernel follows (`exec_binprm` in `fs/exec.c`).
const MOST_INTERPRETERS: usize = 5;

/// The interpreter of a script, or None if the file is no script.
pub(super) fn interpreter(
    script: &Path,
    data: &[u8],
    search_path: Option<&OsStr>,
) -> Result<Option<PathBuf>, Error> {
    let Some(line) = data.strip_prefix(b"#!") else { return Ok(None) };
    let line = &line[..line.len().min(LONGEST_LINE - 2)];
    let line = line.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
    let missing = |interpreter: &[u8]| -> Error {
        let interpreter = String::from_utf8_lossy(interpreter).into_owned();
        Repr::InterpreterNotFound { script: script.to_owned(), interpreter }.into()
    };

    let first = words.next().ok_or_else(|| missing(b""))?;
    let interpreter = PathBuf::from(OsStr::from_bytes(first));
    if interpreter.file_name() == Some(OsStr::new("env")) {
        // What the script is really run by is what `env` finds. Without an argument there is only `env` itself.
        if let Some(program) = words.find(|word| is_program(word)) {
            return look_up(OsStr::from_bytes(program), search_path)
                .map(Some)
                .ok_or_else(|| missing(program));
        }
    }
    if !interpreter.exists() {
        // A carriage return at the end, from an editor of another system, is shown by the quotes in the message.
        return Err(missing(first));
    }
    Ok(Some(interpreter))
}

/// Fails where the kernel would.
pub(super) fn check_depth(scripts: &[PathBuf], path: &Path) -> Result<(), Error> {
    if scripts.len() < MOST_INTERPRETERS {
        return Ok(());
    }
    let path = scripts.first().map_or(path, PathBuf::as_path).to_owned();
    Err(Repr::TooManyInterpreters { path, limit: MOST_INTERPRETERS }.into())
}

/// Whether a word after `env` names the program: it is neither an option (`-S`, `-i`) nor a variable (`NAME=value`).
fn is_program(word: &[u8]) -> bool {
    !word.starts_with(b"-") && !word.contains(&b'=')
}

/// Finds a program as `execvp` does: a name with a slash is a path, any other is looked for in `PATH`.
fn look_up(program: &OsStr, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.exists());
    }
    // What glibc takes when the variable is not set.
    let search_path = search_path.map_or_else(|| OsString::from("/bin:/usr/bin"), OsStr::to_owned);
    std::env::split_paths(&search_path)
        .map(|directory| directory.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
