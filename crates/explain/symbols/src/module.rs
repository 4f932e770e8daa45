//! One loaded file, ready to name its addresses.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::bounds::Bounds;
use crate::demangle::{self, Cache};
use crate::dwarf::DebugInfo;
use crate::elf;
use crate::error::Error;
use crate::frame::Frame;
use crate::mini;
use crate::mmap::{MappedFile, Store};
use crate::search::{self, DebugSearch};
use crate::source_path;
use crate::svma::Svma;
use crate::symtab::{self, SymbolTable};
use crate::warning::Warning;

/// The names of one file that a process had loaded.
///
/// Opening it maps the file and its debug file and reads the headers of the debug information. Everything else is
/// parsed when it is looked up, and kept, so that one value should serve all addresses of a module.
pub struct ModuleSymbols {
    tables: Anchored,
    names: RefCell<Cache>,
    debug_info: Option<PathBuf>,
    warnings: Vec<Warning>,
}

self_cell::self_cell! {
    /// The tables and the store that they point into.
    struct Anchored {
        owner: Store,
        #[not_covariant]
        dependent: Tables,
    }
}

/// All that can name an address, the best source first.
struct Tables<'store> {
    debug_info: Option<DebugInfo<'store>>,
    symbols: Vec<SymbolTable<'store>>,
    bounds: Bounds<'store>,
}

impl ModuleSymbols {
    /// Opens the file that was loaded from `path`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not an ELF file; and if `build_id` is not empty and is not the file's: then
    /// the file was replaced after the process had loaded it, and every name would be wrong. Debug information that is
    /// missing or damaged is not an error, see [`warnings`](ModuleSymbols::warnings).
    pub fn open(path: &Path, build_id: &[u8], search: &DebugSearch) -> Result<ModuleSymbols, Error> {
        let mut warnings = Vec::new();
        let mut debug_info = None;
        let tables = Anchored::try_new(Store::default(), |store| {
            Tables::open(path, build_id, search, store, &mut debug_info, &mut warnings)
        })?;
        Ok(ModuleSymbols { tables, names: RefCell::default(), debug_info, warnings })
    }

    /// The frames at an address, the innermost inlined one first. There is always at least one.
    pub fn resolve(&self, svma: Svma) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.resolve_into(svma, &mut frames);
        frames
    }

    /// As [`resolve`](ModuleSymbols::resolve), into a vector that is emptied first and can be used again.
    pub fn resolve_into(&self, svma: Svma, frames: &mut Vec<Frame>) {
        frames.clear();
        let mut names = self.names.borrow_mut();
        self.tables.with_dependent(|_, tables| tables.resolve_into(svma, &mut names, frames));
    }

    /// The file whose debug information is used: the module itself or a separate debug file. None if there is none.
    pub fn debug_info(&self) -> Option<&Path> {
        self.debug_info.as_deref()
    }

    /// What made the names fewer or less exact than they could be.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl fmt::Debug for ModuleSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModuleSymbols")
            .field("debug_info", &self.debug_info)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// Whether it is a name that a program in C may call: neither reserved, nor of a part of a function (`read.cold`).
fn is_plain(symbol: &[u8]) -> bool {
    !symtab::is_reserved(symbol) && !symbol.contains(&b'.')
}

impl<'store> Tables<'store> {
    fn open(
        path: &Path,
        build_id: &[u8],
        search: &DebugSearch,
        store: &'store Store,
        used: &mut Option<PathBuf>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Tables<'store>, Error> {
        let data = store.keep_file(MappedFile::open(path)?);
        let object = elf::parse(path, data)?;
        elf::check_build_id(path, &object, build_id)?;

        let mut symbols = Vec::new();
        let separate = if search::has_debug_info(&object) {
            None
        } else {
            search::find_debug_file(search, path, &object, store, warnings)
        };
        let (debug_path, debug_object) =
            separate.as_ref().map_or((path, &object), |file| (file.path.as_path(), &file.object));
        let mut debug_info = None;
        if search::has_debug_info(debug_object) {
            let supplementary = search::find_supplementary(search, debug_path, debug_object, store, warnings);
            let supplementary = supplementary.as_ref().map(|file| &file.object);
            match DebugInfo::load(debug_path, debug_object, supplementary, store) {
                Ok(loaded) => {
                    debug_info = Some(loaded);
                    *used = Some(debug_path.to_owned());
                }
                Err(error) => warnings.push(Warning::DebugInfoUnreadable {
                    path: debug_path.to_owned(),
                    reason: error.to_string(),
                }),
            }
        }
        // Parsing the headers again is cheaper than sharing them, they are a few kilobytes.
        symbols.push(SymbolTable::full(elf::parse(path, data)?));
        symbols.extend(separate.map(|file| SymbolTable::full(file.object)));
        symbols.extend(mini::find(path, &object, store).map(SymbolTable::full));
        let bounds = Bounds::load(&object, store);
        symbols.push(SymbolTable::dynamic(object));
        Ok(Tables { debug_info, symbols, bounds })
    }

    fn resolve_into(&self, svma: Svma, names: &mut Cache, frames: &mut Vec<Frame>) {
        if let Some(debug_info) = &self.debug_info {
            debug_info.for_each_frame(svma, |raw, is_outermost| {
                let mut name = raw.name;
                if is_outermost && !name.is_some_and(demangle::is_mangled) {
                    // Only the symbol table may know the full name: of a local C++ function, or of one that the debug
                    // information leaves out altogether; or the one by which others call it.
                    let symbol = self.find_symbol(svma);
                    let is_better = |symbol: &&[u8]| match name {
                        None => true,
                        Some(name) => {
                            demangle::is_mangled(symbol) || symtab::is_reserved(name) && is_plain(symbol)
                        }
                    };
                    name = symbol.filter(is_better).or(name);
                }
                frames.push(Frame {
                    function: name.filter(|name| !name.is_empty()).map(|name| names.demangle(name)),
                    file: raw.file.filter(|file| !file.is_empty()).map(source_path::normalise),
                    line: raw.line,
                    inlined: !is_outermost,
                    start: None,
                });
            });
        }
        if frames.is_empty() {
            let function = self.find_symbol(svma).map(|name| names.demangle(name));
            frames.push(Frame { function, start: self.bounds.start_of(svma), ..Frame::default() });
        }
    }

    fn find_symbol(&self, svma: Svma) -> Option<&'store [u8]> {
        self.symbols.iter().find_map(|table| table.find(svma))
    }
}
