//! The C library's allocation functions, for an allocator that has a few of them under other names, and what heapwise asks
//! of each allocator in the same way.
//!
//! A Rust library hides the C symbols of what is linked into it, so an allocator that is to take malloc's place has to be
//! given its name again. The functions that few programs call are made of the others, in the same way for all. The
//! operators of C++ reach the allocator through malloc, by way of libstdc++'s own; so they do not if the program links an
//! allocator that has operators itself, and for such programs there are ours (`cxx.rs`).

#![no_std]

mod cxx;
mod text;

pub use cxx::{after_handler, new_handler, no_memory};
pub use text::Text;

use core::ffi::{c_int, c_void};

/// Bytes of a page, to which `valloc` and `pvalloc` round.
pub const PAGE: usize = 4096;

/// What an allocator says about its memory, in bytes, as C sees it. [`UNKNOWN`] where it does not say.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Statistics {
    /// In blocks that the program has.
    pub allocated: u64,
    /// In pages that have such blocks.
    pub active: u64,
    /// Of the allocator's own.
    pub metadata: u64,
    /// In pages that are in memory, as the allocator thinks.
    pub resident: u64,
    /// Mapped, and counted as in use.
    pub mapped: u64,
    /// Mapped, without memory behind it, and kept for later.
    pub retained: u64,
}

/// A number that the allocator does not tell.
pub const UNKNOWN: u64 = u64::MAX;

impl Statistics {
    /// Nothing is known.
    pub const NONE: Self = Self {
        allocated: UNKNOWN,
        active: UNKNOWN,
        metadata: UNKNOWN,
        resident: UNKNOWN,
        mapped: UNKNOWN,
        retained: UNKNOWN,
    };
}

/// Success of a C function.
pub const DONE: c_int = 0;
/// The allocator has nothing of the kind.
pub const NOT_POSSIBLE: c_int = -1;

/// Exports the functions of an allocator under the C library's names.
#[macro_export]
macro_rules! entry_points {
    (
        malloc: $malloc:path,
        calloc: $calloc:path,
        realloc: $realloc:path,
        free: $free:path,
        aligned_alloc: $aligned_alloc:path,
        posix_memalign: $posix_memalign:path,
        malloc_usable_size: $usable:path $(,)?
    ) => {
        use ::core::ffi::{c_int, c_void};

        $crate::entry_points!(@
            malloc(size: usize) -> *mut c_void => $malloc(size);
            calloc(count: usize, size: usize) -> *mut c_void => $calloc(count, size);
            realloc(block: *mut c_void, size: usize) -> *mut c_void => $realloc(block, size);
            free(block: *mut c_void) => $free(block);
            aligned_alloc(alignment: usize, size: usize) -> *mut c_void => $aligned_alloc(alignment, size);
            memalign(alignment: usize, size: usize) -> *mut c_void => $aligned_alloc(alignment, size);
            posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int
                => $posix_memalign(block, alignment, size);
            malloc_usable_size(block: *mut c_void) -> usize => $usable(block);
            valloc(size: usize) -> *mut c_void => $aligned_alloc($crate::PAGE, size);
            pvalloc(size: usize) -> *mut c_void => match size.checked_next_multiple_of($crate::PAGE) {
                Some(size) => $aligned_alloc($crate::PAGE, size.max($crate::PAGE)),
                None => $crate::too_much(),
            };
            reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void => match count.checked_mul(size) {
                Some(size) => $realloc(block, size),
                None => $crate::too_much(),
            };
            free_sized(block: *mut c_void, _size: usize) => $free(block);
            free_aligned_sized(block: *mut c_void, _alignment: usize, _size: usize) => $free(block);
        );
        $crate::cxx_operators!($malloc, $aligned_alloc, $free);

        /// Without std, the program has to define what a panic does. Nothing here panics.
        #[cfg(panic = "abort")]
        #[panic_handler]
        fn panic(_: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::give_up()
        }
    };
    (@ $($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $body:expr;)*) => {$(
        /// The C function of this name.
        ///
        /// # Safety
        ///
        /// That of the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the C function, which is that of the allocator's function as well.
            unsafe { $body }
        }
    )*};
}

/// Exports what heapwise asks an allocator, in the process that has it.
///
/// - `heapwise_allocator_name()` and `heapwise_allocator_version()` are C strings that live as long as the process. The
///   version is the one that the library itself tells, if it tells one.
/// - `heapwise_allocator_statistics(Statistics *)` fills all fields in.
/// - `heapwise_allocator_setting(name, out, room)` writes the value that is in force, as text.
/// - `heapwise_allocator_purge()` returns free pages to the system.
///
/// The last three return 0, or -1 if the allocator has nothing of the kind.
#[macro_export]
macro_rules! about {
    (
        name: $name:expr,
        version: $version:path,
        statistics: $statistics:path,
        setting: $setting:path,
        purge: $purge:path $(,)?
    ) => {
        /// The name in heapwise's registry.
        #[unsafe(no_mangle)]
        pub extern "C" fn heapwise_allocator_name() -> *const ::core::ffi::c_char {
            const NAME: &::core::ffi::CStr = $name;
            NAME.as_ptr()
        }

        /// The version of the library.
        #[unsafe(no_mangle)]
        pub extern "C" fn heapwise_allocator_version() -> *const ::core::ffi::c_char {
            $version()
        }

        /// What the allocator says about its memory.
        ///
        /// # Safety
        ///
        /// The pointer is to a structure of the caller's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn heapwise_allocator_statistics(out: *mut $crate::Statistics) -> c_int {
            let Some(statistics) = $statistics() else { return $crate::NOT_POSSIBLE };
            // SAFETY: the caller has such a structure there.
            unsafe { out.write(statistics) };
            $crate::DONE
        }

        /// The value of a setting that is in force, as a C string.
        ///
        /// # Safety
        ///
        /// The name is a C string, and there are `room` bytes at `out`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn heapwise_allocator_setting(
            name: *const ::core::ffi::c_char,
            out: *mut ::core::ffi::c_char,
            room: usize,
        ) -> c_int {
            // SAFETY: the caller says so.
            let name = unsafe { ::core::ffi::CStr::from_ptr(name) };
            let mut text = $crate::Text::new();
            if $setting(name, &mut text).is_none() {
                return $crate::NOT_POSSIBLE;
            }
            // SAFETY: the caller says so.
            unsafe { text.copy_to(out, room) }
        }

        /// Returns free pages to the system.
        #[unsafe(no_mangle)]
        pub extern "C" fn heapwise_allocator_purge() -> c_int {
            if $purge() { $crate::DONE } else { $crate::NOT_POSSIBLE }
        }
    };
}

unsafe extern "C" {
    safe fn abort() -> !;
}

unsafe extern "C" {
    safe fn __errno_location() -> *mut c_int;
}

/// What a call returns that asks for more bytes than there are numbers for.
pub fn too_much() -> *mut c_void {
    const ENOMEM: c_int = 12;
    // SAFETY: the C library's place for this thread's number.
    unsafe { __errno_location().write(ENOMEM) };
    core::ptr::null_mut()
}

/// Ends the process.
pub fn give_up() -> ! {
    abort()
}
