//! Names from the symbol tables, for what DWARF does not name.

use std::cell::OnceCell;

use object::read::elf::{FileHeader, Sym, SymbolTable as ElfSymbols};
use object::{Object, ObjectSection, SectionIndex, SymbolIndex, elf};

use crate::demangle;
use crate::svma::Svma;

/// How many symbols before an address are tried. More than a few only happens where labels lie inside a function.
const MOST_CANDIDATES: usize = 64;

/// One symbol table, sorted when it is first used.
pub(crate) struct SymbolTable<'store> {
    object: object::File<'store>,
    dynamic: bool,
    sorted: OnceCell<Vec<Entry>>,
}

/// PERF: 24 bytes; the name stays in the file until it is needed.
struct Entry {
    address: u64,
    size: u64,
    index: u32,
    rank: u8,
}

impl<'store> SymbolTable<'store> {
    /// The full table, `.symtab`, of a file that has not been stripped.
    pub(crate) fn full(object: object::File<'store>) -> SymbolTable<'store> {
        SymbolTable { object, dynamic: false, sorted: OnceCell::new() }
    }

    /// The table of what a file offers to others, `.dynsym`.
    pub(crate) fn dynamic(object: object::File<'store>) -> SymbolTable<'store> {
        SymbolTable { object, dynamic: true, sorted: OnceCell::new() }
    }

    /// The name of the function at an address: the symbol whose size covers it, or a symbol without a size in the same
    /// section, if no other symbol starts between. Of several at one place, the one that a program would use.
    pub(crate) fn find(&self, svma: Svma) -> Option<&'store [u8]> {
        let sorted = self.sorted.get_or_init(|| self.sort());
        let end = sorted.partition_point(|entry| entry.address <= svma.0);
        let nearest = sorted[..end].last()?.address;
        let mut sizeless = None;
        let mut reserved: Option<(u64, &[u8])> = None;
        for entry in sorted[..end].iter().rev().take(MOST_CANDIDATES) {
            if reserved.is_some_and(|(address, _)| entry.address != address) {
                break;
            }
            if entry.size > svma.0 - entry.address {
                let name = self.name(entry)?;
                if !is_reserved(name) {
                    return Some(name);
                }
                reserved.get_or_insert((entry.address, name));
            }
            if entry.size == 0 && entry.address == nearest && sizeless.is_none() {
                sizeless = Some(entry);
            }
        }
        let sizeless =
            || sizeless.filter(|entry| self.is_same_section(entry, svma)).and_then(|entry| self.name(entry));
        reserved.map(|(_, name)| name).or_else(sizeless)
    }

    fn sort(&self) -> Vec<Entry> {
        let mut entries = match &self.object {
            object::File::Elf32(file) => entries(file.endian(), self.table(file)),
            object::File::Elf64(file) => entries(file.endian(), self.table(file)),
            _ => Vec::new(),
        };
        // Several names for one address: the last one is tried first.
        entries.sort_unstable_by_key(|entry| (entry.address, entry.rank, std::cmp::Reverse(entry.index)));
        entries
    }

    fn table<'a, Elf: FileHeader>(
        &self,
        file: &'a object::read::elf::ElfFile<'store, Elf>,
    ) -> &'a ElfSymbols<'store, Elf> {
        if self.dynamic { file.elf_dynamic_symbol_table() } else { file.elf_symbol_table() }
    }

    fn name(&self, entry: &Entry) -> Option<&'store [u8]> {
        let index = SymbolIndex(entry.index as usize);
        let name = match &self.object {
            object::File::Elf32(file) => name(file.endian(), self.table(file), index),
            object::File::Elf64(file) => name(file.endian(), self.table(file), index),
            _ => None,
        }?;
        // Linkers append the version of a versioned symbol: `malloc@@GLIBC_2.2.5`.
        name.split(|&byte| byte == b'@').next().filter(|name| !name.is_empty())
    }

    fn is_same_section(&self, entry: &Entry, svma: Svma) -> bool {
        let index = SymbolIndex(entry.index as usize);
        let section = match &self.object {
            object::File::Elf32(file) => section(file.endian(), self.table(file), index),
            object::File::Elf64(file) => section(file.endian(), self.table(file), index),
            _ => None,
        };
        section.and_then(|section| self.object.section_by_index(section).ok()).is_some_and(|section| {
            svma.0.checked_sub(section.address()).is_some_and(|offset| offset < section.size())
        })
    }
}

/// Whether a name is one that C keeps for compilers and libraries, such as `__pthread_create_2_1`: programs call the same function by
/// another one.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name.starts_with(b"_") && !demangle::is_mangled(name)
}

/// The functions of a table, and labels without a type, which is what assembly code has.
fn entries<Elf: FileHeader>(endian: Elf::Endian, table: &ElfSymbols<'_, Elf>) -> Vec<Entry> {
    let symbols = table.enumerate().filter_map(|(index, symbol)| {
        let is_function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
        let is_named = is_function || symbol.st_type() == elf::STT_NOTYPE;
        if !is_named
            || symbol.is_undefined(endian)
            || symbol.is_absolute(endian)
            || symbol.st_name(endian) == 0
        {
            return None;
        }
        let binding = match symbol.st_bind() {
            elf::STB_GLOBAL => 2,
            elf::STB_WEAK => 1,
            _ => 0,
        };
        Some(Entry {
            address: symbol.st_value(endian).into(),
            size: symbol.st_size(endian).into(),
            index: u32::try_from(index.0).ok()?,
            rank: u8::from(is_function) * 4 + binding,
        })
    });
    let mut entries: Vec<Entry> = symbols.collect();
    entries.shrink_to_fit();
    entries
}

fn name<'store, Elf: FileHeader>(
    endian: Elf::Endian,
    table: &ElfSymbols<'store, Elf>,
    index: SymbolIndex,
) -> Option<&'store [u8]> {
    table.symbol_name(endian, table.symbol(index).ok()?).ok()
}

fn section<Elf: FileHeader>(
    endian: Elf::Endian,
    table: &ElfSymbols<'_, Elf>,
    index: SymbolIndex,
) -> Option<SectionIndex> {
    table.symbol_section(endian, table.symbol(index).ok()?, index).ok().flatten()
}
