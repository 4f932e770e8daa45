//! Files in memory, and values that point into them.
//!
//! Debug information is large, so it is mapped and never copied; what is parsed from it points into the mapping. The
//! owner of the mappings and what points into them belong together in one value. Rust has no word for that, hence the
//! two unsafe operations of this module. Everything else in the crate uses its safe surface: [`Store`], to which bytes
//! are added and from which they are never taken away, and [`Anchored`], a value together with the store that it
//! points into.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

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
    // SAFETY: `Mmap::map` asks that nobody changes or truncates the file while it is mapped. The mapping is private and
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
///
/// It is a chain whose links are written once, which needs no unsafe code. Chains are short: a file, its debug file,
/// the supplementary one, the sections that had to be decompressed, and the split debug files that were asked for.
#[derive(Default)]
pub(crate) struct Store {
    first: OnceLock<Box<Link>>,
}

struct Link {
    bytes: Bytes,
    next: OnceLock<Box<Link>>,
}

impl Store {
    /// Keeps a mapped file for as long as the store.
    pub(crate) fn keep_file(&self, file: MappedFile) -> &[u8] {
        self.keep(file.bytes)
    }

    /// Keeps bytes that were made, such as a decompressed section.
    pub(crate) fn keep_bytes(&self, bytes: Vec<u8>) -> &[u8] {
        self.keep(Bytes::Owned(bytes))
    }

    fn keep(&self, bytes: Bytes) -> &[u8] {
        let mut new = Some(Box::new(Link { bytes, next: OnceLock::new() }));
        let mut place = &self.first;
        loop {
            // The closure runs at the end of the chain only, and only once, because `set` there takes the link.
            if let Some(link) = place.get() {
                place = &link.next;
                continue;
            }
            let link =
                place.get_or_init(|| new.take().unwrap_or_else(|| unreachable!("a link is placed once")));
            if new.is_none() {
                return link.bytes.as_slice();
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Link by link, because dropping a long chain by recursion would need a deep stack.
        let mut next = self.first.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}

/// A type that points into a store, as a family over the lifetime of that store.
pub(crate) trait Family {
    /// The member of the family that points into a store which lives for `'store`.
    type On<'store>: 'store;
}

/// A value and the store that it points into.
pub(crate) struct Anchored<F: Family> {
    // NOTE: the order of the fields matters: they are dropped from top to bottom, and the value must go first.
    value: F::On<'static>,
    // An `Arc` and not a `Box`, because moving a box claims that nothing else points at its content.
    _store: Arc<Store>,
}

impl<F: Family> Anchored<F> {
    /// Builds a value on a fresh store. The builder works for every lifetime, so it cannot keep or leak one.
    pub(crate) fn build<E>(
        builder: impl for<'store> FnOnce(&'store Store) -> Result<F::On<'store>, E>,
    ) -> Result<Anchored<F>, E> {
        let store = Arc::new(Store::default());
        // SAFETY: validity: the pointer comes from a live `Arc` that is stored beside the value and dropped after it,
        // so the store outlives every use of the reference, which is never given out as `'static`: `builder` and the
        // closure of `with` must accept any lifetime. Aliasing: the store is only ever used through shared references;
        // the `Arc` is never cloned, so no exclusive reference exists before the drop.
        let for_ever: &'static Store = unsafe { &*Arc::as_ptr(&store) };
        Ok(Anchored { value: builder(for_ever)?, _store: store })
    }

    /// Uses the value, again for every lifetime.
    pub(crate) fn with<R>(&self, user: impl for<'a, 'store> FnOnce(&'a F::On<'store>) -> R) -> R {
        user(&self.value)
    }
}

impl<F: Family> fmt::Debug for Anchored<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anchored").finish_non_exhaustive()
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

    #[test]
    fn an_anchored_value_may_be_moved() {
        struct Words;
        impl Family for Words {
            type On<'store> = Vec<&'store [u8]>;
        }
        let anchored = Anchored::<Words>::build(|store| {
            Ok::<_, ()>(vec![store.keep_bytes(b"one".to_vec()), store.keep_bytes(b"two".to_vec())])
        });
        let moved = Box::new(anchored.unwrap());
        assert_eq!(moved.with(|words| words.concat()), b"onetwo");
    }
}
