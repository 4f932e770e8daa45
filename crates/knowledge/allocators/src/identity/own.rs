//! What the allocator of this process reports about its memory: through the function that our own libraries have, and through
//! those of jemalloc and gperftools in other libraries.

#![expect(unsafe_code, reason = "asks the allocator of this process, through its C functions")]

use super::symbols::{object_of, symbol, symbol_in};
use std::ffi::{CStr, c_char, c_int, c_void};

/// What an allocator reports about its memory, in bytes; `None` where it reports nothing. The exact meaning depends on the
/// allocator: jemalloc's numbers are exact, glibc counts headers and what the caches of threads hold as allocated, and mimalloc
/// and snmalloc report only what they have of the system, mimalloc with what it only reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnStatistics {
    /// In blocks that the program has.
    pub allocated_bytes: Option<u64>,
    /// In pages that have such blocks.
    pub active_bytes: Option<u64>,
    /// Of the allocator's own.
    pub metadata_bytes: Option<u64>,
    /// In pages that are in memory, as the allocator thinks.
    pub resident_bytes: Option<u64>,
    /// Mapped, and counted as in use.
    pub mapped_bytes: Option<u64>,
    /// Mapped, without memory behind it, and kept for later.
    pub retained_bytes: Option<u64>,
}

/// Marks a number that is not reported.
const UNKNOWN: u64 = u64::MAX;

impl OwnStatistics {
    /// How many numbers there are.
    pub const LEN: usize = 6;

    /// From numbers in the order of the fields, where [`u64::MAX`] stands for one that is not reported.
    pub fn from_numbers(numbers: [u64; Self::LEN]) -> Self {
        let [allocated, active, metadata, resident, mapped, retained] =
            numbers.map(|number| (number != UNKNOWN).then_some(number));
        Self {
            allocated_bytes: allocated,
            active_bytes: active,
            metadata_bytes: metadata,
            resident_bytes: resident,
            mapped_bytes: mapped,
            retained_bytes: retained,
        }
    }

    /// The inverse of [`OwnStatistics::from_numbers`].
    pub fn numbers(&self) -> [u64; Self::LEN] {
        [
            self.allocated_bytes,
            self.active_bytes,
            self.metadata_bytes,
            self.resident_bytes,
            self.mapped_bytes,
            self.retained_bytes,
        ]
        .map(|number| number.unwrap_or(UNKNOWN))
    }
}

/// The path of the object that has this process's `malloc`, as the loader was given it. Empty if there is none.
pub fn own_object() -> String {
    object_of(symbol(c"malloc"))
}

/// The statistics of the allocator of this process.
pub fn own_statistics() -> Option<OwnStatistics> {
    statistics_of(&own_object())
}

/// The statistics of the object at a path, which has this process's `malloc`.
pub(super) fn statistics_of(object: &str) -> Option<OwnStatistics> {
    by_our_function(object).or_else(|| by_mallctl(object)).or_else(|| by_properties(object))
}

/// Has the allocator of this process return its free pages to the system. Whether it has something of the kind.
pub fn purge_own() -> bool {
    let object = own_object();
    if let Some(found) = symbol_in(&object, c"heapwise_allocator_purge") {
        // SAFETY: a function of the libraries that heapwise carries, of this type.
        return unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(found)() == 0 };
    }
    let Some(found) = symbol_in(&object, c"malloc_trim") else { return false };
    // SAFETY: glibc's function of this type; libraries that have one themselves follow it.
    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize) -> c_int>(found)(0) };
    true
}

fn by_our_function(object: &str) -> Option<OwnStatistics> {
    let found = symbol_in(object, c"heapwise_allocator_statistics")?;
    let mut numbers = [UNKNOWN; OwnStatistics::LEN];
    // SAFETY: a function of the libraries that heapwise carries, which writes so many numbers.
    let result = unsafe {
        let ask: unsafe extern "C" fn(*mut u64) -> c_int = std::mem::transmute(found);
        ask(numbers.as_mut_ptr())
    };
    (result == 0).then(|| OwnStatistics::from_numbers(numbers))
}

/// jemalloc's function for values by name: reads one, writes one, or both.
pub(super) type Mallctl =
    unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;

/// As jemalloc reports it.
fn by_mallctl(object: &str) -> Option<OwnStatistics> {
    let found = symbol_in(object, c"mallctl")?;
    // SAFETY: jemalloc's function of this type.
    let mallctl: Mallctl = unsafe { std::mem::transmute(found) };
    let mut epoch = 1u64;
    // SAFETY: jemalloc reads a number of this size, and brings its statistics up to date.
    unsafe {
        let null = std::ptr::null_mut();
        mallctl(c"epoch".as_ptr(), null, null.cast(), (&raw mut epoch).cast(), size_of::<u64>());
    }
    let read = |name: &CStr| {
        let (mut value, mut len) = (0usize, size_of::<usize>());
        // SAFETY: jemalloc writes a number of the size that it is passed, or refuses.
        let result = unsafe {
            let value = (&raw mut value).cast();
            mallctl(name.as_ptr(), value, &raw mut len, std::ptr::null_mut(), 0)
        };
        (result == 0).then_some(value as u64)
    };
    Some(OwnStatistics {
        allocated_bytes: Some(read(c"stats.allocated")?),
        active_bytes: read(c"stats.active"),
        metadata_bytes: read(c"stats.metadata"),
        resident_bytes: read(c"stats.resident"),
        mapped_bytes: read(c"stats.mapped"),
        retained_bytes: read(c"stats.retained"),
    })
}

/// As gperftools' tcmalloc reports it.
fn by_properties(object: &str) -> Option<OwnStatistics> {
    let found = symbol_in(object, c"MallocExtension_GetNumericProperty")?;
    let read = |name: &CStr| {
        let mut value = 0usize;
        // SAFETY: gperftools' function of this type; the number is ours.
        let is_known = unsafe {
            let ask: unsafe extern "C" fn(*const c_char, *mut usize) -> c_int = std::mem::transmute(found);
            ask(name.as_ptr(), &raw mut value)
        };
        (is_known == 1).then_some(value as u64)
    };
    Some(OwnStatistics {
        allocated_bytes: Some(read(c"generic.current_allocated_bytes")?),
        resident_bytes: read(c"generic.total_physical_bytes"),
        mapped_bytes: read(c"generic.heap_size"),
        retained_bytes: read(c"tcmalloc.pageheap_unmapped_bytes"),
        ..OwnStatistics::default()
    })
}
