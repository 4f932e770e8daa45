//! Opening an ELF file: is it one, is it whole, and which build is it.

use std::path::Path;

use object::Object;

use crate::error::{Error, Repr};

/// Parses the headers of an ELF file. Sections are located, not read.
pub(crate) fn parse<'store>(path: &Path, data: &'store [u8]) -> Result<object::File<'store>, Error> {
    if data.is_empty() {
        return Err(Repr::Empty(path.to_owned()).into());
    }
    if !data.starts_with(&object::elf::ELFMAG) {
        let found = String::from_utf8_lossy(&data[..data.len().min(8)]).into_owned();
        return Err(Repr::NotElf { path: path.to_owned(), found }.into());
    }
    object::File::parse(data)
        .map_err(|error| Repr::Malformed { path: path.to_owned(), reason: error.to_string() }.into())
}

/// The build id of a file, if the linker wrote one.
pub(crate) fn build_id<'store>(object: &object::File<'store>) -> Option<&'store [u8]> {
    object.build_id().ok().flatten().filter(|id| !id.is_empty())
}

/// Fails if the file is another build than `expected`. If `expected` is empty, nothing is checked.
pub(crate) fn check_build_id(path: &Path, object: &object::File<'_>, expected: &[u8]) -> Result<(), Error> {
    let found = build_id(object);
    if expected.is_empty() || found == Some(expected) {
        return Ok(());
    }
    let found = found.map(<[u8]>::to_vec);
    Err(Repr::Replaced { path: path.to_owned(), expected: expected.to_vec(), found }.into())
}
