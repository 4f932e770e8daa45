//! The program file that a command would execute, where it is not looked into.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What is known of a program: where it is.
pub(crate) type Executable = PathBuf;

/// Why nothing is known of a program.
#[derive(Debug)]
pub(crate) enum Unknown {
    Missing,
    /// It exists and cannot be read. Never on this platform: it is not read.
    #[expect(dead_code, reason = "as on Linux")]
    Unreadable(String),
}

/// The file that a command would execute.
pub(crate) fn of_command(program: &OsStr) -> Result<Executable, Unknown> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = match Path::new(program).components().count() {
        0 | 1 => std::env::split_paths(&search).collect(),
        // A path is not searched for in `PATH`.
        _ => vec![PathBuf::new()],
    };
    let mut with_ending = program.to_owned();
    with_ending.push(std::env::consts::EXE_SUFFIX);
    let names = [program, &with_ending];
    let places = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    places.into_iter().find(|path| path.is_file()).ok_or(Unknown::Missing)
}
