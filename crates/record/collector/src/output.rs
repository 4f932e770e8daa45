//! The recording's file: made for its owner alone, never in place of another one unless that was requested.

use crate::error::{Error, ErrorKind};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Creates the file, readable and writable by its owner only.
///
/// # Errors
/// [`ErrorKind::Exists`], [`ErrorKind::Create`].
pub fn create(path: &Path, force: bool) -> Result<File, Error> {
    let failed = |reason| ErrorKind::Create { path: path.to_owned(), reason };
    if force && std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file() || m.is_symlink()) {
        // A new file rather than the old one's, whose permissions could be wider and which another process may be reading.
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e).into()),
            _ => {}
        }
    }
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => ErrorKind::Exists { path: path.to_owned() }.into(),
        _ => failed(e).into(),
    })
}

/// Removes what was made for a recording that never began; there is nothing in it to lose.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// The default name: `heapwise.<program>.<pid>.hw`.
pub fn default_name(program: &str, pid: u32) -> PathBuf {
    PathBuf::from(format!("heapwise.{}.{pid}.hw", plain_name(program)))
}

/// The name of a program's file, of letters that no shell takes for something else.
fn plain_name(program: &str) -> String {
    let name = Path::new(program).file_name().map_or_else(|| "program".into(), |n| n.to_string_lossy());
    let plain = |c: char| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

/// The name of which the files of a recording in several files have theirs, the same for each start of a program:
/// `heapwise.<program>.hw`.
pub fn name_of_parts(program: &str) -> PathBuf {
    PathBuf::from(format!("heapwise.{}.hw", plain_name(program)))
}

/// A file that can forget what was written since the last whole section.
#[derive(Debug)]
pub struct SectionFile(BufWriter<File>);

impl SectionFile {
    /// Wraps a file that is positioned at its end.
    pub fn new(file: File) -> Self {
        Self(BufWriter::with_capacity(1 << 20, file))
    }

    /// The file, to be read. What was not flushed is not in it, and its position is the writer's.
    pub fn handle(&self) -> io::Result<File> {
        self.0.get_ref().try_clone()
    }

    /// Cuts the file to its first `len` bytes and drops what was not written yet.
    pub fn cut(self, len: u64) -> io::Result<File> {
        let (mut file, _unwritten) = self.0.into_parts();
        file.set_len(len)?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }
}

impl Write for SectionFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_private_and_never_replaced_unasked() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a.hw");
        let mode = create(&path, false).map(|f| f.metadata().expect("it exists").permissions().mode());
        assert_eq!(mode.expect("created") & 0o777, 0o600);
        let again = create(&path, false).expect_err("it exists");
        assert!(matches!(again.kind(), ErrorKind::Exists { .. }), "{again}");
        create(&path, true).expect("replaced");
        let nowhere = create(&dir.path().join("no/such/a.hw"), false).expect_err("no such folder");
        assert!(matches!(nowhere.kind(), ErrorKind::Create { .. }), "{nowhere}");
    }

    #[test]
    fn names_of_programs_become_names_of_files() {
        assert_eq!(default_name("/usr/bin/python3", 7).to_str(), Some("heapwise.python3.7.hw"));
        assert_eq!(default_name("./a b/c d", 7).to_str(), Some("heapwise.c_d.7.hw"));
    }
}
