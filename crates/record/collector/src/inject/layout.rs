//! The recorder's image: the parts of its file, and what they become at an address.
//!
//! It is a shared object that needs nothing: it has no libraries, no thread-local storage, and refers to nothing but itself.

use object::LittleEndian;
use object::elf::{
    DT_RELA, DT_RELASZ, FileHeader64, PF_R, PF_W, PF_X, PT_LOAD, R_X86_64_GLOB_DAT, R_X86_64_RELATIVE, Rela64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

/// What has to be mapped, and where a thread begins. Addresses count from the image's first byte.
#[derive(Debug)]
pub(crate) struct Layout<'file> {
    /// Bytes of memory that it takes, whole pages.
    pub(crate) len: u64,
    /// Its first function.
    pub(crate) entry: u64,
    pub(crate) parts: Vec<Part<'file>>,
    /// Words that hold an address of the image: where they are, and which.
    relocations: Vec<(u64, u64)>,
}

/// A part of memory with its own permissions.
#[derive(Debug)]
pub(crate) struct Part<'file> {
    /// Where it begins and how long it is: whole pages.
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// As for `mmap`.
    pub(crate) protection: i32,
    /// Where the bytes of the file are, which are followed by zeroes.
    at: u64,
    bytes: &'file [u8],
}

pub(crate) const PAGE: u64 = 4096;

impl<'file> Layout<'file> {
    /// Reads the file; `None` if it is no image: then it was built wrongly.
    pub(crate) fn read(file: &'file [u8]) -> Option<Self> {
        let endian = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(file).ok()?;
        let segments = header.program_headers(endian, file).ok()?;
        let mut parts = Vec::new();
        for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
            let (at, end) =
                (segment.p_vaddr(endian), segment.p_vaddr(endian).checked_add(segment.p_memsz(endian))?);
            let (start, flags) = (at & !(PAGE - 1), segment.p_flags(endian));
            let protection = [(PF_R, libc::PROT_READ), (PF_W, libc::PROT_WRITE), (PF_X, libc::PROT_EXEC)];
            let has = |flag| flags & flag == flag;
            let protection =
                protection.into_iter().filter(|(flag, _)| has(*flag)).fold(0, |sum, (_, one)| sum | one);
            let len = end.checked_next_multiple_of(PAGE)? - start;
            parts.push(Part { start, len, protection, at, bytes: segment.data(endian, file).ok()? });
        }
        let mut layout = Self { len: 0, entry: header.e_entry(endian), relocations: Vec::new(), parts };
        layout.len = layout.parts.iter().map(|part| part.start + part.len).max()?;
        let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, file).ok().flatten())?;
        let value = |tag| {
            let entry = dynamic.iter().find(|entry| entry.d_tag(endian) == tag)?;
            Some(entry.d_val(endian))
        };
        let (at, len) = (value(DT_RELA)?, value(DT_RELASZ)?);
        let bytes = layout.parts.iter().find_map(|part| {
            let start = usize::try_from(at.checked_sub(part.at)?).ok()?;
            part.bytes.get(start..)?.get(..usize::try_from(len).ok()?)
        })?;
        let (relocations, _) = object::pod::slice_from_bytes::<Rela64<LittleEndian>>(
            bytes,
            bytes.len() / size_of::<Rela64<LittleEndian>>(),
        )
        .ok()?;
        for relocation in relocations {
            match relocation.r_type(endian, false) {
                R_X86_64_RELATIVE => {
                    let target = relocation.r_addend.get(endian).try_into().ok()?;
                    layout.relocations.push((relocation.r_offset.get(endian), target));
                }
                // What the image asks for and does without: it stays zero.
                R_X86_64_GLOB_DAT => {}
                _ => return None,
            }
        }
        Some(layout)
    }

    /// The bytes that are not zero at an address, with the address of each piece.
    pub(crate) fn placed(&self, base: u64) -> Option<Vec<(u64, Vec<u8>)>> {
        let mut pieces: Vec<_> = self.parts.iter().map(|part| (part.at, part.bytes.to_vec())).collect();
        for (at, target) in &self.relocations {
            let word = pieces.iter_mut().find_map(|(start, bytes)| {
                let from = usize::try_from(at.checked_sub(*start)?).ok()?;
                bytes.get_mut(from..)?.get_mut(..8)
            })?;
            word.copy_from_slice(&base.wrapping_add(*target).to_le_bytes());
        }
        Some(pieces.into_iter().map(|(at, bytes)| (base + at, bytes)).collect())
    }
}
