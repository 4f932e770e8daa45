//! A library that a recorded process has loaded, opened so that it can be loaded here.
//!
//! The process names it, and we may have more rights than it has, so a name is not enough. It has to be what a process of
//! our own user runs already, where we find the same files; and neither it nor a folder on the way to it may be open to
//! others. What was checked is what is used: the path is opened folder by folder, without following a link, and the
//! result is the open file.

use crate::joins::{self, Memory};
use crate::{maps, sys};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// An open library. Only its owner (us or root) can change it.
#[derive(Debug)]
pub(crate) struct Library(File);

impl Library {
    /// The library of a process that it has named by a path; nothing if the process takes no part in the session any more: it has
    /// ended, or executed another program. The error says why the library is not loaded here.
    pub(crate) fn of_process(path: &str, pid: u32, memory: &Memory) -> Result<Option<Self>, String> {
        let maps = match fs::read_to_string(format!("/proc/{pid}/maps")) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error.to_string()),
            maps => maps.unwrap_or_default(),
        };
        let lines: Vec<_> = maps.lines().filter_map(maps::line).collect();
        if !lines.iter().any(|line| memory.is_in(line)) {
            return Ok(None);
        }
        if !joins::is_wholly_ours(pid) {
            return Err("its process is another user's, or was".into());
        }
        if !joins::shares_our_files(pid) {
            return Err("its process has another root or other mounts".into());
        }
        let real = Path::new(path).canonicalize().map_err(|error| error.to_string())?;
        let is_loaded = lines.iter().any(|line| line.executable && Path::new(line.name) == real);
        if !is_loaded {
            return Err("its process has not loaded it".into());
        }
        Self::open(&real).map(Some)
    }

    /// Opens a library by a path that has no links.
    fn open(path: &Path) -> Result<Self, String> {
        let failed = |part: &Path, error: std::io::Error| format!("{}: {error}", part.display());
        if !path.is_absolute() {
            return Err(format!("{} is no absolute path", path.display()));
        }
        let mut parts = path.components().peekable();
        let mut way = PathBuf::from("/");
        let mut at = File::open(&way).map_err(|error| failed(&way, error))?;
        is_closed_to_others(&at, &way)?;
        while let Some(part) = parts.next() {
            let name = match part {
                Component::RootDir => continue,
                Component::Normal(name) => name,
                _ => return Err(format!("{} is not a plain path", path.display())),
            };
            way.push(name);
            let name = CString::new(name.as_bytes()).map_err(|error| failed(&way, error.into()))?;
            at = sys::open_in(&at, &name, parts.peek().is_some()).map_err(|error| failed(&way, error))?;
            is_closed_to_others(&at, &way)?;
        }
        match at.metadata() {
            Ok(facts) if facts.is_file() => Ok(Self(at)),
            _ => Err(format!("{} is not a file", path.display())),
        }
    }

    /// Where the loader of a process that we start finds it, as long as this is open.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", sys::id_in_proc(), self.0.as_raw_fd()).into()
    }
}

/// Checks that only we and root can change a file, or what a name in a folder refers to.
fn is_closed_to_others(file: &File, way: &Path) -> Result<(), String> {
    let facts = file.metadata().map_err(|error| format!("{}: {error}", way.display()))?;
    let is_ours = facts.uid() == 0 || facts.uid() == sys::effective_user();
    // In a sticky folder others can make files, but not replace those of others.
    let is_sticky = facts.is_dir() && facts.mode() & 0o1000 != 0;
    match is_ours && (facts.mode() & 0o022 == 0 || is_sticky) {
        true => Ok(()),
        false => Err(format!("others than us and root can change {}", way.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_others_can_change_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it is there");
        let library = at.join("lib.so");
        fs::write(&library, b"").expect("it can be written");
        let set = |mode| fs::set_permissions(&library, Permissions::from_mode(mode)).expect("it is ours");
        set(0o644);
        let opened = Library::open(&library).expect("it is ours alone");
        assert_eq!(fs::read(opened.path()).expect("it can be read"), b"");
        set(0o666);
        assert!(Library::open(&library).is_err(), "every user can write to it");
        set(0o644);
        assert!(Library::open(Path::new("lib.so")).is_err() && Library::open(&at.join("none.so")).is_err());
        assert!(Library::open(&at).is_err(), "a folder is no library");
        fs::set_permissions(&at, Permissions::from_mode(0o777)).expect("it is ours");
        assert!(Library::open(&library).is_err(), "every user can replace it");
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it is there");
        fs::create_dir(at.join("real")).expect("a folder");
        fs::write(at.join("real/lib.so"), b"").expect("a file");
        symlink(at.join("real"), at.join("link")).expect("a link");
        symlink(at.join("real/lib.so"), at.join("link.so")).expect("a link");
        assert!(Library::open(&at.join("real/lib.so")).is_ok());
        assert!(
            Library::open(&at.join("link/lib.so")).is_err() && Library::open(&at.join("link.so")).is_err()
        );
        let through_proc = format!("/proc/{}/root{}", std::process::id(), at.join("real/lib.so").display());
        assert!(Library::open(Path::new(&through_proc)).is_err());
    }

    #[test]
    fn what_was_opened_stays_the_same_whatever_takes_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it is there");
        fs::write(at.join("lib.so"), b"checked").expect("a file");
        fs::write(at.join("other.so"), b"another").expect("a file");
        let opened = Library::open(&at.join("lib.so")).expect("it is ours");
        fs::rename(at.join("other.so"), at.join("lib.so")).expect("it is replaced");
        assert_eq!(fs::read(opened.path()).expect("it can be read"), b"checked");
    }

    #[test]
    fn a_process_has_to_have_loaded_it_and_the_session() {
        let (pid, memory) =
            (std::process::id(), Memory::of(&fs::metadata("/proc/self/exe").expect("it runs")));
        let own = std::env::current_exe().and_then(|path| path.canonicalize()).expect("its path");
        let own = own.to_string_lossy().into_owned();
        // The executable stands for a library, and for the session, too: both are mapped.
        let opened = Library::of_process(&own, pid, &memory);
        let is_open_to_others = opened.as_ref().is_err_and(|why| why.starts_with("others"));
        assert!(matches!(opened, Ok(Some(_))) || is_open_to_others, "{opened:?}");
        let not_loaded = Library::of_process("/etc/passwd", pid, &memory).expect_err("it is not loaded");
        assert!(not_loaded.contains("has not loaded it"), "{not_loaded}");
        let other = Memory::of(&fs::metadata("/etc/passwd").expect("a file"));
        let gone = Library::of_process(&own, pid, &other);
        assert!(matches!(gone, Ok(None)), "it takes no part in that session: {gone:?}");
        assert!(matches!(Library::of_process(&own, u32::MAX, &memory), Ok(None)));
    }
}
