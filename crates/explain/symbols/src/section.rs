//! The bytes of a section, decompressed where the linker compressed them.

use gimli::RunTimeEndian;
use object::{Object, ObjectSection};

use crate::mmap::Store;

/// How the DWARF parser reads: straight from the mapping.
pub(crate) type Reader<'store> = gimli::EndianSlice<'store, RunTimeEndian>;

/// A section may claim to grow by this factor, and by [`FREE_GROWTH`] on top, when it is decompressed. Zlib reaches at
/// most 1032, and real debug information stays below 10; a claim beyond is an attack or damage.
const LARGEST_GROWTH: u64 = 1032;
/// Small sections may be very repetitive, and do no harm.
const FREE_GROWTH: u64 = 16 << 20;

/// The byte order of a file, as the DWARF parser names it.
pub(crate) fn endian(object: &object::File<'_>) -> RunTimeEndian {
    if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

/// The content of the named section, or nothing if the file has no such section.
pub(crate) fn load<'store>(
    object: &object::File<'store>,
    name: Option<&'static str>,
    store: &'store Store,
) -> Result<Reader<'store>, Unreadable> {
    let endian = endian(object);
    let Some((name, section)) = name.and_then(|name| Some((name, object.section_by_name(name)?))) else {
        return Ok(Reader::new(&[], endian));
    };
    let compressed = section.compressed_data()?;
    let data = match compressed.format {
        object::CompressionFormat::None => compressed.data,
        _ => {
            let limit = (compressed.data.len() as u64).saturating_mul(LARGEST_GROWTH) + FREE_GROWTH;
            if compressed.uncompressed_size > limit {
                let (from, to) = (compressed.data.len(), compressed.uncompressed_size);
                return Err(Unreadable::ImplausibleGrowth { name, from, to });
            }
            store.keep_bytes(compressed.decompress()?.into_owned())
        }
    };
    Ok(Reader::new(data, endian))
}

/// Why the debug information of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Object(#[from] object::Error),
    #[error("{0}")]
    Dwarf(#[from] gimli::Error),
    #[error("section {name} claims to grow from {from} to {to} bytes when it is decompressed")]
    ImplausibleGrowth { name: &'static str, from: usize, to: u64 },
}

/// The sections that look-ups read. The others, such as the locations of variables, are never touched.
pub(crate) fn is_needed(id: gimli::SectionId) -> bool {
    use gimli::SectionId::*;
    matches!(
        id,
        DebugAbbrev
            | DebugAddr
            | DebugAranges
            | DebugInfo
            | DebugLine
            | DebugLineStr
            | DebugRanges
            | DebugRngLists
            | DebugStr
            | DebugStrOffsets
    )
}
