//! Changes of files: a few insertions and replacements each, shown as a diff and made in one step.
//!
//! The fix of a finding ([`Fix`]) is small and refers to the text that it belongs to. Only an [`Edit`], which is shown or made,
//! has the whole file before and after, once for all fixes of the file.

use crate::original::Original;
use crate::source::{Source, open};
use similar::TextDiff;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Something to be put in the place of a part of a text; an empty part is a place between two characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// What sets one finding right: changes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    original: Arc<Original>,
    changes: Vec<Change>,
}

impl Fix {
    /// The changes in a file. There is none if they overlap, or change nothing.
    pub(crate) fn new(source: &Source, changes: Vec<Change>) -> Option<Self> {
        let text = source.text();
        let differs =
            changes.iter().any(|change| text.get(change.range.clone()) != Some(change.text.as_str()));
        let fits = Merger::default().add(&changes, text.len());
        (differs && fits).then(|| Self { original: Arc::clone(&source.original), changes })
    }

    /// The file as it would be with this alone.
    pub fn edit(&self) -> Option<Edit> {
        edits(std::iter::once(self)).pop()
    }
}

/// One edit for each file that is to be changed, in the order in which the files occur. Of two that contradict each other, the
/// first is made.
pub(crate) fn edits<'f>(fixes: impl Iterator<Item = &'f Fix>) -> Vec<Edit> {
    let mut files: Vec<(&Arc<Original>, Merger)> = Vec::new();
    let mut known: HashMap<&Path, usize> = HashMap::new();
    for Fix { original, changes } in fixes {
        let at = *known.entry(original.file()).or_insert_with(|| {
            files.push((original, Merger::default()));
            files.len() - 1
        });
        let (first, merger) = &mut files[at];
        if Arc::ptr_eq(first, original) || first == &original {
            merger.add(changes, original.text().len());
        }
    }
    files.into_iter().filter_map(|(original, merger)| merger.edit(original)).collect()
}

/// Changes of one file that can be made together.
#[derive(Debug, Default)]
struct Merger {
    changes: Vec<Change>,
    known: HashSet<Change>,
    /// What is replaced: from where to where. No two overlap.
    replaced: BTreeMap<usize, usize>,
    /// Where something is inserted, and how many times.
    inserted: BTreeMap<usize, usize>,
}

impl Merger {
    /// Adds all of these or, if one contradicts what is there, none. A change that is there already is added once.
    fn add(&mut self, changes: &[Change], length: usize) -> bool {
        let before = self.changes.len();
        for change in changes.iter() {
            if self.known.contains(change) {
                continue;
            }
            if change.range.end > length || !self.fits(&change.range) {
                self.forget_behind(before);
                return false;
            }
            match change.range.is_empty() {
                true => *self.inserted.entry(change.range.start).or_default() += 1,
                false => drop(self.replaced.insert(change.range.start, change.range.end)),
            }
            self.known.insert(change.clone());
            self.changes.push(change.clone());
        }
        true
    }

    /// Whether nothing else happens to a part of the text. Insertions at its ends do not count.
    fn fits(&self, range: &Range<usize>) -> bool {
        let (start, end) = (range.start, range.end);
        // The last one that begins before the end of this: the others end before it begins.
        let overlaps = self.replaced.range(..end).next_back().is_some_and(|(_, other)| *other > start);
        let splits = start + 1 < end && self.inserted.range(start + 1..end).next().is_some();
        start <= end && !overlaps && !splits
    }

    fn forget_behind(&mut self, count: usize) {
        for change in self.changes.drain(count..) {
            self.known.remove(&change);
            if !change.range.is_empty() {
                self.replaced.remove(&change.range.start);
            } else if let Some(times) = self.inserted.get_mut(&change.range.start) {
                *times -= 1;
                if *times == 0 {
                    self.inserted.remove(&change.range.start);
                }
            }
        }
    }

    fn edit(mut self, original: &Original) -> Option<Edit> {
        // The sort is stable: insertions at one place keep their order, and come before what replaces the text behind it.
        self.changes.sort_by_key(|change| (change.range.start, change.range.end));
        let body = original.text();
        let mark = original.whole().len() - body.len();
        let mut after = original.whole()[..mark].to_owned();
        let mut at = 0;
        for Change { range, text } in &self.changes {
            after.push_str(body.get(at..range.start)?);
            after.push_str(text);
            at = range.end;
        }
        after.push_str(body.get(at..)?);
        let differs = after != original.whole();
        differs.then(|| Edit {
            file: original.file().to_owned(),
            before: original.whole().as_bytes().to_vec(),
            after: after.into_bytes(),
        })
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub file: PathBuf,
    /// All of it, as it was read.
    pub before: Vec<u8>,
    /// The whole text after the change.
    pub after: Vec<u8>,
}

impl Edit {
    /// The difference in the unified format, with three lines of context around each change and `name` in the header, unescaped.
    /// The file's own line ends are kept.
    pub fn diff(&self, name: &str) -> String {
        let before = String::from_utf8_lossy(&self.before);
        let after = String::from_utf8_lossy(&self.after);
        let mut diff = TextDiff::configure();
        // After this time the difference is still correct, but may be longer than necessary.
        let diff = diff.timeout(Duration::from_secs(2)).diff_lines(&*before, &*after);
        diff.unified_diff().header(name, name).to_string()
    }

    /// Makes the change, and returns where the original file is kept.
    ///
    /// The file is replaced as a whole, by one with the same permissions: whoever reads it meanwhile sees either of the two.
    ///
    /// # Errors
    ///
    /// The file is not any more what it was when it was read, or the folder does not allow it. Nothing is changed then.
    pub fn apply(&self) -> io::Result<PathBuf> {
        let old = open(&self.file)?;
        let metadata = old.metadata()?;
        // More than there was is another file, however long it is.
        let mut bytes = Vec::new();
        old.take(self.before.len() as u64 + 1).read_to_end(&mut bytes)?;
        // Closed from here on: Windows replaces no file that is open.
        if bytes != self.before {
            return Err(io::Error::other("the file was changed since it was looked at: look again"));
        }
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        let folder = self.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut new = tempfile::Builder::new().prefix(".heapwise-").tempfile_in(folder)?;
        new.write_all(&self.after)?;
        belong_like(new.as_file(), &metadata)?;
        let backup = back_up(&self.file, &self.before, &metadata)?;
        new.persist(&self.file).map_err(|error| error.error)?;
        Ok(backup)
    }
}

/// Writes a copy next to the file, under a name that does not exist. Until it has the owner of the file, only this user may read
/// it.
fn back_up(file: &Path, bytes: &[u8], metadata: &fs::Metadata) -> io::Result<PathBuf> {
    const TRIES: usize = 10_000;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for n in 1..=TRIES {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(if n == 1 { ".heapwise-backup".to_owned() } else { format!(".heapwise-backup-{n}") });
        let backup = file.with_file_name(name);
        match options.open(&backup) {
            Ok(mut copy) => {
                copy.write_all(bytes)?;
                belong_like(&copy, metadata)?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many backups beside the file"))
}

/// Gives an open file the owner and the permissions of another one. By its name, it could be another file by now, which a superuser
/// would give away.
fn belong_like(file: &File, metadata: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Fails unless this is the superuser, who alone needs it.
        let _ = std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
    file.set_permissions(metadata.permissions())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Owner;

    fn source(file: impl Into<PathBuf>, bytes: &[u8]) -> Source {
        Source::from_bytes(file.into(), Owner::Project, bytes.to_vec()).expect("is UTF-8")
    }

    fn fix(bytes: &[u8], changes: Vec<Change>) -> Option<Fix> {
        Fix::new(&source("a.json", bytes), changes)
    }

    fn edit(bytes: &[u8], changes: Vec<Change>) -> Option<Edit> {
        fix(bytes, changes)?.edit()
    }

    #[test]
    fn positions_are_those_of_the_text_behind_the_mark() {
        let edit = edit(b"\xef\xbb\xbf{}", vec![Change::insert(1, "x")]).expect("is one");
        assert_eq!(edit.after, b"\xef\xbb\xbf{x}");
    }

    #[test]
    fn edits_of_one_file_become_one() {
        let of = |changes: Vec<Change>| fix(b"abcdef", changes).expect("is one");
        let together = |fixes: &[&Fix]| {
            let edits = edits(fixes.iter().copied());
            assert_eq!(edits.len(), 1);
            String::from_utf8(edits[0].after.clone()).expect("is UTF-8")
        };
        let first = of(vec![Change::replace(1..2, "B")]);
        let second = of(vec![Change::insert(6, "!"), Change::replace(1..2, "B")]);
        assert_eq!(together(&[&first, &second]), "aBcdef!");
        let other = of(vec![Change::insert(4, "x"), Change::replace(0..3, "")]);
        assert_eq!(
            together(&[&first, &other]),
            "aBcdef",
            "both change the same place, and half of it is no use"
        );
        assert_eq!(together(&[&other, &first, &second]), "dxef");
        let (front, behind) = (of(vec![Change::insert(1, "<")]), of(vec![Change::insert(2, ">")]));
        assert_eq!(together(&[&behind, &first, &front]), "a<B>cdef");
        let within = of(vec![Change::insert(2, "|")]);
        assert_eq!(together(&[&within, &other]), "ab|cdef", "it would be in what is replaced");
        assert_eq!(together(&[&within, &other, &first]), "aB|cdef", "nothing is left of what was not made");
    }

    #[test]
    fn changes_that_contradict_each_other_are_no_fix() {
        assert_eq!(fix(b"abc", vec![Change::replace(0..2, "x"), Change::replace(1..3, "y")]), None);
        assert_eq!(fix(b"abc", vec![Change::insert(4, "x")]), None, "it is not in the file");
    }

    #[test]
    fn no_difference_is_no_edit() {
        assert_eq!(edit(b"abc", vec![Change::replace(0..1, "a")]), None);
        assert_eq!(edit(b"abc", vec![]), None);
    }

    #[test]
    fn the_diff_names_the_file_and_the_lines() {
        let edit = edit(b"one\ntwo\n", vec![Change::replace(4..7, "2")]).expect("is one");
        assert_eq!(edit.diff("a.json"), "--- a.json\n+++ a.json\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    }

    #[test]
    fn a_backup_is_never_overwritten_and_a_changed_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("launch.json");
        let mut backups = Vec::new();
        for n in 0..3 {
            let text = format!("version {n}");
            fs::write(&file, &text).expect("can be written");
            let fix =
                Fix::new(&source(&file, text.as_bytes()), vec![Change::insert(0, "new ")]).expect("is one");
            let edit = fix.edit().expect("is one");
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
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("launch.json");
        fs::write(&file, "a").expect("can be written");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("is ours");
        let of = |bytes, change| Fix::new(&source(&file, bytes), vec![change]).and_then(|fix| fix.edit());
        let edit = of(b"a", Change::insert(0, "b")).expect("is one");
        let backup = edit.apply().expect("nothing is in the way");
        for path in [&file, &backup] {
            assert_eq!(fs::metadata(path).expect("is there").permissions().mode() & 0o777, 0o640);
        }
        let edit = of(b"ba", Change::insert(0, "c")).expect("is one");
        fs::set_permissions(&file, Permissions::from_mode(0o444)).expect("is ours");
        assert_eq!(edit.apply().expect_err("it is read-only").kind(), io::ErrorKind::PermissionDenied);
    }

    /// What other users may not read, they cannot read while it is copied.
    #[cfg(unix)]
    #[test]
    fn a_backup_is_private_from_its_first_moment() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("launch.json");
        // Long enough to look at it while it is written.
        let text = vec![b'x'; 7 << 20];
        fs::write(&file, &text).expect("can be written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("is ours");
        let edit = Fix::new(&source(&file, &text), vec![Change::insert(0, "y")]).and_then(|fix| fix.edit());
        let edit = edit.expect("is one");
        let (path, is_over) = (folder.path().to_owned(), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut modes = 0;
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    for entry in fs::read_dir(&path).expect("is there").flatten() {
                        modes |= entry.metadata().map_or(0, |facts| facts.permissions().mode());
                    }
                }
                modes
            });
            edit.apply().expect("nothing is in the way");
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(looking.join().expect("it has ended") & 0o077, 0);
        });
    }
}
