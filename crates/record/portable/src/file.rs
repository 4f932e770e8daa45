//! The recording's file: made for its owner alone, never in place of another one.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates the file. On Windows it has the permissions of its folder, elsewhere its owner alone may read and write it.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            error.kind(),
            format!(
                "{} exists, and a recording replaces nothing: remove it or choose another name",
                path.display()
            ),
        ),
        kind => io::Error::new(kind, format!("cannot create {}: {error}", path.display())),
    })
}
