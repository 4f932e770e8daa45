//! The program file that a command would execute.

pub(crate) use heapwise_symbols::inspect::Executable;

use heapwise_symbols::inspect::inspect;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Why nothing is known of a program.
#[derive(Debug)]
pub(crate) enum Unknown {
    Missing,
    /// It is there, and cannot be read.
    Unreadable(String),
}

/// What a command would execute in the end. Large programs take a while to look at, so a command does it once.
pub(crate) fn of_command(program: &OsStr) -> Result<Executable, Unknown> {
    let search = std::env::var_os("PATH");
    let path = find(program, search.as_deref()).filter(|path| path.is_file()).ok_or(Unknown::Missing)?;
    inspect(&path, search.as_deref()).map_err(|error| Unknown::Unreadable(error.to_string()))
}

/// Where a command's program is, as a shell looks for it. A path may lead to nothing.
pub(crate) fn find(program: &OsStr, search: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program));
    }
    let folders = std::env::split_paths(search?).map(|folder| folder.join(program));
    folders.into_iter().find(|path| path.is_file())
}
