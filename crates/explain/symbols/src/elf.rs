//! Opening an ELF file: is it one, is it whole, and which build is it.

use std::path::Path;

use object::read::elf::{Note, SectionHeader};
use object::{Object, elf};

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
    let id = object.build_id().unwrap_or_else(|_| beside_odd_notes(object));
    id.filter(|id| !id.is_empty())
}

/// The same where some notes cannot be read: those of Go before 1.10 are aligned to 32 bytes.
fn beside_odd_notes<'store>(object: &object::File<'store>) -> Option<&'store [u8]> {
    let object::File::Elf64(file) = object else { return None };
    let endian = file.endian();
    let sections = file.elf_section_table().iter();
    let notes = sections.filter_map(|section| section.notes(endian, file.data()).ok().flatten());
    // It ends at what cannot be read.
    let mut notes = notes.flat_map(|notes| notes.map_while(Result::ok));
    let is_it =
        |note: &Note<'_, _>| note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID;
    notes.find(is_it).map(|note| note.desc())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A section of notes, of which the assembler is given the alignment.
    fn file(folder: &Path, alignment: u32) -> Vec<u8> {
        let (source, out) = (folder.join("a.c"), folder.join("a.so"));
        let notes = format!(
            r#"__asm__(".section .note.go.buildid, \"a\", @note; .balign {alignment}; .long 4, 4, 4; .ascii \"Go\\0\\0\"; .long 7; .text");"#
        );
        std::fs::write(&source, notes).expect("it can be written");
        let mut cc = std::process::Command::new("cc");
        let options = ["-shared", "-nostdlib", "-Wl,--build-id=0x0123456789abcdef", "-o"];
        let status = cc.args(options).arg(&out).arg(&source).status().expect("there is a compiler");
        assert!(status.success());
        std::fs::read(out).expect("it was written")
    }

    #[test]
    fn a_note_that_cannot_be_read_hides_no_build_id() {
        let folder = tempfile::tempdir().expect("a folder");
        for alignment in [4, 32] {
            let bytes = file(folder.path(), alignment);
            let object = parse(Path::new("a.so"), &bytes).expect("it is whole");
            assert_eq!(object.build_id().is_err(), alignment == 32);
            assert_eq!(build_id(&object), Some(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][..]));
        }
    }
}
