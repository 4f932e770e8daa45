//! Allocators inside of all files that a process had mapped as code: libraries bring theirs along as programs do.

use super::texts::Bound;
use super::{Inside, LONGEST_SEARCH, MOST_SEARCHED_BYTES, file};
use crate::elf;
use crate::error::Error;
use crate::mmap::MappedFile;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A search through many files, which share a bound of time and bytes. Each file is searched once.
#[derive(Debug)]
pub struct Search {
    bound: Bound,
    known: HashMap<Identity, Inside>,
}

/// Which file it is, whatever it is called.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    BuildId(Vec<u8>),
    /// Device and inode.
    File(u64, u64),
}

impl Default for Search {
    fn default() -> Search {
        Search { bound: Bound::new(MOST_SEARCHED_BYTES, LONGEST_SEARCH), known: HashMap::new() }
    }
}

impl Search {
    /// Searches a file.
    ///
    /// # Errors
    ///
    /// If the file is missing, unreadable, damaged, or no ELF file.
    pub fn file(&mut self, path: &Path) -> Result<Inside, Error> {
        let mapped = MappedFile::open(path)?;
        let object = elf::parse(path, mapped.data())?;
        let identity = match elf::build_id(&object) {
            Some(id) => Identity::BuildId(id.to_vec()),
            None => Identity::File(mapped.metadata.dev(), mapped.metadata.ino()),
        };
        if let Some(inside) = self.known.get(&identity) {
            return Ok(inside.clone());
        }
        let inside = file::inside(path, mapped.data(), &mut self.bound)?;
        self.known.insert(identity, inside.clone());
        Ok(inside)
    }

    /// Whether the bound was reached, so that something may not have been found.
    pub fn is_cut(&self) -> bool {
        self.bound.is_reached
    }
}
