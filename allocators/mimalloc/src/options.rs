//! What differs between the versions. The package's name says which one it is.

use core::ffi::CStr;

/// Options' numbers, which `heapwise` has from here as well.
mod numbers {
    include!("numbers.rs");
}

const IS_V2: bool = matches!(env!("CARGO_PKG_NAME").as_bytes(), b"mimalloc2");

pub(crate) const NAME: &CStr = if IS_V2 { c"mimalloc2" } else { c"mimalloc" };

/// Options by name, of those that heapwise sets.
pub(crate) const NUMBERS: &[(&str, i32)] = if IS_V2 { numbers::V2 } else { numbers::V3 };
