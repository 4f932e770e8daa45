//! A change of one file: a few insertions and replacements, shown as a diff and made in one step.

use crate::source::{MARK, Source};
use similar::TextDiff;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Something to be put in the place of a part of a text; an empty part is a place between two characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The bytes of the text, without a mark in front.
    pub(crate) range: Range<usize>,
    /// What takes their place.
    pub(crate) text: String,
}

impl Change {
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub(crate) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub file: PathBuf,
    /// All of it, as it was read.
    pub before: Vec<u8>,
    /// All of it, as it shall be.
    pub after: Vec<u8>,
    /// The difference between the two, in the order of the file.
    changes: Vec<Change>,
}

impl Edit {
    /// The changes in a file. There is none if they overlap.
    pub(crate) fn new(source: &Source, changes: Vec<Change>) -> Option<Self> {
        Self::build(source.file.clone(), source.bytes.clone(), changes)
    }

    fn build(file: PathBuf, before: Vec<u8>, mut changes: Vec<Change>) -> Option<Self> {
        // Two findings may ask for the same thing. The sort is stable: insertions at one place keep their order.
        changes.sort_by_key(|change| (change.range.start, change.range.end));
        changes.dedup();
        let mark = if before.starts_with(MARK) { MARK.len() } else { 0 };
        let (head, body) = before.split_at(mark);
        let mut after = head.to_vec();
        let mut at = 0;
        for Change { range, text } in &changes {
            after.extend_from_slice(body.get(at..range.start)?);
            after.extend_from_slice(text.as_bytes());
            at = range.end;
        }
        after.extend_from_slice(body.get(at..)?);
        (after != before).then_some(Self { file, before, after, changes })
    }

    /// This edit and another one of the same file. There is none if they contradict each other.
    pub(crate) fn and(&self, other: &Self) -> Option<Self> {
        if self.file != other.file || self.before != other.before {
            return None;
        }
        let changes = self.changes.iter().chain(&other.changes).cloned().collect();
        Self::build(self.file.clone(), self.before.clone(), changes)
    }

    /// The difference in the unified format, with three lines around each change. The file's own line ends are kept in it.
    pub fn diff(&self) -> String {
        let before = String::from_utf8_lossy(&self.before);
        let after = String::from_utf8_lossy(&self.after);
        let name = self.file.display().to_string();
        TextDiff::from_lines(&*before, &*after).unified_diff().header(&name, &name).to_string()
    }

    /// Makes the change, and says where the file is kept as it was.
    ///
    /// The file is replaced as a whole, by one with the same permissions: whoever reads it meanwhile sees either of the two.
    ///
    /// # Errors
    ///
    /// The file is not any more what it was when it was read, or the folder does not allow it. Nothing is changed then.
    pub fn apply(&self) -> io::Result<PathBuf> {
        let metadata = fs::metadata(&self.file)?;
        if !metadata.is_file() || fs::read(&self.file)? != self.before {
            return Err(io::Error::other("the file was changed since it was looked at: look again"));
        }
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        let folder = self.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut new = tempfile::Builder::new().prefix(".heapwise-").tempfile_in(folder)?;
        new.write_all(&self.after)?;
        same_owner(new.path(), &metadata);
        new.as_file().set_permissions(metadata.permissions())?;
        new.as_file().sync_all()?;
        let backup = back_up(&self.file, &self.before, metadata.permissions())?;
        same_owner(&backup, &metadata);
        new.persist(&self.file).map_err(|error| error.error)?;
        Ok(backup)
    }
}

/// Writes a copy beside the file, under a name that nobody has.
fn back_up(file: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<PathBuf> {
    const TRIES: usize = 10_000;
    for n in 1..=TRIES {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(if n == 1 { ".heapwise-backup".to_owned() } else { format!(".heapwise-backup-{n}") });
        let backup = file.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&backup) {
            Ok(mut copy) => {
                copy.write_all(bytes)?;
                copy.set_permissions(permissions)?;
                copy.sync_all()?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many backups beside the file"))
}

/// Gives a file that a superuser writes to whom the original belongs. Others cannot, and need not.
#[cfg(unix)]
fn same_owner(file: &Path, metadata: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::chown(file, Some(metadata.uid()), Some(metadata.gid()));
}

#[cfg(not(unix))]
fn same_owner(_file: &Path, _metadata: &fs::Metadata) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Owner;

    fn source(file: impl Into<PathBuf>, bytes: &[u8]) -> Source {
        Source::from_bytes(file.into(), Owner::Project, bytes.to_vec()).expect("is UTF-8")
    }

    fn edit(bytes: &[u8], changes: Vec<Change>) -> Option<Edit> {
        Edit::new(&source("a.json", bytes), changes)
    }

    #[test]
    fn positions_are_those_of_the_text_behind_the_mark() {
        let edit = edit(b"\xef\xbb\xbf{}", vec![Change::insert(1, "x")]).expect("is one");
        assert_eq!(edit.after, b"\xef\xbb\xbf{x}");
    }

    #[test]
    fn edits_of_one_file_become_one() {
        let first = edit(b"abcdef", vec![Change::replace(1..2, "B")]).expect("is one");
        let second =
            edit(b"abcdef", vec![Change::insert(6, "!"), Change::replace(1..2, "B")]).expect("is one");
        assert_eq!(first.and(&second).expect("they agree").after, b"aBcdef!");
        let other = edit(b"abcdef", vec![Change::replace(0..3, "")]).expect("is one");
        assert_eq!(first.and(&other), None, "both change the same place");
    }

    #[test]
    fn no_difference_is_no_edit() {
        assert_eq!(edit(b"abc", vec![Change::replace(0..1, "a")]), None);
        assert_eq!(edit(b"abc", vec![]), None);
    }

    #[test]
    fn the_diff_names_the_file_and_the_lines() {
        let edit = edit(b"one\ntwo\n", vec![Change::replace(4..7, "2")]).expect("is one");
        assert_eq!(edit.diff(), "--- a.json\n+++ a.json\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    }

    #[test]
    fn a_backup_is_never_overwritten_and_a_changed_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("launch.json");
        let mut backups = Vec::new();
        for n in 0..3 {
            let text = format!("version {n}");
            fs::write(&file, &text).expect("can be written");
            let edit =
                Edit::new(&source(&file, text.as_bytes()), vec![Change::insert(0, "new ")]).expect("is one");
            let backup = edit.apply().expect("nothing is in the way");
            assert_eq!(fs::read_to_string(&file).expect("is there"), format!("new {text}"));
            backups.push((backup, text));
            let error = edit.apply().expect_err("the file is another one by now");
            assert!(error.to_string().contains("look again"));
        }
        for (backup, text) in backups {
            assert_eq!(fs::read_to_string(backup).expect("is there"), text);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 4, "nothing else is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_read_only_files_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("launch.json");
        fs::write(&file, "a").expect("can be written");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("is ours");
        let edit = Edit::new(&source(&file, b"a"), vec![Change::insert(0, "b")]).expect("is one");
        let backup = edit.apply().expect("nothing is in the way");
        for path in [&file, &backup] {
            assert_eq!(fs::metadata(path).expect("is there").permissions().mode() & 0o777, 0o640);
        }
        let edit = Edit::new(&source(&file, b"ba"), vec![Change::insert(0, "c")]).expect("is one");
        fs::set_permissions(&file, Permissions::from_mode(0o444)).expect("is ours");
        assert_eq!(edit.apply().expect_err("it is read-only").kind(), io::ErrorKind::PermissionDenied);
    }
}
