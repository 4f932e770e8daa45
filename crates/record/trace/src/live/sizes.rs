//! What allocators inside of a process say of the sizes of their blocks.

use super::atomics::AtomicU32;

/// Allocators of one process that are asked.
pub const MOST_SIZE_TABLES: usize = 4;
/// Sizes of one of them.
pub const MOST_SIZES: usize = 256;
/// Sizes up to here are asked for.
pub const LARGEST: usize = 64 << 20;

/// What one of them says.
#[derive(Debug)]
#[repr(C)]
pub struct SizeTable {
    /// The allocator's number in events.
    pub number: AtomicU32,
    /// How many sizes there are, published; 0 while it was not asked.
    pub count: AtomicU32,
    /// All sizes that blocks have, ascending.
    pub sizes: [AtomicU32; MOST_SIZES],
}
