//! Files in memory.
//!
//! Debug information is large, so it is mapped and never copied; what is parsed from it points into the mapping. The
//! owner of the mappings is a [`Store`], to which bytes are added and from which they are never taken away.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use memmap2::Mmap;
use typed_arena::Arena;

use crate::error::{Error, Repr};

/// A file opened and mapped for reading, with what the file system says about it.
pub(crate) struct MappedFile {
    pub(crate) metadata: Metadata,
    bytes: Bytes,
}

impl MappedFile {
    /// Maps a regular file.
    pub(crate) fn open(path: &Path) -> Result<MappedFile, Error> {
        // Without O_NONBLOCK, opening a named pipe would wait for a writer that may never come.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(path)
            .map_err(|error| Error::from_io(path, error))?;
        let metadata = file.metadata().map_err(|error| Error::from_io(path, error))?;
        if let Some(found) = irregularity(&metadata) {
            return Err(Repr::NotRegular { path: path.to_owned(), found }.into());
        }
        // The kernel refuses to map nothing.
        let bytes = if metadata.len() == 0 {
            Bytes::Owned(Vec::new())
        } else {
            Bytes::Mapped(map(&file).map_err(|error| Error::from_io(path, error))?)
        };
        Ok(MappedFile { metadata, bytes })
    }

    pub(crate) fn data(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

fn irregularity(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("directory"),
        () if kind.is_fifo() => Some("named pipe"),
        () if kind.is_socket() => Some("socket"),
        () => Some("device"),
    }
}

fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: `Mmap::map` requires that the file is not changed or truncated while it is mapped. The mapping is private and
    // read-only, so nothing in this process does. Another process could: a write would be seen as changed bytes, which
    // the parsers treat as the untrusted input they read anyway, and a truncation would end this process with SIGBUS.
    // This is the weak point, and it is accepted as it is by debuggers: compilers and package managers replace
    // executables by a new file of the same name, and then the mapping keeps the old one.
    unsafe { Mmap::map(file) }
}

enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// A collection of bytes that only grows: what it once lent out stays where it is until the whole store is dropped.
#[derive(Default)]
pub(crate) struct Store(Arena<Bytes>);

impl Store {
    /// Keeps a mapped file for as long as the store.
    pub(crate) fn keep_file(&self, file: MappedFile) -> &[u8] {
        self.0.alloc(file.bytes).as_slice()
    }

    /// Keeps bytes that were made, such as a decompressed section.
    pub(crate) fn keep_bytes(&self, bytes: Vec<u8>) -> &[u8] {
        self.0.alloc(Bytes::Owned(bytes)).as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_what_it_lent_out() {
        let store = Store::default();
        let kept: Vec<&[u8]> = (0..1000_u32).map(|i| store.keep_bytes(i.to_le_bytes().to_vec())).collect();
        for (i, bytes) in kept.iter().enumerate() {
            assert_eq!(*bytes, (i as u32).to_le_bytes());
        }
    }

    type Words<'store> = Vec<&'store [u8]>;

    self_cell::self_cell! {
        struct Anchored {
            owner: Store,
            #[covariant]
            dependent: Words,
        }
    }

    #[test]
    fn an_anchored_value_may_be_moved() {
        let anchored = Anchored::new(Store::default(), |store| {
            vec![store.keep_bytes(b"one".to_vec()), store.keep_bytes(b"two".to_vec())]
        });
        let moved = Box::new(anchored);
        assert_eq!(moved.borrow_dependent().concat(), b"onetwo");
    }
}
