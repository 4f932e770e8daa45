//! What is known of the allocator whose pages are analysed.

use crate::heap::LiveBlock;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::allocator::is_glibc;
use heapwise_trace::file::pages::UsableSizes;
use std::collections::BTreeMap;

/// What is known of the allocators of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator<'a> {
    /// How large the blocks are of the one that is found by name.
    by_name: Option<&'a UsableSizes>,
    /// The same of those inside of the program.
    inside: &'a SizesByNumber,
    pub(super) is_glibc: bool,
    /// Whether the process is a fork, and so has blocks that are not in its own events.
    pub(super) inherited: bool,
    /// Which allocator the blocks of each raw site are from; empty if all are from the one that is found by name.
    of_site: &'a [AllocatorNumber],
}

/// How large the blocks are of allocators inside of programs.
pub(crate) type SizesByNumber = BTreeMap<AllocatorNumber, UsableSizes>;

/// Bytes in front of a block of glibc that has a separate mapping.
const MAPPED_HEADER_BYTES: u64 = 16;

impl<'a> Allocator<'a> {
    pub(crate) fn new(path: &str, by_name: Option<&'a UsableSizes>, inherited: bool) -> Self {
        static NONE: SizesByNumber = SizesByNumber::new();
        Self { by_name, inside: &NONE, is_glibc: is_glibc(path), inherited, of_site: &[] }
    }

    /// With the allocators of the raw sites' blocks, where they are inside of the program.
    pub(crate) fn with_sites(self, of_site: &'a [AllocatorNumber], inside: &'a SizesByNumber) -> Self {
        Self { of_site, inside, ..self }
    }

    /// Whose a block is.
    #[inline]
    pub(super) fn number(&self, block: &LiveBlock) -> AllocatorNumber {
        self.of_site.get(block.site() as usize).copied().unwrap_or_default()
    }

    /// How large the blocks of one of them are.
    #[inline]
    pub(crate) fn sizes(&self, number: AllocatorNumber) -> Option<&'a UsableSizes> {
        match number {
            AllocatorNumber::BY_NAME => self.by_name,
            number => self.inside.get(&number),
        }
    }

    /// Bytes in front of a block, and its usable bytes.
    #[inline]
    pub(super) fn extent(&self, block: &LiveBlock, page_bytes: u64) -> (u64, u64) {
        let Some(sizes) = self.sizes(self.number(block)) else { return (0, block.size()) };
        // A block of glibc at this place in its page has a separate mapping, or would have one of the same size by chance.
        let has_header = sizes.header_bytes > 0;
        if has_header && block.address() % page_bytes == MAPPED_HEADER_BYTES && block.size() >= page_bytes {
            let whole = (block.size() + MAPPED_HEADER_BYTES).next_multiple_of(page_bytes);
            return (MAPPED_HEADER_BYTES, whole - MAPPED_HEADER_BYTES);
        }
        (sizes.header_bytes, sizes.of(block.size()))
    }
}
