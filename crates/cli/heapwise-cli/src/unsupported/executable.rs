//! The program file that a command would execute, where it is not looked into.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What is known of a program: where it is.
pub(crate) type Executable = PathBuf;

/// The file that a command would execute; `None` if there is none. It is not read, so that cannot fail here.
pub(crate) fn of_command(program: &OsStr) -> Option<Result<Executable, String>> {
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
    places.into_iter().find(|path| path.is_file()).map(Ok)
}
