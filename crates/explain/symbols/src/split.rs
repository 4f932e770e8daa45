//! Split DWARF: most of the debug information left in `.dwo` files beside the objects, or collected in a `.dwp` file.
//!
//! The executable then holds a skeleton for each unit, with lines but without functions, and names the file that has
//! the rest. These files are opened when an address in their unit is first looked up.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::{Dwarf, DwarfPackage, RunTimeEndian};

use crate::elf;
use crate::mmap::{MappedFile, Store};
use crate::section::{self, Reader, Unreadable};

/// Where the split debug information of one module is found.
pub(crate) struct SplitDwarf<'store> {
    store: &'store Store,
    package: Option<DwarfPackage<Reader<'store>>>,
}

impl<'store> SplitDwarf<'store> {
    /// Looks for the package of the file at `path`, which is `path` with `.dwp` appended.
    pub(crate) fn find(path: &Path, endian: RunTimeEndian, store: &'store Store) -> SplitDwarf<'store> {
        let mut package = path.as_os_str().to_owned();
        package.push(".dwp");
        SplitDwarf { store, package: open_package(Path::new(&package), endian, store) }
    }

    /// Answers the request for the rest of a unit. None leaves the unit with lines only.
    pub(crate) fn load(&self, load: SplitDwarfLoad<Reader<'store>>) -> Option<Arc<Dwarf<Reader<'store>>>> {
        if let Some(package) = &self.package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let mut path = PathBuf::new();
        if let Some(directory) = load.comp_dir {
            path.push(OsStr::from_bytes(directory.slice()));
        }
        path.push(OsStr::from_bytes(load.path?.slice()));

        let object = elf::parse(&path, self.store.keep_file(MappedFile::open(&path).ok()?)).ok()?;
        let mut dwarf = Dwarf::load(|id| self.section(&object, id)).ok()?;
        // A file rebuilt since carries another id, and its names would be wrong.
        let header = dwarf.units().next().ok()??;
        if dwarf.unit(header).ok()?.dwo_id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(Arc::new(dwarf))
    }

    fn section(
        &self,
        object: &object::File<'store>,
        id: gimli::SectionId,
    ) -> Result<Reader<'store>, Unreadable> {
        section::load(object, id.dwo_name().filter(|_| section::is_needed(id)), self.store)
    }
}

fn open_package<'store>(
    path: &Path,
    endian: RunTimeEndian,
    store: &'store Store,
) -> Option<DwarfPackage<Reader<'store>>> {
    let object = elf::parse(path, store.keep_file(MappedFile::open(path).ok()?)).ok()?;
    // All sections, also those that are not read: the index of the package gives each unit a part of every one, and a
    // part beyond the end of an absent section is an error.
    let section = |id: gimli::SectionId| section::load(&object, id.dwo_name(), store);
    DwarfPackage::load(section, Reader::new(&[], endian)).ok()
}
