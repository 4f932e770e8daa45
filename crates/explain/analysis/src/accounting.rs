//! Every resident byte and what it is there for.

use crate::units::{Bytes, Nanos, SiteId};
use heapwise_trace::file::records::ProcessIndex;

/// Resident memory, accounted for, at the moments at which pages were measured.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// When the resident set was highest, as far as it was measured.
    pub at_peak: Option<Breakdown>,
    /// Shortly before the end of the process with the largest resident set.
    pub at_end: Option<Breakdown>,
    /// Whether it is known how large the allocator's blocks are. If not, internal fragmentation counts as external.
    pub knows_block_sizes: bool,
    /// Snapshots that were requested, in their order.
    pub snapshots: Vec<Breakdown>,
    /// Occupancy of pages, at the peak or at the end, whichever has more external fragmentation.
    pub page_map: Option<PageMap>,
    /// Sites whose blocks keep mostly empty pages resident, at the same moment; most pinned bytes first.
    pub pinned: Vec<Pinned>,
}

/// What the resident bytes of one process consist of at one moment. The parts add up to `rss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Whose memory it is.
    pub process: ProcessIndex,
    pub time: Nanos,
    pub rss: Bytes,
    /// Requested bytes of live blocks, the resident part.
    pub live: Bytes,
    /// Usable minus requested bytes of live blocks: the allocator's size classes.
    pub internal_fragmentation: Bytes,
    /// Free bytes in pages that hold at least one live block.
    pub external_fragmentation: Bytes,
    /// Pages without a live block that had one before, or lie between such pages.
    pub free_pages: Bytes,
    /// The allocator's own pages and headers.
    pub metadata: Bytes,
    /// Anonymous memory that no recorded allocator explains: another allocator's, or what the program mapped by itself.
    pub unrecorded: Bytes,
    /// Code, static data, stacks and files.
    pub not_heap: Bytes,
    pub unaccounted: Bytes,
    /// Part of these that the program has given up and the kernel may take at any time (`MADV_FREE`).
    pub lazily_freed: Bytes,
    /// Part of all of these that lies in transparent huge pages.
    pub huge_pages: Bytes,
    /// Requested bytes of live blocks that are not resident: never touched.
    pub live_not_resident: Bytes,
}

impl Breakdown {
    /// All parts that the recorded allocator has.
    pub fn heap(&self) -> Bytes {
        let fragmentation = [self.internal_fragmentation, self.external_fragmentation];
        let parts = [self.live, self.free_pages, self.metadata].into_iter().chain(fragmentation);
        parts.fold(Bytes(0), |sum, part| Bytes(sum.0.saturating_add(part.0)))
    }
}

/// How full the resident pages of a heap are.
#[derive(Clone, Debug, Default)]
pub struct PageMap {
    /// Bytes of a cell of the map: a page, or several if the heap is large.
    pub cell: Bytes,
    /// Ranges of addresses, ascending.
    pub regions: Vec<PageRegion>,
}

/// A range of addresses of the heap.
#[derive(Clone, Debug, Default)]
pub struct PageRegion {
    pub address: u64,
    /// For each cell the share of it that is in use by live blocks, from 0 to 254; 255 stands for not resident.
    pub cells: Vec<u8>,
}

/// What a site's blocks keep resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    pub site: SiteId,
    /// Free bytes in pages that would be free altogether without the site's blocks.
    pub bytes: Bytes,
    /// How many blocks do that.
    pub blocks: u64,
    /// In how many pages.
    pub pages: u64,
}
