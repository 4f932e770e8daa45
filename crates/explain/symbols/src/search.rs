//! Where separate debug files are: the places that every distribution and every debugger agree on.
//!
//! For a file `/usr/bin/prog` with build id `ab12cd…` and debug link `prog.debug`, in this order:
//!
//! ```text
//! /usr/lib/debug/.build-id/ab/12cd….debug      found by build id
//! /usr/bin/prog.debug                          the debug link, beside the file,
//! /usr/bin/.debug/prog.debug                   in a directory below,
//! /usr/lib/debug/usr/bin/prog.debug            and in the same place under each root
//! ~/.cache/debuginfod_client/ab12cd…/debuginfo what debuginfod has, if the environment asks for it
//! ```
//!
//! A candidate counts only if it belongs to this very build: by its build id, or, where one of the two has none, by the
//! checksum in the debug link.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::debuginfod::Debuginfod;
use crate::elf;
use crate::error::Hex;
use crate::mmap::{MappedFile, Store};
use crate::warning::Warning;

/// The directories below which debug files are looked for.
#[derive(Clone, Debug)]
pub struct DebugSearch {
    roots: Vec<PathBuf>,
    debuginfod: Option<Debuginfod>,
}

impl Default for DebugSearch {
    /// `/usr/lib/debug`, where packages install debug files.
    fn default() -> DebugSearch {
        DebugSearch::new(["/usr/lib/debug"])
    }
}

impl DebugSearch {
    /// Looks below these directories, the first one first.
    pub fn new(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> DebugSearch {
        DebugSearch { roots: roots.into_iter().map(Into::into).collect(), debuginfod: None }
    }

    /// Asks debuginfod as well, if the variable `DEBUGINFOD_URLS` is set.
    pub fn with_debuginfod(self) -> DebugSearch {
        DebugSearch { debuginfod: Debuginfod::of_environment(), ..self }
    }

    /// The directories below which debug files are looked for.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    fn by_build_id<'a>(&'a self, build_id: &[u8]) -> impl Iterator<Item = PathBuf> + use<'a> {
        let name = match build_id {
            [first, rest @ ..] if !rest.is_empty() => {
                Some(format!(".build-id/{}/{}.debug", Hex(&[*first]), Hex(rest)))
            }
            _ => None,
        };
        name.into_iter().flat_map(|name| self.roots.iter().map(move |root| root.join(&name)))
    }

    fn by_name(&self, beside: &Path, name: &Path) -> Vec<PathBuf> {
        // The place under a root mirrors the real place of the file, not the link through which it was reached.
        let canonical = fs::canonicalize(beside).ok();
        let directory = canonical.as_deref().unwrap_or(beside).parent().unwrap_or(Path::new("/"));
        let mut places = vec![directory.join(name), directory.join(".debug").join(name)];
        for root in &self.roots {
            places.push(root.join(directory.strip_prefix("/").unwrap_or(directory)).join(name));
        }
        places
    }
}

/// A separate file with debug information, checked to belong to the file it was looked for.
pub(crate) struct DebugFile<'store> {
    pub(crate) path: PathBuf,
    pub(crate) object: object::File<'store>,
}

/// What a candidate must prove.
struct Identity<'a> {
    build_id: Option<&'a [u8]>,
    crc: Option<u32>,
    /// Device and inode of the file itself, which may lie where its debug link points.
    own: Option<(u64, u64)>,
}

impl Identity<'_> {
    /// Opens a candidate. None if there is no such file, or if it is not the right one; only the latter is reported.
    fn open<'store>(
        &self,
        path: PathBuf,
        store: &'store Store,
        warnings: &mut Vec<Warning>,
    ) -> Option<DebugFile<'store>> {
        let file = MappedFile::open(&path).ok()?;
        if self.own == Some((file.metadata.dev(), file.metadata.ino())) {
            return None;
        }
        let is_right = elf::parse(&path, file.data()).is_ok_and(|object| {
            match (self.build_id, elf::build_id(&object), self.crc) {
                (Some(expected), Some(found), _) => expected == found,
                (_, _, Some(crc)) => crc32fast::hash(file.data()) == crc,
                _ => false,
            }
        });
        if !is_right {
            warnings.push(Warning::DebugFileMismatch { path });
            return None;
        }
        let object = elf::parse(&path, store.keep_file(file)).ok()?;
        Some(DebugFile { path, object })
    }
}

/// Finds the debug file of a stripped file.
pub(crate) fn find_debug_file<'store>(
    search: &DebugSearch,
    path: &Path,
    object: &object::File<'store>,
    store: &'store Store,
    warnings: &mut Vec<Warning>,
) -> Option<DebugFile<'store>> {
    let build_id = elf::build_id(object);
    let own = fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let named = Identity { build_id, crc: None, own };
    for candidate in search.by_build_id(build_id.unwrap_or_default()) {
        if let Some(found) = named.open(candidate, store, warnings) {
            return Some(found);
        }
    }
    let by_link = object.gnu_debuglink().ok().flatten().and_then(|(name, crc)| {
        let linked = Identity { build_id, crc: Some(crc), own };
        let places = search.by_name(path, Path::new(OsStr::from_bytes(name)));
        places.into_iter().find_map(|candidate| linked.open(candidate, store, warnings))
    });
    by_link.or_else(|| named.open(search.debuginfod.as_ref()?.find(build_id?)?, store, warnings))
}

/// Finds the supplementary file that debug information refers to, if it refers to one.
pub(crate) fn find_supplementary<'store>(
    search: &DebugSearch,
    path: &Path,
    object: &object::File<'store>,
    store: &'store Store,
    warnings: &mut Vec<Warning>,
) -> Option<DebugFile<'store>> {
    let (name, build_id) = object.gnu_debugaltlink().ok().flatten()?;
    let identity = Identity { build_id: Some(build_id), crc: None, own: None };
    let name = Path::new(OsStr::from_bytes(name));
    // An absolute name replaces the directory that it is joined to, which is what it is meant to do.
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = canonical.parent().unwrap_or(Path::new("/")).join(name);
    let found = std::iter::once(beside)
        .chain(search.by_build_id(build_id))
        .find_map(|candidate| identity.open(candidate, store, warnings))
        .or_else(|| identity.open(search.debuginfod.as_ref()?.find(build_id)?, store, warnings));
    if found.is_none() {
        let name = name.display().to_string();
        warnings.push(Warning::SupplementaryMissing { path: path.to_owned(), name });
    }
    found
}

/// Whether a file has the section that all other debug information hangs on.
pub(crate) fn has_debug_info(object: &object::File<'_>) -> bool {
    object.section_by_name(".debug_info").is_some_and(|section| {
        let has_bytes = section.compressed_data().is_ok_and(|section| !section.data.is_empty());
        has_bytes && section.size() > 0
    })
}
