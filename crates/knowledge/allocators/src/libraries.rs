//! From a candidate to what a command is started with: a library to be preloaded, and variables.

use crate::installed::{find_installed, is_fit};
use crate::memory::MemoryFile;
use crate::registry::{self, Allocator, Origin};
use crate::spec::{Candidate, Which};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

const PRELOAD: &str = "LD_PRELOAD";
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Why a candidate cannot be given to a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This heapwise does not carry the allocator.
    #[error("this heapwise was built without {name}: build it again without HEAPWISE_WITHOUT_ALLOCATORS")]
    NotBundled {
        /// The allocator.
        name: &'static str,
    },
    /// This heapwise does not carry the allocator, which is built in only on request.
    #[error("this heapwise was built without {name}: {}", registry::request(name))]
    NotRequested {
        /// The allocator.
        name: &'static str,
    },
    /// The allocator is not installed.
    #[error("{name} is not installed (no {files}): on Debian and Ubuntu, apt-get install {package}")]
    NotInstalled {
        /// The allocator.
        name: &'static str,
        /// What was looked for.
        files: String,
        package: &'static str,
    },
    /// The user's library cannot be read.
    #[error("cannot read {path:?}: {reason}")]
    NoSuchFile {
        /// As it was given.
        path: PathBuf,
        reason: std::io::Error,
    },
    /// The user's library is none.
    #[error("{path:?} is not a shared library for this processor: name a .so file of an allocator")]
    NotALibrary {
        /// As it was given.
        path: PathBuf,
    },
    /// The loader cannot be given this path.
    #[error(
        "{path:?} cannot be preloaded, for the loader takes spaces and colons for the end of a path: copy or link it elsewhere"
    )]
    UnfitPath {
        /// With links resolved.
        path: PathBuf,
    },
    /// No memory for a library.
    #[error("cannot put {name} into memory: {reason}")]
    Memory {
        /// The allocator.
        name: &'static str,
        reason: std::io::Error,
    },
}

/// The libraries that candidates are made of. Those that heapwise carries are put into memory on first use.
#[derive(Debug, Default)]
pub struct Libraries {
    bundled: Vec<(&'static str, &'static [u8])>,
    opened: Mutex<HashMap<&'static str, Arc<MemoryFile>>>,
}

impl Libraries {
    /// With the libraries that the program carries, by the names of their allocators.
    pub fn new(bundled: &[(&'static str, &'static [u8])]) -> Self {
        Self { bundled: bundled.to_vec(), opened: Mutex::default() }
    }

    /// Whether an allocator of the registry is there: bundled, or installed.
    pub fn has(&self, allocator: &dyn Allocator) -> bool {
        match allocator.origin() {
            Origin::Installed { files, .. } => find_installed(files).is_some(),
            _ => self.bundled.iter().any(|(name, _)| *name == allocator.name()),
        }
    }

    /// Makes a candidate ready. It stays so while this process lives and the result is kept.
    ///
    /// # Errors
    /// [`Error`]. Whether the library is an allocator, and is used, is checked by [`identify`](crate::identify).
    pub fn prepare(&self, candidate: &Candidate) -> Result<Prepared, Error> {
        let mut memory = None;
        let preload = match &candidate.which {
            Which::AsItIs => None,
            Which::File(path) => Some(library_at(path)?),
            Which::Registered(allocator) => Some(match allocator.origin() {
                Origin::Installed { files, package } => find_installed(files).ok_or_else(|| {
                    Error::NotInstalled { name: allocator.name(), files: files.join(", "), package }
                })?,
                Origin::OnRequest { .. } if !self.has(*allocator) => {
                    return Err(Error::NotRequested { name: allocator.name() });
                }
                Origin::Bundled { .. } | Origin::OnRequest { .. } | Origin::CLibrary => {
                    memory.insert(self.bundled_library(allocator.name())?).path()
                }
            }),
        };
        let mut variables =
            candidate.allocator().map_or_else(Vec::new, |a| a.variables(candidate.settings()));
        variables.extend(candidate.own_variables().map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Prepared { candidate: candidate.clone(), preload, variables, _memory: memory })
    }

    fn bundled_library(&self, name: &'static str) -> Result<Arc<MemoryFile>, Error> {
        let (name, bytes) =
            *self.bundled.iter().find(|(n, _)| *n == name).ok_or(Error::NotBundled { name })?;
        // A panic elsewhere leaves the table as it was.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = opened.get(name) {
            return Ok(library.clone());
        }
        let library =
            Arc::new(MemoryFile::new(name, bytes).map_err(|reason| Error::Memory { name, reason })?);
        opened.insert(name, library.clone());
        Ok(library)
    }
}

/// A library of the user's, by a path that is good in any folder.
fn library_at(given: &Path) -> Result<PathBuf, Error> {
    let unreadable = |reason| Error::NoSuchFile { path: given.to_owned(), reason };
    let path = given.canonicalize().map_err(unreadable)?;
    let mut start = Vec::new();
    if path.is_file() {
        std::fs::File::open(&path).and_then(|f| f.take(20).read_to_end(&mut start)).map_err(unreadable)?;
    }
    if !is_shared_library(&start) {
        return Err(Error::NotALibrary { path: given.to_owned() });
    }
    if is_fit(&path) { Ok(path) } else { Err(Error::UnfitPath { path }) }
}

/// Whether the loader of this program takes a file that begins like this: decided by the header of the ELF file, with the class,
/// the byte order, the type (3, a shared object) and the machine.
fn is_shared_library(start: &[u8]) -> bool {
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    start.len() >= 20
        && start[..6] == *b"\x7fELF\x02\x01"
        && start[16..18] == 3u16.to_le_bytes()
        && start[18..20] == machine.to_le_bytes()
}

/// A candidate that commands can be started with.
#[derive(Clone, Debug)]
pub struct Prepared {
    candidate: Candidate,
    preload: Option<PathBuf>,
    variables: Vec<(String, String)>,
    /// Keeps the path good.
    _memory: Option<Arc<MemoryFile>>,
}

impl Prepared {
    /// What was prepared.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// The library that is preloaded, by a path that other processes can open while this one lives.
    pub fn preload(&self) -> Option<&Path> {
        self.preload.as_deref()
    }

    /// The variables that are set, without that for preloading.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Gives the candidate to a command: preloads its library before whatever is preloaded already, removes the variables of all
    /// allocators, and sets this one's. The baseline keeps its variables.
    ///
    /// Of a command whose environment was cleared, what this process has in its own would count as being there.
    pub fn apply(&self, command: &mut Command) {
        if let Some(preload) = &self.preload {
            let now = environment_of(command);
            let is_taken = |name: &OsStr| name.to_str().is_some_and(registry::is_heap_variable);
            for name in now.keys().filter(|name| is_taken(name)) {
                command.env_remove(name);
            }
            let mut list = preload.clone().into_os_string();
            if let Some(before) = now.get(OsStr::new(PRELOAD)).filter(|b| !b.is_empty()) {
                list.push(":");
                list.push(before);
            }
            command.env(PRELOAD, list);
            let tunables = now.get(OsStr::new(TUNABLES));
            match tunables.and_then(|t| registry::other_tunables(&t.to_string_lossy())) {
                Some(others) => command.env(TUNABLES, others),
                None => command.env_remove(TUNABLES),
            };
        }
        for (name, value) in &self.variables {
            let kept = environment_of(command).remove(OsStr::new(name)).filter(|_| name == TUNABLES);
            match kept {
                Some(others) if self.preload.is_some() => {
                    command.env(name, format!("{}:{value}", others.to_string_lossy()))
                }
                _ => command.env(name, value),
            };
        }
    }
}

/// The variables that a command would have.
fn environment_of(command: &Command) -> HashMap<OsString, OsString> {
    let mut all: HashMap<_, _> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => all.insert(name.to_owned(), value.to_owned()),
            None => all.remove(name),
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<Prepared, Error> {
        let libraries = Libraries::new(&[("jemalloc", b"its bytes"), ("glibc", b"bytes as well")]);
        libraries.prepare(&Candidate::parse(text).expect("a candidate"))
    }

    fn get(command: &Command, name: &str) -> Option<String> {
        let set = command.get_envs().find(|(n, _)| *n == OsStr::new(name));
        set.and_then(|(_, value)| Some(value?.to_string_lossy().into_owned()))
    }

    #[test]
    fn a_bundled_library_is_a_path_while_it_is_kept() {
        let jemalloc = prepared("jemalloc").expect("it is bundled");
        let path = jemalloc.preload().expect("a library").to_owned();
        assert_eq!(std::fs::read(&path).expect("readable"), b"its bytes");
        assert!(
            std::fs::OpenOptions::new().write(true).open(&path).is_err()
                || std::fs::write(&path, b"x").is_err()
        );
        assert!(matches!(prepared("mimalloc"), Err(Error::NotBundled { name: "mimalloc" })));
        let error = prepared("tcmalloc-google").expect_err("it was not asked for").to_string();
        let remedy = "build it again with HEAPWISE_WITH_ALLOCATORS=tcmalloc-google";
        assert_eq!(error, format!("this heapwise was built without tcmalloc-google: {remedy}"));
    }

    #[test]
    fn other_allocators_variables_are_taken_away_and_the_rest_is_kept() {
        let mut command = Command::new("true");
        command.env("MALLOC_ARENA_MAX", "1").env("MIMALLOC_PURGE_DELAY", "0").env("OTHER", "stays");
        command
            .env(TUNABLES, "glibc.malloc.arena_max=1:glibc.cpu.x86_ibt=off")
            .env(PRELOAD, "/lib/theirs.so");
        let ours = prepared("glibc:arena_max=2:tcache_count=0").expect("it is bundled");
        ours.apply(&mut command);
        assert_eq!(get(&command, "MALLOC_ARENA_MAX"), None);
        assert_eq!(get(&command, "MIMALLOC_PURGE_DELAY"), None);
        assert_eq!(get(&command, "OTHER").as_deref(), Some("stays"));
        assert_eq!(
            get(&command, TUNABLES).as_deref(),
            Some("glibc.cpu.x86_ibt=off:glibc.malloc.arena_max=2:glibc.malloc.tcache_count=0")
        );
        let preload = get(&command, PRELOAD).expect("it is set");
        assert_eq!(preload, format!("{}:/lib/theirs.so", ours.preload().expect("a library").display()));
    }

    #[test]
    fn the_program_as_it_is_keeps_everything() {
        let mut command = Command::new("true");
        command.env("MALLOC_ARENA_MAX", "1").env(PRELOAD, "/lib/theirs.so");
        prepared("default:env.MORE=1").expect("nothing is needed").apply(&mut command);
        assert_eq!(get(&command, "MALLOC_ARENA_MAX").as_deref(), Some("1"));
        assert_eq!(get(&command, PRELOAD).as_deref(), Some("/lib/theirs.so"));
        assert_eq!(get(&command, "MORE").as_deref(), Some("1"));
    }

    #[test]
    fn files_that_are_no_libraries_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text.so");
        std::fs::write(&text, "not a library, and longer than a header").expect("written");
        let at = |path: &Path| prepared(path.to_str().expect("a text"));
        assert!(matches!(at(&text), Err(Error::NotALibrary { .. })));
        assert!(matches!(at(folder.path()), Err(Error::NotALibrary { .. })));
        assert!(matches!(at(&folder.path().join("none.so")), Err(Error::NoSuchFile { .. })));
        let own = std::fs::read("/proc/self/exe").expect("our own program");
        let odd = folder.path().join("with space.so");
        std::fs::write(&odd, &own[..64]).expect("written");
        assert!(matches!(at(&odd), Err(Error::UnfitPath { .. })));
        let plain = folder.path().join("plain.so");
        std::fs::rename(&odd, &plain).expect("renamed");
        assert_eq!(
            at(&plain).expect("as far as the header says").preload(),
            plain.canonicalize().ok().as_deref()
        );
    }
}
