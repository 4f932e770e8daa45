//! Source files for the reports.
//!
//! A recording names the files, and it may be another user's: it must not be able to put the reader's private files into a page
//! that is passed on. So only files with names of source code are read, and only below folders that the reader has named: the
//! current one, those of `--source-root`, and those in which toolchains and packages of Rust and C headers lie. Paths are judged
//! after all links in them are resolved. `--no-source` reads nothing.

use anyhow::Context;
use heapwise_report::{Absence, SourceFile, SourceLines, Sources};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Endings of source files, in small letters.
const ENDINGS: &[&str] = &[
    "rs", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "inl", "ipp", "tcc", "m", "mm",
    "s", "zig", "go", "swift", "d", "nim", "cr", "pyx", "f", "f90", "adb", "ads", "pas", "ml", "hs",
];
/// No file written by hand is larger.
const MOST_BYTES: u64 = 8 << 20;

/// Folders of the system with sources that every user may read.
const SYSTEM: &[&str] = &["/usr/include", "/usr/local/include", "/usr/lib/gcc", "/usr/lib/rustlib/src"];

/// The source files of this machine that may be shown.
#[derive(Debug)]
pub(crate) struct SourceFiles {
    recorded: Option<SystemTime>,
    /// Where relative paths are looked for: in the folders that the reader named.
    named: Vec<PathBuf>,
    /// Below which files may lie, without links.
    folders: Vec<PathBuf>,
    /// Files that lie elsewhere.
    outside: Mutex<BTreeSet<PathBuf>>,
}

/// Checks that the folders of the command line exist, before the work for a report that shows their files.
pub(crate) fn check(roots: &[PathBuf]) -> anyhow::Result<()> {
    for root in roots {
        let found = root.read_dir();
        found.with_context(|| format!("--source-root: cannot read the folder {}", root.display()))?;
    }
    Ok(())
}

impl SourceFiles {
    /// For a recording: a file that was changed after it may differ from what was compiled.
    pub(crate) fn of(recording: &Path, roots: &[PathBuf]) -> Self {
        let recorded = recording.metadata().and_then(|m| m.modified()).ok();
        // The root folder is no project.
        let here = std::env::current_dir().ok().filter(|here| here.parent().is_some());
        Self::below(recorded, here.into_iter().chain(roots.iter().cloned()), installed())
    }

    fn below(
        recorded: Option<SystemTime>,
        named: impl Iterator<Item = PathBuf>,
        others: impl Iterator<Item = PathBuf>,
    ) -> Self {
        let named: Vec<PathBuf> = named.filter_map(|folder| folder.canonicalize().ok()).collect();
        let others = others.filter_map(|folder| folder.canonicalize().ok());
        Self {
            recorded,
            folders: named.iter().cloned().chain(others).collect(),
            named,
            outside: Mutex::default(),
        }
    }

    /// The lines of files that did not change since the recording: a wrong line would be worse than none.
    pub(crate) fn lines(self: Arc<Self>) -> SourceLines {
        let files: Mutex<HashMap<String, Option<SourceFile>>> = Mutex::default();
        SourceLines::new(move |path, number| {
            let mut files = files.lock().ok()?;
            let file = files.entry(path.to_owned()).or_insert_with(|| self.read(path));
            let file = file.as_ref().filter(|file| !file.changed)?;
            file.text.lines().nth(usize::try_from(number.checked_sub(1)?).ok()?).map(str::to_owned)
        })
    }

    /// Requested files that lie elsewhere.
    pub(crate) fn outside(&self) -> Vec<PathBuf> {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// A path without links, if that is a file that may be shown.
    fn real(&self, path: &Path, ending: &str) -> Result<PathBuf, Absence> {
        let real = path.canonicalize().map_err(|_| absence_of(path))?;
        // The name of a link may be that of source code, and its target something else.
        real.extension().filter(|own| own.eq_ignore_ascii_case(ending)).ok_or(Absence::NotSource)?;
        if self.folders.iter().any(|folder| real.starts_with(folder)) {
            return Ok(real);
        }
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Err(Absence::Outside)
    }

    /// The same for a path that is looked for in the folders that the reader named.
    fn real_below(&self, path: &Path, ending: &str) -> Result<PathBuf, Absence> {
        let mut absence = Absence::NotFound;
        for folder in &self.named {
            match self.real(&folder.join(path), ending) {
                Ok(real) => return Ok(real),
                Err(Absence::NotFound) => {}
                Err(other) => absence = other,
            }
        }
        Err(absence)
    }

    /// When an object file was written, if that is the one that was recorded: one that is newer was built again since.
    fn built(&self, program: &str) -> Option<SystemTime> {
        let written = Path::new(program).metadata().ok()?.modified().ok()?;
        (written <= self.recorded?).then_some(written)
    }

    /// Opens a file whose path has no links. If a part of the path was replaced by a link meanwhile, its target is not read.
    fn open(&self, real: &Path) -> Option<File> {
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            // Opening a pipe must not block.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        }
        let file = options.open(real).ok()?;
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let opened = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
            self.folders.iter().find(|folder| opened.starts_with(folder))?;
        }
        Some(file)
    }
}

/// Why there is no file at a path. Rust's own sources have such a path in every program that was built with it.
fn absence_of(path: &Path) -> Absence {
    if path.starts_with("/rustc") { Absence::Remapped } else { Absence::NotFound }
}

/// Where rustup, cargo and the system keep sources.
fn installed() -> impl Iterator<Item = PathBuf> {
    let home = |variable: &str, usual: &str| {
        let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.or_else(|| {
            Some(PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(usual))
        })
    };
    let toolchains = home("RUSTUP_HOME", ".rustup").and_then(|home| home.join("toolchains").read_dir().ok());
    let toolchains =
        toolchains.into_iter().flatten().flatten().map(|entry| entry.path().join("lib/rustlib/src"));
    let cargo = home("CARGO_HOME", ".cargo");
    let packages = cargo.into_iter().flat_map(|home| [home.join("registry/src"), home.join("git/checkouts")]);
    toolchains.chain(packages).chain(SYSTEM.iter().map(PathBuf::from))
}

impl Sources for SourceFiles {
    fn find(&self, path: &str, program: Option<&str>) -> Result<SourceFile, Absence> {
        if !cfg!(unix) {
            // Recordings are made on Linux, and what is a path of a file there may be one of a server elsewhere: Windows
            // would log in to it.
            return Err(Absence::NotFound);
        }
        let path = Path::new(path);
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let ending = ending.filter(|ending| ENDINGS.contains(&ending.as_str())).ok_or(Absence::NotSource)?;
        let real = match path.is_absolute() {
            true => self.real(path, &ending)?,
            false => self.real_below(path, &ending)?,
        };
        let file = self.open(&real).ok_or(Absence::Unreadable)?;
        let facts = file.metadata().map_err(|_| Absence::Unreadable)?;
        if !facts.is_file() {
            return Err(Absence::NotRegular);
        }
        if facts.len() > MOST_BYTES {
            return Err(Absence::TooLarge);
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|_| Absence::Unreadable)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let made = program.and_then(|program| self.built(program)).or(self.recorded);
        let changed = facts.modified().ok().zip(made).is_some_and(|(file, made)| file > made);
        Ok(SourceFile { text, changed })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// What may be read below a folder alone.
    fn below(folder: &Path, recorded: Option<SystemTime>) -> SourceFiles {
        SourceFiles::below(recorded, std::iter::once(folder.to_owned()), std::iter::empty())
    }

    #[test]
    fn only_source_code_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("secret.pem"), "key").unwrap();
        std::fs::write(at("main.rs"), "fn main() {}\n").unwrap();
        symlink(at("secret.pem"), at("link.rs")).unwrap();
        std::fs::create_dir(at("folder.rs")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe.rs")).status().is_ok_and(|s| s.success()));
        let files = below(folder.path(), None);
        let read = |name: &str| files.read(at(name).to_str().unwrap());
        assert_eq!(read("main.rs"), Some(SourceFile { text: "fn main() {}\n".into(), changed: false }));
        let file = File::create(at("large.rs")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        let absent = [
            ("secret.pem", Absence::NotSource),
            ("link.rs", Absence::NotSource),
            ("folder.rs", Absence::NotRegular),
            ("absent.rs", Absence::NotFound),
            ("pipe.rs", Absence::NotRegular),
            ("large.rs", Absence::TooLarge),
        ];
        for (name, why) in absent {
            assert_eq!(files.find(at(name).to_str().unwrap(), None), Err(why), "{name}");
            assert_eq!(read(name), None, "{name}");
        }
        assert_eq!(files.find("/rustc/0123/library/core/src/str/mod.rs", None), Err(Absence::Remapped));
        assert_eq!(files.outside(), [] as [PathBuf; 0]);
    }

    #[test]
    fn files_outside_of_the_folders_are_not_read_whatever_leads_to_them() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        let secret = other.path().join("secret.rs");
        std::fs::write(&secret, "const KEY: &str = \"…\";\n").unwrap();
        symlink(&secret, at("link.rs")).unwrap();
        symlink(other.path(), at("folder")).unwrap();
        let up = at("..").join(other.path().file_name().unwrap()).join("secret.rs");
        let paths = [secret.clone(), at("link.rs"), at("folder/secret.rs"), up];
        let files = below(folder.path(), None);
        for path in &paths {
            assert!(path.exists());
            assert_eq!(files.read(path.to_str().unwrap()), None, "{}", path.display());
        }
        for relative in ["link.rs", "folder/secret.rs"] {
            assert_eq!(files.read(relative), None);
        }
        assert_eq!(files.outside().len(), 4);
        for path in ["/etc/shadow", "/proc/self/environ", "/etc/passwd"] {
            assert_eq!(files.read(path), None);
        }
        // Folders that the reader named may be read.
        let named = [folder.path(), other.path()].map(Path::to_owned).into_iter();
        let files = SourceFiles::below(None, named, std::iter::empty());
        assert!(paths.iter().all(|path| files.read(path.to_str().unwrap()).is_some()));
        assert!(files.read("secret.rs").is_some(), "relative paths are looked for in each");
    }

    #[test]
    fn a_file_that_is_newer_than_the_recording_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("main.c");
        std::fs::write(&source, "int main;\n").unwrap();
        let path = source.to_str().unwrap();
        let changed = |recorded| below(folder.path(), Some(recorded)).read(path).unwrap().changed;
        let line = |recorded, n| Arc::new(below(folder.path(), Some(recorded))).lines().line(path, n);
        assert_eq!(line(SystemTime::UNIX_EPOCH, 1), None);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(line(later, 1).as_deref(), Some("int main;"));
        assert_eq!([line(later, 0), line(later, 2)], [None, None]);
        assert!(changed(SystemTime::UNIX_EPOCH));
        assert!(!changed(SystemTime::now() + std::time::Duration::from_secs(60)));
    }

    #[test]
    fn a_file_that_is_newer_than_the_program_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, seconds| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (source, older, newer) = (at("main.c", 5), at("older", 4), at("newer", 6));
        let recorded = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(7);
        let files = below(folder.path(), Some(recorded));
        let changed = |program: Option<&str>| files.find(&source, program).unwrap().changed;
        assert!(changed(Some(&older)) && !changed(Some(&newer)) && !changed(None));
        let rebuilt = at("rebuilt", 8);
        assert!(!changed(Some(&rebuilt)), "that is not what was recorded");
        assert!(!changed(Some("/no/such/program")));
    }
}
