//! What is known of the allocator whose pages are analysed.

use crate::heap::LiveBlock;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::allocator::is_glibc;
use heapwise_trace::file::pages::UsableSizes;

/// What is known of an allocator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator<'a> {
    pub(super) sizes: Option<&'a UsableSizes>,
    pub(super) is_glibc: bool,
    /// Whether the process is a fork, and so has blocks that are not in its own events.
    pub(super) inherited: bool,
    /// Which allocator the blocks of each raw site are from. The sizes are those of the one that is found by name.
    pub(super) of_site: &'a [AllocatorNumber],
}

/// Bytes in front of a block of glibc that has a separate mapping.
const MAPPED_HEADER_BYTES: u64 = 16;

impl<'a> Allocator<'a> {
    pub(crate) fn new(path: &str, sizes: Option<&'a UsableSizes>, inherited: bool) -> Self {
        Self { sizes, is_glibc: is_glibc(path), inherited, of_site: &[] }
    }

    /// With the allocators of the raw sites' blocks, where there are several.
    pub(crate) fn with_sites(self, of_site: &'a [AllocatorNumber]) -> Self {
        Self { of_site, ..self }
    }

    /// Whose a block is.
    #[inline]
    pub(super) fn number(&self, block: &LiveBlock) -> AllocatorNumber {
        self.of_site.get(block.site as usize).copied().unwrap_or_default()
    }

    /// Whether its block sizes were measured.
    pub(crate) fn knows_block_sizes(&self) -> bool {
        self.sizes.is_some()
    }

    /// Bytes in front of a block, and its usable bytes.
    #[inline]
    pub(super) fn extent(&self, block: &LiveBlock, page_bytes: u64) -> (u64, u64) {
        let sizes = self.sizes.filter(|_| self.number(block) == AllocatorNumber::BY_NAME);
        let Some(sizes) = sizes else { return (0, block.size) };
        // A block at this place in its page has a separate mapping, or would have one of the same size by chance.
        if self.is_glibc && block.address % page_bytes == MAPPED_HEADER_BYTES && block.size >= page_bytes {
            let whole = (block.size + MAPPED_HEADER_BYTES).next_multiple_of(page_bytes);
            return (MAPPED_HEADER_BYTES, whole - MAPPED_HEADER_BYTES);
        }
        (sizes.header_bytes, sizes.of(block.size))
    }
}
