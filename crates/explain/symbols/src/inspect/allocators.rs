//! Allocators inside a file, by the names of the functions that it defines, and by their messages where it has no names.
//!
//! A program linked with jemalloc calls jemalloc's functions directly; a preloaded `malloc` then sees nothing, and must
//! say so. Only what the file *defines* counts: what it imports comes from a library, and there the preloaded
//! functions come first.

use crate::code::without_version;
use crate::endings::Endings;
use heapwise_allocators::{Family, Sign, families};
use memchr::memmem;
use object::elf;
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym, SymbolTable};

/// An allocator that a file contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorFound {
    /// What it is: `jemalloc`, `mimalloc`, `Rust global allocator`, …
    pub name: &'static str,
    /// What gave it away.
    pub evidence: Evidence,
    /// Whether it is the heap of a language's runtime, beside `malloc` and not in its place.
    pub is_runtime: bool,
    /// Whether blocks still seem to come from `malloc` and its relatives in the C library, through calls that a
    /// preloaded library sees. It is judged by what the executable imports, and so a good guess, not a proof.
    pub reaches_libc: bool,
}

impl AllocatorFound {
    /// A `#[global_allocator]` of which only that is known.
    pub const RUST_GLOBAL: &str = "Rust global allocator";
}

/// What gives an allocator away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A symbol, as it stands in the file.
    Symbol(String),
    /// How a string in its code begins.
    Text(&'static str),
}

impl Evidence {
    /// The symbol, if it is one.
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::Symbol(symbol) => Some(symbol),
            Self::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Symbol(symbol) => write!(f, "symbol {symbol}"),
            Self::Text(text) => write!(f, "text {:?}", text.trim_end_matches('\0')),
        }
    }
}

/// What the symbol tables of an executable say about allocators.
#[derive(Default)]
pub(super) struct Symbols {
    seen: Vec<Seen>,
    own_malloc: bool,
    pub(super) exports_malloc: bool,
    imports_malloc: bool,
    imports_aligned: bool,
    rust_alloc: Option<String>,
    rust_custom: Option<String>,
    rust_default: bool,
}

/// What was seen of a family of allocators.
struct Seen {
    family: &'static Family,
    /// The best sign, by its place in the list, and the symbol.
    best: Option<(usize, String)>,
}

impl Symbols {
    fn none() -> Symbols {
        let seen = families().map(|family| Seen { family, best: None });
        Symbols { seen: seen.collect(), ..Symbols::default() }
    }

    pub(super) fn read<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Symbols {
        let mut symbols = Symbols::none();
        symbols.add(file, file.elf_symbol_table(), false);
        symbols.add(file, file.elf_dynamic_symbol_table(), true);
        symbols
    }

    fn add<Elf: FileHeader>(
        &mut self,
        file: &ElfFile<'_, Elf>,
        table: &SymbolTable<'_, Elf>,
        is_dynamic: bool,
    ) {
        let endian = file.endian();
        let endings = Endings::of(whole_names());
        let strings = file.elf_section_table().section(table.string_section());
        let strings = strings.and_then(|section| section.data(endian, file.data()));
        // PERF: parts of names are looked for in all names at once. Mostly there are none.
        let parts: Vec<_> = match strings {
            Ok(strings) => parts().filter(|part| memmem::find(strings, part.as_bytes()).is_some()).collect(),
            Err(_) => parts().collect(),
        };
        let has_part = |name: &[u8]| parts.iter().any(|part| memmem::find(name, part.as_bytes()).is_some());
        for symbol in table.iter() {
            let Ok(name) = table.symbol_name(endian, symbol) else { continue };
            let name = without_version(name);
            if !endings.may_have(name) && !has_part(name) {
                continue;
            }
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if symbol.is_undefined(endian) {
                self.imports_malloc |= name == "malloc";
                self.imports_aligned |= ALIGNED.contains(&name);
            } else if matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE) {
                self.add_defined(name, is_dynamic);
            }
        }
    }

    fn add_defined(&mut self, name: &str, is_dynamic: bool) {
        if name == "malloc" {
            self.own_malloc = true;
            self.exports_malloc |= is_dynamic;
        }
        if is_rust(name, RUST_CUSTOM) {
            self.rust_custom = Some(name.to_owned());
        } else if is_rust(name, RUST_DEFAULT) {
            self.rust_default = true;
        } else if is_rust(name, RUST_ALLOC) {
            self.rust_alloc = Some(name.to_owned());
        }
        for Seen { family, best } in &mut self.seen {
            let sign = family.symbols.iter().position(|sign| sign.fits(name));
            if let Some(sign) = sign
                && best.as_ref().is_none_or(|(best, _)| sign < *best)
            {
                *best = Some((sign, name.to_owned()));
            }
        }
    }

    /// Whether an allocator was seen that defines this function in the manner of another one.
    fn is_borrowed(&self, symbol: &str) -> bool {
        self.seen.iter().any(|seen| seen.best.is_some() && seen.family.also_defines.contains(&symbol))
    }
}

/// What a program imports that asks the C library for large alignments.
const ALIGNED: [&str; 3] = ["posix_memalign", "aligned_alloc", "memalign"];
/// Functions that the Rust compiler makes.
const RUST_CUSTOM: &str = "__rg_alloc";
const RUST_DEFAULT: &str = "__rdl_alloc";
const RUST_ALLOC: &str = "__rust_alloc";

/// Names that mean something, and names as which others end that do.
fn whole_names() -> impl Iterator<Item = &'static str> {
    let signs = families().flat_map(|family| family.symbols).filter_map(|sign| match sign {
        Sign::Exact(name) | Sign::Prefixed(name) => Some(*name),
        Sign::Mangled(_) => None,
    });
    signs.chain(ALIGNED).chain(["malloc", RUST_CUSTOM, RUST_DEFAULT, RUST_ALLOC])
}

/// Parts of names that mean something.
fn parts() -> impl Iterator<Item = &'static str> {
    families().flat_map(|family| family.symbols).filter_map(|sign| match sign {
        Sign::Mangled(part) => Some(*part),
        Sign::Exact(_) | Sign::Prefixed(_) => None,
    })
}

/// Whether a symbol is one of those that the Rust compiler makes for allocation. Up to 1.86 they stand as they are;
/// since then they are mangled as members of a crate `__rustc`: `_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc`.
fn is_rust(symbol: &str, function: &str) -> bool {
    let Some(rest) = symbol.strip_suffix(function) else { return false };
    rest.is_empty()
        || rest.starts_with("_R")
            && rest.contains("7___rustc")
            && rest.ends_with(&format!("{}_", function.len()))
}

/// Lists the allocators that symbols and texts speak of. `has_text` says whether a text is in the file.
pub(super) fn find(
    symbols: &Symbols,
    is_dynamic: bool,
    has_text: impl FnMut(&'static str) -> bool,
) -> Vec<AllocatorFound> {
    let mut found = known(symbols, has_text);
    let replaces_malloc = |found: &AllocatorFound| !found.is_runtime;
    if symbols.own_malloc {
        let evidence = Evidence::Symbol("malloc".to_owned());
        // In a static executable this is the one of the C library, or whatever replaced it: inside in any case.
        let name = if is_dynamic { "own malloc" } else { "static malloc" };
        found.push(AllocatorFound { name, evidence, is_runtime: false, reaches_libc: false });
    }
    found.extend(rust_allocator(symbols, !found.iter().any(replaces_malloc) && is_dynamic));
    found
}

/// The allocators of the table that a file contains.
pub(super) fn known(
    symbols: &Symbols,
    mut has_text: impl FnMut(&'static str) -> bool,
) -> Vec<AllocatorFound> {
    let mut found = Vec::new();
    for Seen { family, best } in &symbols.seen {
        let evidence = match best {
            Some((_, symbol)) if symbols.is_borrowed(symbol) => continue,
            Some((_, symbol)) => Evidence::Symbol(symbol.clone()),
            None => match family.texts.iter().find(|text| has_text(text)) {
                Some(text) => Evidence::Text(text),
                None => continue,
            },
        };
        found.push((*family, evidence));
    }
    let is_brought = |name: &str| found.iter().any(|(family, _)| family.brings.contains(&name));
    let used = found.iter().filter(|(family, _)| !is_brought(family.name));
    let named = used.map(|(family, evidence)| AllocatorFound {
        name: family.name,
        evidence: evidence.clone(),
        is_runtime: family.is_runtime,
        reaches_libc: false,
    });
    named.collect()
}

/// A `#[global_allocator]` in Rust.
///
/// Up to 1.86 the compiler names its functions `__rg_alloc`, and the default one's `__rdl_alloc`. Since then there is
/// no name for the former: `__rust_alloc` is the custom allocator's own function unless `__rdl_alloc` is there too.
/// Link-time optimisation removes `__rdl_alloc` as well, so that the default allocator then looks like a custom one
/// that reaches the C library, which has the same consequences: none.
fn rust_allocator(symbols: &Symbols, may_reach_libc: bool) -> Option<AllocatorFound> {
    let evidence = match &symbols.rust_custom {
        Some(symbol) => symbol,
        None => symbols.rust_alloc.as_ref().filter(|_| !symbols.rust_default)?,
    };
    // The standard library itself imports `malloc` for other purposes. An allocator on top of the C library also
    // needs a function for large alignments, and nothing else in a Rust program does.
    let reaches_libc = may_reach_libc && symbols.imports_malloc && symbols.imports_aligned;
    let evidence = Evidence::Symbol(evidence.clone());
    Some(AllocatorFound { name: AllocatorFound::RUST_GLOBAL, evidence, is_runtime: false, reaches_libc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_both_generations_of_rust_are_known() {
        assert!(is_rust("__rg_alloc", "__rg_alloc"));
        assert!(is_rust("_RNvCsfLfy6EI15iL_7___rustc10___rg_alloc", "__rg_alloc"));
        assert!(is_rust("_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rust_alloc"));
        assert!(!is_rust("my__rg_alloc", "__rg_alloc"));
        assert!(!is_rust("_RNvCsfLfy6EI15iL_7___rustc14___rust_dealloc", "__rust_alloc"));
    }

    #[track_caller]
    fn check(defined: &[&str], expected: &[&str]) {
        check_with(defined, &[], expected);
    }

    #[track_caller]
    fn check_with(defined: &[&str], texts: &[&str], expected: &[&str]) {
        let mut symbols = Symbols::none();
        defined.iter().for_each(|name| symbols.add_defined(name, false));
        let found = find(&symbols, true, |text| texts.contains(&text));
        let found: Vec<&str> = found.iter().map(|found| found.name).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn allocators_are_recognised_by_their_names() {
        check(&["main", "free"], &[]);
        check(&["_rjem_malloc"], &["jemalloc"]);
        check(&["rallocx"], &["jemalloc"]);
        check(&["rallocx", "mallocx", "_ZN8snmalloc5AllocE"], &["snmalloc"]);
        check(&["sn_rust_alloc"], &["snmalloc"]);
        check(&["tc_malloc", "malloc", "rallocx"], &["tcmalloc", "own malloc"]);
        check(&["mi_malloc", "_RNvCs1_7___rustc12___rust_alloc"], &["mimalloc", "Rust global allocator"]);
        check(&["_RNvCs1_7___rustc12___rust_alloc", "_RNvCs1_7___rustc11___rdl_alloc"], &[]);
        check(&["__rust_alloc", "__rdl_alloc", "__rg_alloc"], &["Rust global allocator"]);
        check(&["duckdb_je_sdallocx"], &["jemalloc"]);
        check(&["je_arrow_mallocx", "_mi_malloc_generic"], &["jemalloc", "mimalloc"]);
    }

    #[test]
    fn allocators_are_recognised_by_their_messages_where_there_are_no_names() {
        check_with(&[], &["<jemalloc>: "], &["jemalloc"]);
        check_with(&[], &["mimalloc: error: ", "<jemalloc>: "], &["jemalloc", "mimalloc"]);
        // A program that sets a variable of Boehm's collector does not contain it.
        check_with(&[], &["GC_INITIAL_HEAP_SIZE", "GC_INITIAL_HEAP_SIZE\0"], &[]);
        check_with(&[], &["GC_PRINT_STATS\0"], &["Boehm GC"]);
        // Python brings mimalloc along, and has it in use in special builds only.
        check_with(&["_PyObject_Malloc"], &["mimalloc: error: "], &["pymalloc"]);
        check_with(&["runtime.mallocgc", "__rust_alloc"], &[], &["Go runtime", "Rust global allocator"]);
    }
}
