//! The files of a recording in several files: `NAME.000001.hw` and so on, of which the last few are kept.

use crate::error::{Error, ErrorKind};
use crate::output;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Digits of a number in a name, so that names are in the order of the files.
const DIGITS: usize = 6;
const EXTENSION: &str = "hw";

/// Where the files are, and which one is the newest.
#[derive(Debug)]
pub(crate) struct Parts {
    folder: PathBuf,
    /// What their names begin with.
    stem: String,
    /// How many are kept, the newest among them.
    keep: usize,
    newest: u32,
}

impl Parts {
    /// Those that are named after a file. Numbers go on where an earlier recording of that name has ended.
    pub(crate) fn new(named: &Path, keep: usize) -> Self {
        let name = match named.extension() {
            Some(extension) if extension == EXTENSION => named.file_stem(),
            _ => named.file_name(),
        };
        let stem = name.map_or_else(|| "heapwise".into(), |name| name.to_string_lossy().into_owned());
        let folder = named.parent().unwrap_or(Path::new("")).to_owned();
        let mut parts = Self { folder, stem, keep: keep.max(1), newest: 0 };
        parts.newest = parts.numbers().into_iter().max().unwrap_or_default();
        parts
    }

    /// Creates the next file.
    ///
    /// # Errors
    /// [`ErrorKind::Create`].
    pub(crate) fn create_next(&mut self) -> Result<(PathBuf, File), Error> {
        loop {
            self.newest =
                self.newest.checked_add(1).ok_or_else(|| ErrorKind::Exists { path: self.pattern() })?;
            let path = self.path(self.newest);
            match output::create(&path, false) {
                Ok(file) => return Ok((path, file)),
                // Another recording of that name is being written.
                Err(error) if matches!(error.kind(), ErrorKind::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the oldest files beyond those that are kept.
    pub(crate) fn remove_oldest(&self) {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        let surplus = numbers.len().saturating_sub(self.keep);
        numbers[..surplus].iter().for_each(|&number| output::remove(&self.path(number)));
    }

    /// How all of them are called, for people.
    pub(crate) fn pattern(&self) -> PathBuf {
        self.folder.join(format!("{}.*.{EXTENSION}", self.stem))
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(self.name(number))
    }

    fn name(&self, number: u32) -> String {
        format!("{}.{number:0DIGITS$}.{EXTENSION}", self.stem)
    }

    /// The numbers of the files that are there: those of exactly such a name.
    fn numbers(&self) -> Vec<u32> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        files.filter_map(|entry| self.number(entry.file_name().to_str()?)).collect()
    }

    fn number(&self, name: &str) -> Option<u32> {
        let digits = name.strip_prefix(&self.stem)?.strip_prefix('.')?.strip_suffix(".hw")?;
        let number: u32 = digits.parse().ok()?;
        (self.name(number) == name).then_some(number)
    }
}

/// The newest file of a recording in several files that was named after this one.
pub fn newest_part(named: &Path) -> Option<PathBuf> {
    let parts = Parts::new(named, 1);
    (parts.newest > 0).then(|| parts.path(parts.newest))
}

/// The file behind another one of a recording in several files, or the oldest one that is still there.
pub fn next_part(part: &Path) -> Option<PathBuf> {
    let (stem, number) = part.file_stem()?.to_str()?.rsplit_once('.')?;
    let number: u32 = number.parse().ok()?;
    let parts = Parts::new(&part.with_file_name(format!("{stem}.{EXTENSION}")), 1);
    let next = parts.numbers().into_iter().filter(|&other| other > number).min()?;
    (parts.path(number) == part).then(|| parts.path(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_and_only_the_newest_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let has = |name: &str| folder.path().join(name).exists();
        for name in ["a.000007.hw", "a.7.hw", "a.00000x.hw", "a.0000003.hw", "ab.000001.hw", "a.hw"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        std::fs::create_dir(folder.path().join("a.000001.hw")).expect("a folder of that name");
        let mut parts = Parts::new(&folder.path().join("a.hw"), 2);
        let (path, _) = parts.create_next().expect("the next one");
        assert_eq!(path.file_name().and_then(|name| name.to_str()), Some("a.000008.hw"));
        parts.remove_oldest();
        assert!(has("a.000007.hw"), "two are kept");
        parts.create_next().expect("one more");
        parts.remove_oldest();
        assert!(!has("a.000007.hw") && has("a.000008.hw") && has("a.000009.hw"));
        assert_eq!(newest_part(&folder.path().join("a.hw")), Some(folder.path().join("a.000009.hw")));
        assert_eq!(newest_part(&folder.path().join("b.hw")), None);
        for (part, next) in [
            ("a.000007.hw", Some("a.000008.hw")),
            ("a.000008.hw", Some("a.000009.hw")),
            ("a.000009.hw", None),
            ("a.7.hw", None),
            ("a.hw", None),
        ] {
            assert_eq!(
                next_part(&folder.path().join(part)),
                next.map(|next| folder.path().join(next)),
                "{part}"
            );
        }
        let others = ["a.7.hw", "a.00000x.hw", "a.0000003.hw", "ab.000001.hw", "a.hw", "a.000001.hw"];
        assert!(others.iter().all(|name| has(name)), "nothing else is removed");
    }
}
