//! The functions of Google's library that are called here. Its crate declares a few others; the library has all of them,
//! with C linkage (`tcmalloc.cc`, `parameters.cc`, `cpu_cache.cc` and `background.cc` of its source).
//!
//! To name one has a consequence: its object file is linked. Those of the caches of processors and of the background are
//! not named elsewhere, not even by the crate, which has neither for that reason.

use core::ffi::{c_char, c_int, c_void};
// Links the library.
use libtcmalloc_sys as _;

/// `absl::Duration`, as it is passed: two halves of the seconds, and quarters of nanoseconds.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Duration {
    seconds: [u32; 2],
    quarter_ns: u32,
}

/// Quarters of nanoseconds in a millisecond.
const QUARTERS: u32 = 4_000_000;

impl Duration {
    /// Of so many milliseconds, which are not negative.
    pub fn from_ms(ms: i64) -> Self {
        let seconds = ms / 1000;
        // The halves of a number, and less than a thousand.
        Self { seconds: [seconds as u32, (seconds >> 32) as u32], quarter_ns: (ms % 1000) as u32 * QUARTERS }
    }

    /// In milliseconds.
    pub fn ms(self) -> i64 {
        let [low, high] = self.seconds.map(i64::from);
        (low | high << 32) * 1000 + i64::from(self.quarter_ns / QUARTERS)
    }
}

/// `LimitKind::kSoft`.
pub const SOFT: c_int = 0;

unsafe extern "C" {
    pub fn TCMallocInternalMalloc(size: usize) -> *mut c_void;
    pub fn TCMallocInternalCalloc(count: usize, size: usize) -> *mut c_void;
    pub fn TCMallocInternalRealloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub fn TCMallocInternalFree(block: *mut c_void);
    pub fn TCMallocInternalAlignedAlloc(alignment: usize, size: usize) -> *mut c_void;
    pub fn TCMallocInternalPosixMemalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    pub fn TCMallocInternalMallocSize(block: *mut c_void) -> usize;

    pub fn MallocExtension_Internal_GetNumericProperty(
        name: *const c_char,
        len: usize,
        value: *mut usize,
    ) -> bool;
    pub safe fn MallocExtension_Internal_ReleaseMemoryToSystem(bytes: usize) -> usize;
    pub safe fn MallocExtension_Internal_ProcessBackgroundActions();

    pub safe fn MallocExtension_Internal_GetPerCpuCachesActive() -> bool;
    pub safe fn TCMalloc_Internal_SetPerCpuCachesEnabledNoBuildRequirement(value: bool);
    pub safe fn TCMalloc_Internal_GetHPAASubrelease() -> bool;
    pub safe fn MallocExtension_Internal_GetMaxPerCpuCacheSize() -> i32;
    pub safe fn MallocExtension_Internal_SetMaxPerCpuCacheSize(bytes: i32);
    pub safe fn MallocExtension_Internal_GetMaxTotalThreadCacheBytes() -> i64;
    pub safe fn MallocExtension_Internal_SetMaxTotalThreadCacheBytes(bytes: i64);
    pub safe fn MallocExtension_Internal_GetBackgroundReleaseRate() -> usize;
    pub safe fn MallocExtension_Internal_SetBackgroundReleaseRate(bytes: usize);
    pub safe fn MallocExtension_Internal_GetProfileSamplingInterval() -> i64;
    pub safe fn MallocExtension_Internal_SetProfileSamplingInterval(bytes: i64);
    pub safe fn MallocExtension_Internal_GetMemoryLimit(kind: c_int) -> usize;
    pub safe fn MallocExtension_Internal_SetMemoryLimit(bytes: usize, kind: c_int);
    pub fn MallocExtension_Internal_GetBackgroundProcessSleepInterval(out: *mut Duration);
    pub safe fn MallocExtension_Internal_SetBackgroundProcessSleepInterval(value: Duration);
    pub fn MallocExtension_Internal_GetSkipSubreleaseShortInterval(out: *mut Duration);
    pub safe fn MallocExtension_Internal_SetSkipSubreleaseShortInterval(value: Duration);
    pub fn MallocExtension_Internal_GetSkipSubreleaseLongInterval(out: *mut Duration);
    pub safe fn MallocExtension_Internal_SetSkipSubreleaseLongInterval(value: Duration);
}

/// A number that the library tells by name.
pub fn property(name: &str) -> Option<u64> {
    let mut value = 0;
    // SAFETY: the name has the length that is said, and the number is ours.
    let is_known = unsafe {
        MallocExtension_Internal_GetNumericProperty(name.as_ptr().cast(), name.len(), &raw mut value)
    };
    is_known.then_some(value as u64)
}

/// What a function fills in.
pub fn duration(get: unsafe extern "C" fn(*mut Duration)) -> Duration {
    let mut value = Duration::from_ms(0);
    // SAFETY: one of the functions above, and the value is ours.
    unsafe { get(&raw mut value) };
    value
}
