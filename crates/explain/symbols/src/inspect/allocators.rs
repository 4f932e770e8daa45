//! Allocators inside an executable, by the names of the functions that it defines.
//!
//! A program linked with jemalloc calls jemalloc's functions directly; a preloaded `malloc` then sees nothing, and must
//! say so. Only what the executable *defines* counts: what it imports comes from a library, and there the preloaded
//! functions come first.

use heapwise_allocators::{Family, families};
use object::elf;
use object::read::elf::{ElfFile, FileHeader, Sym, SymbolTable};

/// An allocator that an executable contains.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocatorFound {
    /// What it is: `jemalloc`, `mimalloc`, `Rust global allocator`, …
    pub name: &'static str,
    /// The symbol that gave it away, as it stands in the file.
    pub evidence_symbol: String,
    /// Whether blocks still seem to come from `malloc` and its relatives in the C library, through calls that a
    /// preloaded library sees. It is judged by what the executable imports, and so a good guess, not a proof.
    pub reaches_libc: bool,
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
        symbols.add(file.endian(), file.elf_symbol_table(), false);
        symbols.add(file.endian(), file.elf_dynamic_symbol_table(), true);
        symbols
    }

    fn add<Elf: FileHeader>(&mut self, endian: Elf::Endian, table: &SymbolTable<'_, Elf>, is_dynamic: bool) {
        for symbol in table.iter() {
            let Ok(name) = table.symbol_name(endian, symbol) else { continue };
            let Ok(name) = std::str::from_utf8(name) else { continue };
            // Linkers append the version of a versioned symbol: `malloc@@GLIBC_2.2.5`.
            let name = name.split('@').next().unwrap_or_default();
            if symbol.is_undefined(endian) {
                self.imports_malloc |= name == "malloc";
                self.imports_aligned |= matches!(name, "posix_memalign" | "aligned_alloc" | "memalign");
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
        if is_rust(name, "__rg_alloc") {
            self.rust_custom = Some(name.to_owned());
        } else if is_rust(name, "__rdl_alloc") {
            self.rust_default = true;
        } else if is_rust(name, "__rust_alloc") {
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

/// Whether a symbol is one of those that the Rust compiler makes for allocation. Up to 1.86 they stand as they are;
/// since then they are mangled as members of a crate `__rustc`: `_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc`.
fn is_rust(symbol: &str, function: &str) -> bool {
    let Some(rest) = symbol.strip_suffix(function) else { return false };
    rest.is_empty()
        || rest.starts_with("_R")
            && rest.contains("7___rustc")
            && rest.ends_with(&format!("{}_", function.len()))
}

/// Lists the allocators that the symbols speak of.
pub(super) fn find(symbols: &Symbols, is_dynamic: bool) -> Vec<AllocatorFound> {
    let mut found = Vec::new();
    for Seen { family, best } in &symbols.seen {
        let Some((_, symbol)) = best.as_ref().filter(|(_, symbol)| !symbols.is_borrowed(symbol)) else {
            continue;
        };
        found.push(AllocatorFound {
            name: family.name,
            evidence_symbol: symbol.clone(),
            reaches_libc: false,
        });
    }
    if symbols.own_malloc {
        let evidence_symbol = "malloc".to_owned();
        // In a static executable this is the one of the C library, or whatever replaced it: inside in any case.
        let name = if is_dynamic { "own malloc" } else { "static malloc" };
        found.push(AllocatorFound { name, evidence_symbol, reaches_libc: false });
    }
    found.extend(rust_allocator(symbols, found.is_empty() && is_dynamic));
    found
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
    Some(AllocatorFound { name: "Rust global allocator", evidence_symbol: evidence.clone(), reaches_libc })
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
        let mut symbols = Symbols::none();
        defined.iter().for_each(|name| symbols.add_defined(name, false));
        let found: Vec<&str> = find(&symbols, true).iter().map(|found| found.name).collect();
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
    }
}
