//! Strings in a file's constants: what is left of an allocator where its symbols are stripped.
//!
//! Large libraries have hundreds of megabytes, so what is searched has a bound, in bytes and in time, that the files of one
//! [`Search`](super::Search) share. Only data that is loaded and never written is looked at: code and debug information hold no
//! strings of the program.

use memchr::memmem::Finder;
use object::elf;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader};
use std::time::{Duration, Instant};

/// Bytes that are searched between two looks at the clock.
const PIECE_BYTES: usize = 8 << 20;

/// How much may still be searched.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    bytes: u64,
    until: Instant,
    /// Whether something was left out.
    pub(super) is_reached: bool,
}

impl Bound {
    pub(super) fn new(bytes: u64, time: Duration) -> Bound {
        Bound { bytes, until: Instant::now() + time, is_reached: false }
    }

    /// Whether so many bytes more may be searched.
    fn allows(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes as u64).filter(|_| Instant::now() < self.until) {
            Some(left) => self.bytes = left,
            None => self.is_reached = true,
        }
        !self.is_reached
    }
}

/// The constants of a file.
pub(super) struct Constants<'data> {
    parts: Vec<&'data [u8]>,
}

impl<'data> Constants<'data> {
    pub(super) fn of<Elf: FileHeader>(file: &ElfFile<'data, Elf>) -> Constants<'data> {
        let (endian, data) = (file.endian(), file.data());
        let kinds = elf::SHF_ALLOC.0 | elf::SHF_WRITE.0 | elf::SHF_EXECINSTR.0;
        let sections = file.elf_section_table().iter().filter(|section| {
            let is_constant = section.sh_flags(endian).0 & kinds == elf::SHF_ALLOC.0;
            section.sh_type(endian) == elf::SHT_PROGBITS && is_constant
        });
        let mut parts: Vec<&[u8]> = sections.filter_map(|s| s.data(endian, data).ok()).collect();
        if parts.is_empty() {
            // The table of sections may be stripped as well.
            let segments = file.elf_program_headers().iter().filter(|segment| {
                segment.p_type(endian) == elf::PT_LOAD && segment.p_flags(endian).0 & elf::PF_W.0 == 0
            });
            parts = segments.filter_map(|s| s.data(endian, data).ok()).collect();
        }
        Constants { parts }
    }

    /// Whether a C string among them begins so.
    pub(super) fn have(&self, text: &str, bound: &mut Bound) -> bool {
        // Strings follow each other, each with a zero byte behind it. Without that in front, texts in tables of names, such
        // as heapwise's own, would be taken for the allocator's.
        let mut needle = Vec::with_capacity(text.len() + 1);
        needle.push(0);
        needle.extend_from_slice(text.as_bytes());
        let finder = Finder::new(&needle);
        self.parts
            .iter()
            .any(|part| part.starts_with(text.as_bytes()) || found(&finder, part, needle.len(), bound))
    }
}

/// Searches piece by piece, as far as the bound allows.
fn found(finder: &Finder<'_>, part: &[u8], needle: usize, bound: &mut Bound) -> bool {
    for start in (0..part.len()).step_by(PIECE_BYTES) {
        // Pieces overlap: what is sought may lie across a border.
        let piece = &part[start..part.len().min(start + PIECE_BYTES + needle)];
        if !bound.allows(piece.len()) {
            return false;
        }
        if finder.find(piece).is_some() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn have(parts: &[&[u8]], text: &str, bound: &mut Bound) -> bool {
        Constants { parts: parts.to_vec() }.have(text, bound)
    }

    #[test]
    fn only_the_beginning_of_a_c_string_counts() {
        let mut bound = Bound::new(1 << 20, Duration::from_secs(9));
        assert!(have(&[b"a\0<jemalloc>: bad\0"], "<jemalloc>: ", &mut bound));
        assert!(have(&[b"x", b"<jemalloc>: bad\0"], "<jemalloc>: ", &mut bound));
        assert!(!have(&[b"a<jemalloc>: bad\0"], "<jemalloc>: ", &mut bound), "a table of names");
        assert!(!have(&[b"\0pymalloc_debug\0"], "pymalloc\0", &mut bound), "another string");
        assert!(!bound.is_reached);
    }

    #[test]
    fn a_text_across_a_border_is_found_and_beyond_the_bound_it_is_not_looked_for() {
        let mut part = vec![b'x'; PIECE_BYTES + 100];
        part[PIECE_BYTES - 3..PIECE_BYTES + 10].copy_from_slice(b"\0<jemalloc>: ");
        let mut bound = Bound::new(1 << 30, Duration::from_secs(9));
        assert!(have(&[&part], "<jemalloc>: ", &mut bound));
        for mut bound in [Bound::new(1 << 10, Duration::from_secs(9)), Bound::new(1 << 30, Duration::ZERO)] {
            assert!(!have(&[&part], "<jemalloc>: ", &mut bound));
            assert!(bound.is_reached);
        }
    }
}
