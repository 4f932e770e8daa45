//! Mini debug information: the symbols of a stripped file's own functions, in its section `.gnu_debugdata`.
//!
//! The section is a whole ELF file, compressed with xz, that has a symbol table and nothing else of use. Fedora and its kin
//! put it into all of their programs.

use std::io::Read;
use std::path::Path;

use lzma_rust2::XzReader;
use object::{Object, ObjectSection};

use crate::elf;
use crate::mmap::Store;

/// Decompressed. That of a browser has 20 MiB.
const MOST_BYTES: u64 = 256 << 20;
/// What the decompressor may take beside it, in KiB: what `xz -9` needs.
const MOST_MEMORY_KIB: u32 = 72 << 10;

/// The file in the section, if there is one and it can be read.
pub(crate) fn find<'store>(
    path: &Path,
    object: &object::File<'store>,
    store: &'store Store,
) -> Option<object::File<'store>> {
    let section = object.section_by_name(".gnu_debugdata")?;
    let mut bytes = Vec::new();
    let reader = XzReader::new_mem_limit(section.data().ok()?, true, MOST_MEMORY_KIB);
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MOST_BYTES {
        return None;
    }
    elf::parse(path, store.keep_bytes(bytes)).ok()
}
