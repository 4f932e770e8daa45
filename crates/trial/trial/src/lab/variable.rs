//! How a worker's allocator is chosen from outside.

/// The variable that decides where a worker's blocks come from: [`MIMALLOC`] means it, anything else the system's allocator.
pub const ALLOCATOR_VARIABLE: &str = "HEAPWISE_LAB_ALLOCATOR";

/// The folder in which a worker may keep files.
#[cfg(target_os = "linux")]
pub(crate) const FOLDER_VARIABLE: &str = "HEAPWISE_LAB_FOLDER";

/// Its value for mimalloc.
pub(crate) const MIMALLOC: &str = "mimalloc";
