//! The file of a recording that may still be written: opened without waiting for it, and read as far as it is there.

use crate::{Failure, exit, report};
use anyhow::anyhow;
use heapwise_trace::file::reader::{FRAME_BYTES, section_bytes};
use heapwise_trace::file::{HEADER_BYTES, MAGIC};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A regular file.
#[derive(Debug)]
pub(crate) struct Growing {
    path: PathBuf,
    file: Arc<File>,
}

/// What has become of a file by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Same,
    /// Another one has its name.
    Replaced,
    /// It is shorter than what was read of it.
    Shortened,
    Removed,
}

/// What a file can be read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A whole section, or what is none.
    Section,
    /// The file ends where a section does.
    End,
    /// The file ends within a section, or within its header.
    Part,
}

impl Growing {
    /// Opens what is a regular file, and refuses everything else at once.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.read(true);
        // A pipe is not waited for, and a terminal does not become this process's.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed(),
        );
        let refused =
            |why: &str| Failure::new(exit::UNREADABLE, anyhow!("cannot read {}: {why}", path.display()));
        // Some of what is no file cannot even be opened.
        match path.metadata() {
            Ok(found) if found.is_dir() => return Err(refused("it is a folder, not a recording")),
            Ok(found) if !found.is_file() => {
                return Err(refused(
                    "it is no regular file; a view is of one, which `heapwise run -o FILE.hw CMD` writes",
                ));
            }
            _ => {}
        }
        let file = options.open(path).map_err(|error| report::unreadable(path, &error))?;
        match file.metadata() {
            Ok(found) if found.is_file() => Ok(Self { path: path.to_owned(), file: Arc::new(file) }),
            _ => Err(refused("it is no regular file")),
        }
    }

    /// What is open already.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(file: File) -> Self {
        Self { path: PathBuf::new(), file: Arc::new(file) }
    }

    /// Where it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.file.metadata().map_or(0, |found| found.len())
    }

    /// All of it from the beginning, which ends where the file does now.
    pub(crate) fn stream(&self) -> Stream {
        Stream { file: Arc::clone(&self.file), at: 0 }
    }

    /// Whether its header is there, and that of a recording as far as it is there.
    pub(crate) fn header(&self) -> io::Result<Next> {
        let mut header = [0; HEADER_BYTES];
        let n = self.fill(0, &mut header)?;
        let known = n.min(MAGIC.len());
        Ok(match n {
            // What it is instead is said when it is read.
            _ if header[..known] != MAGIC[..known] || n == HEADER_BYTES => Next::Section,
            0 => Next::End,
            _ => Next::Part,
        })
    }

    /// What there is behind so many bytes of whole sections.
    pub(crate) fn next(&self, offset: u64) -> io::Result<Next> {
        let mut frame = [0; FRAME_BYTES];
        Ok(match self.fill(offset, &mut frame)? {
            0 => Next::End,
            FRAME_BYTES => match section_bytes(&frame) {
                Some(bytes) if offset.saturating_add(bytes) > self.size() => Next::Part,
                _ => Next::Section,
            },
            _ => Next::Part,
        })
    }

    fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = Stream { file: Arc::clone(&self.file), at: offset };
        let mut got = 0;
        while got < buffer.len() {
            match stream.read(&mut buffer[got..])? {
                0 => break,
                n => got += n,
            }
        }
        Ok(got)
    }

    /// What has become of it, of which so many bytes were read.
    pub(crate) fn fate(&self, offset: u64) -> Fate {
        let Ok(own) = self.file.metadata() else { return Fate::Same };
        match self.path.metadata() {
            Ok(found) if !is_same(&own, &found) => Fate::Replaced,
            _ if own.len() < offset => Fate::Shortened,
            Err(error) if error.kind() == ErrorKind::NotFound => Fate::Removed,
            _ => Fate::Same,
        }
    }
}

#[cfg(unix)]
fn is_same(own: &Metadata, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (own.dev(), own.ino()) == (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn is_same(own: &Metadata, found: &Metadata) -> bool {
    own.created().ok() == found.created().ok()
}

/// Bytes of a file, whoever else reads it. Behind its end there are none, until there are more.
#[derive(Debug)]
pub(crate) struct Stream {
    file: Arc<File>,
    at: u64,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let n = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// Why a file that is not there cannot become a recording, if so.
pub(crate) fn hopeless(path: &Path) -> Option<Failure> {
    let refused =
        |why: String| Some(Failure::new(exit::UNREADABLE, anyhow!("cannot read {}: {why}", path.display())));
    if path.as_os_str().is_empty() {
        return Some(Failure::new(exit::USAGE, anyhow!("the name of the recording is empty")));
    }
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
            match folder.metadata() {
                Err(_) => refused(format!("there is no folder {}", folder.display())),
                Ok(_) => None,
            }
        }
        Err(error) => Some(report::unreadable(path, &error)),
        // A link to what is not there yet.
        Ok(_) => match path.metadata() {
            Err(error) if error.kind() != ErrorKind::NotFound => Some(report::unreadable(path, &error)),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_written_later_is_read_later() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let growing = Growing::open(file.path()).expect("it is one");
        let mut stream = growing.stream();
        let mut text = String::new();
        for part in ["one ", "two"] {
            assert_eq!(stream.read_to_string(&mut text).expect("no error"), 0);
            file.write_all(part.as_bytes()).expect("the disk has room");
            stream.read_to_string(&mut text).expect("no error");
        }
        assert_eq!(text, "one two");
    }

    #[test]
    fn sections_are_there_when_all_of_them_is() {
        let whole = include_bytes!("../../../record/trace/tests/golden/v3.0.hw");
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let growing = Growing::open(file.path()).expect("it is one");
        assert_eq!(growing.header().expect("no error"), Next::End);
        file.write_all(&whole[..9]).expect("the disk has room");
        assert_eq!(growing.header().expect("no error"), Next::Part);
        file.write_all(&whole[9..40]).expect("the disk has room");
        assert_eq!(growing.header().expect("no error"), Next::Section);
        let at = HEADER_BYTES as u64;
        assert_eq!(growing.next(at).expect("no error"), Next::Part);
        file.write_all(&whole[40..]).expect("the disk has room");
        assert_eq!(growing.next(at).expect("no error"), Next::Section);
        assert_eq!(
            growing.next(at + 1).expect("no error"),
            Next::Section,
            "what is none is read, and reported"
        );
        assert_eq!(growing.next(growing.size()).expect("no error"), Next::End);
        std::fs::write(file.path(), "foreign").expect("the disk has room");
        assert_eq!(growing.header().expect("no error"), Next::Section, "and so is what is no recording");
    }

    #[test]
    fn what_becomes_of_a_file_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hw");
        std::fs::write(&path, "ten bytes.").expect("the disk has room");
        let growing = Growing::open(&path).expect("it is one");
        assert_eq!(growing.fate(10), Fate::Same);
        assert_eq!(growing.fate(11), Fate::Shortened);
        assert!(Growing::open(folder.path()).is_err() && Growing::open(&folder.path().join("b.hw")).is_err());
        // Windows keeps the name of a file that is open, and another one cannot have it.
        #[cfg(unix)]
        {
            std::fs::remove_file(&path).expect("it is there");
            assert_eq!(growing.fate(10), Fate::Removed);
            std::fs::write(&path, "ten bytes.").expect("the disk has room");
            assert_eq!(growing.fate(10), Fate::Replaced);
        }
    }
}
