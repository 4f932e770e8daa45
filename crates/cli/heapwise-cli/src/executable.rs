//! The program file that a command would execute.

pub(crate) use heapwise_symbols::inspect::Executable;

use heapwise_symbols::inspect::inspect;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a command would execute in the end, or why that cannot be read. `None` if there is no such file. Large programs take a while to
/// look at, so a command does it once.
pub(crate) fn of_command(program: &OsStr) -> Option<Result<Executable, String>> {
    let search = std::env::var_os("PATH");
    let path = find(program, search.as_deref()).filter(|path| path.is_file())?;
    Some(inspect(&path, search.as_deref()).map_err(|error| error.to_string()))
}

/// Where a command's program is, as a shell looks for it. A path may lead to nothing.
pub(crate) fn find(program: &OsStr, search: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program));
    }
    let folders = std::env::split_paths(search?).map(|folder| folder.join(program));
    folders.into_iter().find(|path| path.is_file())
}
