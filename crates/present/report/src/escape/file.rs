//! A file for a result: readable by its owner only, written completely or not at all, and never through an existing link.
//!
//! A result is written to a new file in the same folder, which is then renamed. A link is replaced and not followed, other names
//! of the old file keep its content, and a process that has the old file open continues to read the old one. Pipes and devices
//! are written to directly, if no other user can have put them there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// What happens to a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The result replaces it. Pipes and devices are written to, as the user typed their name.
    Replace,
    /// The result replaces it, whatever it is: the name was made up by a program.
    ReplaceAnything,
    /// It stays, and the result is an error of the kind [`io::ErrorKind::AlreadyExists`].
    Keep,
    /// As [`Existing::Keep`], but pipes and devices are written to, as the user typed their name.
    KeepFiles,
}

impl Existing {
    /// What a user wants who has typed a name, and `--force` or not.
    pub fn of(force: bool) -> Self {
        if force { Self::Replace } else { Self::KeepFiles }
    }
}

fn exists() -> io::Error {
    let what = "it exists; replace it with --force, or name another file";
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// A result that is being written. It has no name until [`Output::finish`], and without that it leaves nothing behind.
#[derive(Debug)]
pub struct Output<'a> {
    place: &'a Path,
    existing: Existing,
    target: Target,
}

#[derive(Debug)]
enum Target {
    New(NamedTempFile),
    /// A pipe or a device.
    Open(File),
}

impl<'a> Output<'a> {
    /// Begins a file.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(place: &'a Path, existing: Existing) -> io::Result<Self> {
        let target = match what_is_at(place, existing)? {
            At::NothingInTheWay => Target::New(new_beside(place)?),
            At::Special => Target::Open(OpenOptions::new().write(true).truncate(true).open(place)?),
        };
        Ok(Self { place, existing, target })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If the name was taken meanwhile, or cannot be used.
    pub fn finish(self) -> io::Result<()> {
        match (self.target, self.existing) {
            (Target::New(file), Existing::Keep) => {
                file.persist_noclobber(self.place).map(drop).map_err(|error| error.error)
            }
            (Target::New(file), Existing::KeepFiles) => {
                let finished = file.persist_noclobber(self.place).map(drop);
                finished.map_err(|error| match error.error.kind() {
                    io::ErrorKind::AlreadyExists => exists(),
                    _ => error.error,
                })
            }
            (Target::New(file), _) => file.persist(self.place).map(drop).map_err(|error| error.error),
            (Target::Open(mut file), _) => file.flush(),
        }
    }

    /// The file, for a program that writes to it.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub fn handle(&self) -> io::Result<File> {
        match &self.target {
            Target::New(file) => file.as_file().try_clone(),
            Target::Open(file) => file.try_clone(),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::New(file) => file.as_file_mut().write(bytes),
            Target::Open(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a whole file.
///
/// # Errors
/// If it cannot be created or written.
pub fn write(place: &Path, text: &str, existing: Existing) -> io::Result<()> {
    let mut output = Output::create(place, existing)?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

/// Checks that a result can be written, before hours of work for it. An existing file is left unchanged; pipes and devices are
/// not opened, as that would wait for a reader.
///
/// # Errors
/// If it cannot be written.
pub fn check(place: &Path, existing: Existing) -> io::Result<()> {
    match what_is_at(place, existing)? {
        At::NothingInTheWay => new_beside(place).map(drop),
        At::Special => Ok(()),
    }
}

enum At {
    /// Nothing, or a file or a link that a new file replaces.
    NothingInTheWay,
    /// A pipe or a device, which is written to directly.
    Special,
}

fn what_is_at(place: &Path, existing: Existing) -> io::Result<At> {
    let Ok(own) = place.symlink_metadata() else { return Ok(At::NothingInTheWay) };
    let end = place.metadata();
    if end.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Open files of a process have names there, such as /dev/stdout, and none of them can be replaced.
    let is_of_the_system = is_in_the_systems_folders(place);
    let is_file = !is_of_the_system && end.as_ref().map_or(true, std::fs::Metadata::is_file);
    match existing {
        Existing::Keep => return Err(io::ErrorKind::AlreadyExists.into()),
        Existing::ReplaceAnything => return Ok(At::NothingInTheWay),
        Existing::Replace if is_file => return Ok(At::NothingInTheWay),
        Existing::KeepFiles if is_file => return Err(exists()),
        Existing::Replace | Existing::KeepFiles => {}
    }
    if is_of_the_system || is_trusted(place, &own) {
        return Ok(At::Special);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is a pipe, a device or a link to one that another user can have put there",
    ))
}

fn folder_of(place: &Path) -> &Path {
    place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn new_beside(place: &Path) -> io::Result<NamedTempFile> {
    if place.file_name().is_none() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Other users may list the folder: the name shows only that the file is heapwise's.
    tempfile::Builder::new().prefix(".heapwise-").make_in(folder_of(place), |path| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    })
}

#[cfg(unix)]
fn is_in_the_systems_folders(place: &Path) -> bool {
    let Ok(folder) = folder_of(place).canonicalize() else { return false };
    // Every user may write to these two folders.
    let is_shared = ["/dev/shm", "/dev/mqueue"].iter().any(|shared| folder.starts_with(shared));
    !is_shared && ["/dev", "/proc"].iter().any(|system| folder.starts_with(system))
}

#[cfg(not(unix))]
fn is_in_the_systems_folders(_place: &Path) -> bool {
    false
}

/// Whether what lies at a place was put there by this user or by root, or is in a folder that no other user can write to.
#[cfg(unix)]
fn is_trusted(place: &Path, own: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let us = rustix::process::geteuid().as_raw();
    let is_ours = |uid: u32| uid == us || uid == 0;
    let is_ours_alone = |folder: std::fs::Metadata| is_ours(folder.uid()) && folder.mode() & 0o022 == 0;
    is_ours(own.uid()) || folder_of(place).metadata().is_ok_and(is_ours_alone)
}

#[cfg(not(unix))]
fn is_trusted(_place: &Path, _own: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result");
        write(&path, "first", Existing::of(false)).expect("nothing is there");
        for error in [check(&path, Existing::of(false)), write(&path, "second", Existing::of(false))] {
            let error = error.expect_err("it exists");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert!(error.to_string().contains("--force"), "{error}");
        }
        // It was not there when the work began.
        let late = folder.path().join("late");
        let output = Output::create(&late, Existing::of(false)).expect("a place");
        fs::write(&late, "theirs").expect("a file");
        assert!(output.finish().expect_err("it is there now").to_string().contains("--force"));
        assert_eq!(fs::read_to_string(&late).expect("a file"), "theirs");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "first");
        write(&path, "second", Existing::of(true)).expect("it may be replaced");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "second");
    }

    #[test]
    fn what_is_there_stays_and_what_is_not_is_not_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result");
        check(&path, Existing::Keep).expect("a place");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        drop(Output::create(&path, Existing::Replace).expect("a place"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "what is not finished is gone");
        fs::write(&path, "old").expect("a file");
        check(&path, Existing::Replace).expect("a place");
        for keeping in [check(&path, Existing::Keep), write(&path, "new", Existing::Keep)] {
            assert_eq!(keeping.expect_err("it is taken").kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
        for nowhere in
            [folder.path(), &folder.path().join("no/such"), &path.join("below"), &folder.path().join("..")]
        {
            check(nowhere, Existing::Replace).expect_err("no place");
            write(nowhere, "", Existing::Replace).expect_err("no place");
        }
        write(&path, "new", Existing::Replace).expect("a place");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_place_that_was_taken_meanwhile_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result");
        let output = Output::create(&path, Existing::Keep).expect("a place");
        fs::write(&path, "precious").expect("a file");
        assert_eq!(output.finish().expect_err("it is taken").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "precious");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_files_are_for_their_owner_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "precious").expect("a file");
        fs::set_permissions(at("victim"), PermissionsExt::from_mode(0o666)).expect("is ours");
        symlink(at("victim"), at("link")).expect("a link");
        symlink(at("nothing"), at("dangling")).expect("a link");
        fs::hard_link(at("victim"), at("hard")).expect("a link");
        for name in ["link", "dangling", "hard"] {
            write(&at(name), "result", Existing::Replace).expect("a place");
            let facts = at(name).symlink_metadata().expect("is there");
            assert!(facts.is_file() && facts.permissions().mode() & 0o777 == 0o600, "{name}: {facts:?}");
            assert_eq!(fs::read_to_string(at(name)).expect("a file"), "result");
        }
        assert_eq!(fs::read_to_string(at("victim")).expect("a file"), "precious");
        assert!(!at("nothing").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_own_pipes_are_written_to() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        write(Path::new("/dev/null"), "x", Existing::Replace).expect("it takes anything");
        assert!(Path::new("/dev/null").metadata().is_ok_and(|m| !m.is_file()), "it is still a device");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo");
        assert!(made.success());
        check(&pipe, Existing::Replace).expect("it is not opened");
        assert_eq!(
            check(&pipe, Existing::Keep).expect_err("it is taken").kind(),
            io::ErrorKind::AlreadyExists
        );
        check(&pipe, Existing::ReplaceAnything).expect("it can be replaced");
        let reading = pipe.clone();
        let reader = std::thread::spawn(move || fs::read_to_string(reading));
        write(&pipe, "through the pipe", Existing::Replace).expect("a thread reads");
        assert_eq!(reader.join().expect("ends").expect("read"), "through the pipe");
        write(&pipe, "without a reader", Existing::ReplaceAnything).expect("no reader is waited for");
        assert_eq!(fs::read_to_string(&pipe).expect("it is a file now"), "without a reader");
        // The name of a file that a process has open.
        let open = File::create(folder.path().join("open")).expect("a file");
        let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        write(Path::new(&name), "by number", Existing::Replace).expect("it is open");
        assert_eq!(fs::read_to_string(folder.path().join("open")).expect("a file"), "by number");
        let _ = symlink("/dev/null", folder.path().join("null"));
        write(&folder.path().join("null"), "x", Existing::Replace).expect("it is our link");
    }

    /// Only root can give a file to another user.
    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_and_links_of_others_are_not_written_to() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files away");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).expect("is ours");
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()));
        symlink("/dev/null", &link).expect("a link");
        for place in [&pipe, &link] {
            lchown(place, Some(65534), Some(65534)).expect("we are root");
            for refused in [check(place, Existing::Replace), write(place, "x", Existing::Replace)] {
                assert_eq!(refused.expect_err("not ours").kind(), io::ErrorKind::PermissionDenied);
            }
        }
    }
}
