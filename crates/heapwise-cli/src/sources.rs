//! Source files for the reports.
//!
//! A recording names the files, and it may be somebody else's: it must not be able to put the reader's private files
//! into a page that is passed on. So only what is called like source code is read, and `--no-source` reads nothing.

use heapwise_report::{SourceFile, SourceLines, Sources};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

/// Endings of source files, in small letters.
const ENDINGS: &[&str] = &[
    "rs", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "inl", "ipp", "tcc", "m", "mm",
    "s", "zig", "go", "swift", "d", "nim", "cr", "pyx", "f", "f90", "adb", "ads", "pas", "ml", "hs",
];
/// Nobody wrote more than this by hand.
const MOST_BYTES: u64 = 8 << 20;

/// The source files of this machine.
#[derive(Debug)]
pub(crate) struct SourceFiles {
    recorded: Option<SystemTime>,
}

impl SourceFiles {
    /// For a recording: what was changed after it may not be what was compiled.
    pub(crate) fn of(recording: &Path) -> Self {
        Self { recorded: recording.metadata().and_then(|m| m.modified()).ok() }
    }

    /// The lines of files that did not change since: a wrong line would be worse than none.
    pub(crate) fn lines(self) -> SourceLines {
        let files: Mutex<HashMap<String, Option<SourceFile>>> = Mutex::default();
        SourceLines::new(move |path, number| {
            let mut files = files.lock().ok()?;
            let file = files.entry(path.to_owned()).or_insert_with(|| self.read(path));
            let file = file.as_ref().filter(|file| !file.changed)?;
            file.text.lines().nth(usize::try_from(number.checked_sub(1)?).ok()?).map(str::to_owned)
        })
    }
}

impl Sources for SourceFiles {
    fn read(&self, path: &str) -> Option<SourceFile> {
        if !cfg!(unix) {
            // Recordings are made on Linux, and what is a path of a file there may be one of a server elsewhere: Windows
            // would log in to it.
            return None;
        }
        let path = Path::new(path);
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        if !ENDINGS.contains(&ending.as_str()) {
            return None;
        }
        // A link that is called like source code may lead to what is not.
        let real = path.canonicalize().ok()?;
        let same = real.extension().is_some_and(|e| e.eq_ignore_ascii_case(&ending));
        let facts = real.metadata().ok()?;
        if !same || !facts.is_file() || facts.len() > MOST_BYTES {
            return None;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&real).ok()?).into_owned();
        let changed =
            facts.modified().ok().zip(self.recorded).is_some_and(|(file, recorded)| file > recorded);
        Some(SourceFile { text, changed })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_source_code_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("secret.pem"), "key").unwrap();
        std::fs::write(at("main.rs"), "fn main() {}\n").unwrap();
        std::os::unix::fs::symlink(at("secret.pem"), at("link.rs")).unwrap();
        std::fs::create_dir(at("folder.rs")).unwrap();
        let files = SourceFiles { recorded: None };
        let read = |name: &str| files.read(at(name).to_str().unwrap());
        assert_eq!(read("main.rs"), Some(SourceFile { text: "fn main() {}\n".into(), changed: false }));
        for name in ["secret.pem", "link.rs", "folder.rs", "absent.rs"] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn a_file_that_is_newer_than_the_recording_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("main.c");
        std::fs::write(&source, "int main;\n").unwrap();
        let path = source.to_str().unwrap();
        let changed = |recorded| SourceFiles { recorded: Some(recorded) }.read(path).unwrap().changed;
        let line = |recorded, n| SourceFiles { recorded: Some(recorded) }.lines().line(path, n);
        assert_eq!(line(SystemTime::UNIX_EPOCH, 1), None);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(line(later, 1).as_deref(), Some("int main;"));
        assert_eq!([line(later, 0), line(later, 2)], [None, None]);
        assert!(changed(SystemTime::UNIX_EPOCH));
        assert!(!changed(SystemTime::now() + std::time::Duration::from_secs(60)));
    }
}
