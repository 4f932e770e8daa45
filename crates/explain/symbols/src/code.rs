//! A file as code: which functions it defines, and their bytes.
//!
//! Other modules ask what is at an address. This one goes the other way: it lists the functions by their names, for whoever wants
//! to find one, and lends their bytes.

use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use object::read::elf::{ElfFile64, ProgramHeader, Sym, SymbolTable};
use object::{Endianness, Object, ObjectSection, elf};

use crate::elf::parse;
use crate::error::{Error, Repr};
use crate::mini;
use crate::mmap::{MappedFile, Store};
use crate::search::{self, DebugSearch};
use crate::svma::Svma;

/// An open file for 64-bit x86.
pub struct Code<'file> {
    elf: ElfFile64<'file>,
    /// The symbols of a stripped file: compressed in itself, or in a debug file where debuggers look for it.
    apart: Option<object::File<'file>>,
    segments: Vec<Segment>,
    inode: u64,
}

/// A function that a file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'file> {
    /// As it stands in the symbol table, without a version.
    pub name: &'file str,
    pub address: Svma,
    /// Bytes, 0 if the table does not say.
    pub size: u64,
    /// Whether other files may use it.
    pub is_exported: bool,
    /// Whether only the source file that it is from could use it, so that its name says nothing of what it does.
    pub is_static: bool,
}

/// A part of the file that is mapped as code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it is in the file.
    pub in_file: Range<u64>,
    /// Where it begins as the file was linked.
    pub address: Svma,
}

/// Opens a file and has it read.
///
/// # Errors
/// If it is missing, unreadable, damaged, or no ELF file for 64-bit x86.
pub fn read<T>(path: &Path, read: impl FnOnce(&Code<'_>) -> T) -> Result<T, Error> {
    let store = Store::default();
    let file = MappedFile::open(path)?;
    let inode = file.metadata.ino();
    let data = store.keep_file(file);
    let object = parse(path, data)?;
    let apart = match &object {
        object::File::Elf64(elf) if elf.elf_symbol_table().is_empty() => {
            let search = DebugSearch::default();
            let debug_file = || search::find_debug_file(&search, path, &object, &store, &mut Vec::new());
            mini::find(path, &object, &store).or_else(|| debug_file().map(|file| file.object))
        }
        _ => None,
    };
    let elf = match object {
        object::File::Elf64(elf) if elf.elf_header().e_machine.get(elf.endian()) == elf::EM_X86_64 => elf,
        _ => {
            let reason = "it is not for 64-bit x86".to_owned();
            return Err(Repr::Malformed { path: path.to_owned(), reason }.into());
        }
    };
    let segments =
        elf.elf_program_headers().iter().filter_map(|header| segment(elf.endian(), header)).collect();
    Ok(read(&Code { elf, apart, segments, inode }))
}

/// Linkers append the version of a versioned symbol: `malloc@@GLIBC_2.2.5`.
pub(crate) fn without_version(name: &[u8]) -> &[u8] {
    memchr::memchr(b'@', name).map_or(name, |at| &name[..at])
}

fn segment(endian: Endianness, header: &elf::ProgramHeader64<Endianness>) -> Option<Segment> {
    if header.p_type(endian) != elf::PT_LOAD || !header.p_flags(endian).contains(elf::PF_X) {
        return None;
    }
    let start = header.p_offset(endian);
    let in_file = start..start.checked_add(header.p_filesz(endian))?;
    Some(Segment { in_file, address: Svma(header.p_vaddr(endian)) })
}

impl std::fmt::Debug for Code<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("segments", &self.segments).finish_non_exhaustive()
    }
}

impl Code<'_> {
    /// The file's number in its file system.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Its first instruction.
    pub fn entry(&self) -> Svma {
        Svma(self.elf.elf_header().e_entry.get(self.elf.endian()))
    }

    /// Its frame descriptions (`.eh_frame`) and where they lie, if it has no table of them.
    pub fn frames_without_table(&self) -> Option<(Svma, &[u8])> {
        let endian = self.elf.endian();
        let mut headers = self.elf.elf_program_headers().iter();
        if headers.any(|header| header.p_type(endian) == elf::PT_GNU_EH_FRAME) {
            return None;
        }
        let section = self.elf.section_by_name(".eh_frame")?;
        Some((Svma(section.address()), section.data().ok()?))
    }

    /// The parts that are mapped as code.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether it is a program and no library. The C library has an interpreter, too: it can be run to print its version.
    pub fn is_executable(&self) -> bool {
        let endian = self.elf.endian();
        let headers = self.elf.elf_program_headers();
        let dynamic =
            headers.iter().find_map(|part| part.dynamic(endian, self.elf.data()).ok()?).unwrap_or_default();
        let value = |tag| dynamic.iter().find(|e| e.d_tag.get(endian) == tag).map(|e| e.d_val.get(endian));
        let is_pie = value(elf::DT_FLAGS_1).is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0);
        let has_interpreter = headers.iter().any(|part| part.p_type(endian) == elf::PT_INTERP);
        self.elf.elf_header().e_type.get(endian) == elf::ET_EXEC
            || is_pie
            || has_interpreter && value(elf::DT_SONAME).is_none()
    }

    /// Whether it is a program that has all its code in itself.
    pub fn is_static(&self) -> bool {
        let endian = self.elf.endian();
        let mut headers = self.elf.elf_program_headers().iter();
        self.is_executable() && !headers.any(|part| part.p_type(endian) == elf::PT_INTERP)
    }

    /// Whether it has no symbols but those that other files may use.
    pub fn is_stripped(&self) -> bool {
        self.elf.elf_symbol_table().is_empty() && self.apart.is_none()
    }

    /// Whether it has a section of this name.
    pub fn has_section(&self, name: &str) -> bool {
        self.elf.section_by_name(name).is_some()
    }

    /// Lists the functions that it defines. One that has several names, or is in several tables, comes several times.
    pub fn functions<'code>(&'code self, each: impl FnMut(Function<'code>)) {
        self.functions_where(|_| true, each);
    }

    /// Those whose names, without a version, are accepted. A large program has a hundred thousand.
    pub fn functions_where<'code>(
        &'code self,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut each: impl FnMut(Function<'code>),
    ) {
        let endian = self.elf.endian();
        let mut table = |table: &'code SymbolTable<'_, elf::FileHeader64<Endianness>>, is_exported: bool| {
            for symbol in table.iter() {
                if symbol.st_type() != elf::STT_FUNC || symbol.is_undefined(endian) {
                    continue;
                }
                let Ok(name) = table.symbol_name(endian, symbol) else { continue };
                let name = without_version(name);
                let Some(name) = is_wanted(name).then(|| std::str::from_utf8(name).ok()).flatten() else {
                    continue;
                };
                each(Function {
                    name,
                    address: Svma(symbol.st_value(endian)),
                    size: symbol.st_size(endian),
                    is_exported,
                    is_static: symbol.st_bind() == elf::STB_LOCAL
                        && symbol.st_visibility() == elf::STV_DEFAULT,
                });
            }
        };
        table(self.elf.elf_symbol_table(), false);
        table(self.elf.elf_dynamic_symbol_table(), true);
        if let Some(object::File::Elf64(apart)) = &self.apart {
            table(apart.elf_symbol_table(), false);
        }
    }

    /// Where it defines these names for others, functions or not.
    pub fn exported<'name>(&self, names: &[&'name str]) -> Vec<(&'name str, Svma)> {
        let endian = self.elf.endian();
        let table = self.elf.elf_dynamic_symbol_table();
        let defined = table.iter().filter(|symbol| !symbol.is_undefined(endian));
        let named = defined.filter_map(|symbol| {
            let name = table.symbol_name(endian, symbol).ok()?;
            let wanted = names.iter().find(|wanted| wanted.as_bytes() == name)?;
            Some((*wanted, Svma(symbol.st_value(endian))))
        });
        named.collect()
    }

    /// Its code from an address on: at most `len` bytes, and no further than the part of the file that is mapped there.
    pub fn bytes(&self, at: Svma, len: u64) -> &[u8] {
        let found = self.segments.iter().find_map(|segment| {
            let offset = at.0.checked_sub(segment.address.0)?;
            let start =
                segment.in_file.start.checked_add(offset).filter(|start| segment.in_file.contains(start))?;
            let end = segment.in_file.end.min(start.checked_add(len)?);
            self.elf.data().get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        });
        found.unwrap_or_default()
    }

    /// Where in the file the code at an address is.
    pub fn offset(&self, at: Svma) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let offset = segment.in_file.start.checked_add(at.0.checked_sub(segment.address.0)?)?;
            segment.in_file.contains(&offset).then_some(offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is looked for: the tests themselves may be in the function that calls them.
    #[inline(never)]
    fn one_that_has_a_name(number: u64) -> u64 {
        std::hint::black_box(number + 1)
    }

    #[test]
    fn this_program_has_this_function() {
        assert_eq!(one_that_has_a_name(1), 2);
        let own = std::env::current_exe().expect("it runs");
        let found = read(&own, |code| {
            assert!(code.is_executable() && !code.is_stripped());
            let mut found = Vec::new();
            code.functions(|function| {
                if function.name.contains("one_that_has_a_name") && function.size > 0 {
                    found.push((function.address, function.size));
                }
            });
            let (address, size) = *found.first().expect("its own name");
            assert_eq!(code.bytes(address, size).len() as u64, size);
            assert!(code.offset(address).is_some());
            assert!(code.bytes(Svma(u64::MAX - 3), 9).is_empty() && code.offset(Svma(u64::MAX)).is_none());
        });
        assert!(found.is_ok());
        assert!(read("/etc/passwd".as_ref(), |_| ()).is_err());
    }

    #[test]
    fn a_library_is_none_that_runs_by_itself() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("our mappings");
        let library = maps
            .lines()
            .find_map(|line| line.find("/").map(|at| &line[at..]).filter(|path| path.contains("libc.so")));
        let library = library.expect("the C library");
        let (malloc, inode) = read(library.as_ref(), |code| {
            assert!(!code.is_executable());
            let mut exported = false;
            code.functions(|function| exported |= function.name == "malloc" && function.is_exported);
            (exported, code.inode())
        })
        .expect("it is read");
        assert!(malloc && inode > 0);
    }
}
