//! What a process reports about its allocator: the other side of [`identify`](super::identify).

#![expect(unsafe_code, reason = "asks the allocator of this process, through its C functions")]

use super::own::{self, Mallctl};
use super::symbols::{object_of, symbol, symbol_in, text};
use crate::family::Interface;
use crate::registry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_long, c_ulong, c_void};

/// Blocks that are allocated to see whose numbers grow: together a bit more than a MB, each too small to be mapped alone.
const BLOCKS: usize = 10_000;
const BLOCK_BYTES: usize = 100;

/// What a process reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The path of the object that has `malloc`, as the loader was given it.
    pub(crate) object: String,
    /// The path of the loader.
    pub(crate) loader: String,
    /// What the allocator calls itself, if it does.
    pub(crate) name: Option<String>,
    /// Its version, if it reports one.
    pub(crate) version: Option<String>,
    /// The usable size of a block for a request of 100 bytes.
    pub(crate) usable_of_100: u64,
    /// By how much the C library's own count of bytes in blocks grew while [`Self::allocated_bytes`] were allocated.
    pub(crate) c_library_grew_bytes: i64,
    /// How much was allocated, in bytes.
    pub(crate) allocated_bytes: i64,
    /// The requested settings with the values that are in force; without those that the allocator does not report.
    pub(crate) settings: BTreeMap<String, String>,
    /// Whether the allocator reports its own statistics.
    pub(crate) has_statistics: bool,
    /// Memory of the process after that.
    pub(crate) rss_bytes: u64,
}

/// Collects the answer from the allocator of this process, with the values of these settings.
pub(crate) fn here(settings: &[String]) -> Answer {
    let object = object_of(symbol(c"malloc"));
    let (name, version) = name_and_version(&object);
    let before = c_library_bytes();
    // SAFETY: the blocks are kept, examined and freed once.
    let (usable_of_100, grew) = unsafe {
        let blocks: Vec<*mut c_void> = (0..BLOCKS).map(|_| libc::malloc(BLOCK_BYTES)).collect();
        let grew = c_library_bytes() - before - (blocks.capacity() * size_of::<*mut c_void>()) as i64;
        let usable = blocks.first().map_or(0, |block| libc::malloc_usable_size(*block));
        blocks.into_iter().for_each(|block| libc::free(block));
        (usable as u64, grew)
    };
    let values = settings.iter().filter_map(|name| Some((name.clone(), setting(&object, name)?)));
    Answer {
        // SAFETY: returns a number that the kernel gave to the process.
        loader: object_of(unsafe { libc::getauxval(libc::AT_BASE) } as *mut c_void),
        name,
        version,
        usable_of_100,
        c_library_grew_bytes: grew,
        allocated_bytes: (BLOCKS * BLOCK_BYTES) as i64,
        settings: values.collect(),
        has_statistics: own::statistics_of(&object).is_some(),
        rss_bytes: rss_bytes(),
        object,
    }
}

/// The name and version of the object, by the functions of known allocators.
fn name_and_version(object: &str) -> (Option<String>, Option<String>) {
    type Text = unsafe extern "C" fn() -> *const c_char;
    if let (Some(name), Some(version)) =
        (symbol_in(object, c"heapwise_allocator_name"), symbol_in(object, c"heapwise_allocator_version"))
    {
        // SAFETY: functions of the libraries that heapwise carries, of this type; their results stay.
        return unsafe {
            let name: Text = std::mem::transmute(name);
            let version: Text = std::mem::transmute(version);
            (Some(text(name())), Some(text(version())))
        };
    }
    let found =
        registry::families().find_map(|family| Some((family.name, version_by(family.interface, object)?)));
    found.map_or((None, None), |(name, version)| (Some(name.into()), Some(version)))
}

/// The version that an object reports, if it has the functions of this interface.
fn version_by(interface: Interface, object: &str) -> Option<String> {
    match interface {
        Interface::None => None,
        Interface::Mallctl => {
            let found = symbol_in(object, c"mallctl")?;
            let mut version: *const c_char = std::ptr::null();
            let mut len = size_of::<*const c_char>();
            // SAFETY: jemalloc's function of this type, which writes a pointer to a C string that stays.
            unsafe {
                let mallctl: Mallctl = std::mem::transmute(found);
                let null = std::ptr::null_mut();
                mallctl(c"version".as_ptr(), (&raw mut version).cast(), &raw mut len, null, 0);
                Some(text(version))
            }
        }
        Interface::Gperftools { .. } => {
            let found = symbol_in(object, c"tc_version")?;
            // SAFETY: gperftools' function of this type; any of its arguments may be null.
            let version = unsafe {
                let version: unsafe extern "C" fn(
                    *mut c_int,
                    *mut c_int,
                    *mut *const c_char,
                ) -> *const c_char = std::mem::transmute(found);
                let null = std::ptr::null_mut();
                text(version(null, null, std::ptr::null_mut()))
            };
            Some(version.trim_start_matches("gperftools ").into())
        }
        Interface::Mimalloc => {
            let found = symbol_in(object, c"mi_version")?;
            // SAFETY: mimalloc's function of this type.
            let number = unsafe {
                let version: unsafe extern "C" fn() -> c_int = std::mem::transmute(found);
                version()
            };
            // Three digits until 2.2 (212 is 2.1.2), and five from then on.
            Some(match number {
                0..10_000 => format!("{}.{}.{}", number / 100, number / 10 % 10, number % 10),
                _ => format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100),
            })
        }
        Interface::CLibrary => {
            symbol_in(object, c"gnu_get_libc_version").map(|_| crate::c_library::version())
        }
    }
}

/// What the C library's allocator has in blocks, all arenas together. Other allocators do not change it.
fn c_library_bytes() -> i64 {
    // SAFETY: fills a structure of numbers in.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as i64
}

/// The value of a setting that is in force.
fn setting(object: &str, name: &str) -> Option<String> {
    let c_name = CString::new(name).ok()?;
    if let Some(found) = symbol_in(object, c"heapwise_allocator_setting") {
        let mut room = [0 as c_char; 128];
        // SAFETY: a function of the libraries that heapwise carries, of this type; there is as much room as it is passed.
        return unsafe {
            let ask: unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> c_int =
                std::mem::transmute(found);
            (ask(c_name.as_ptr(), room.as_mut_ptr(), room.len()) == 0).then(|| text(room.as_ptr()))
        };
    }
    let property = registry::families().find_map(|family| match family.interface {
        Interface::Gperftools { settings } => settings.iter().find(|(known, _)| *known == name),
        _ => None,
    });
    let (_, property) = property?;
    let found = symbol_in(object, c"MallocExtension_GetNumericProperty")?;
    let mut value = 0;
    // SAFETY: gperftools' function of this type; the number is ours.
    let is_known = unsafe {
        let ask: unsafe extern "C" fn(*const c_char, *mut usize) -> c_int = std::mem::transmute(found);
        ask(property.as_ptr(), &raw mut value)
    };
    (is_known == 1).then(|| value.to_string())
}

/// Resident memory of this process.
fn rss_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    // SAFETY: asks for a number.
    let page: c_long = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * (page as c_ulong)
}
