//! Every resident byte and what it is there for.

use crate::units::{Bytes, Nanos, SiteId};
use heapwise_trace::file::records::ProcessIndex;
use rustc_hash::FxHashMap;

/// Resident memory, accounted for, at the moments at which pages were measured.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// When the resident set was highest, as far as it was measured.
    pub at_peak: Option<Breakdown>,
    /// Shortly before the end of the process with the largest resident set.
    pub at_end: Option<Breakdown>,
    /// Whether it is known how large the blocks of all allocators are. If not, internal fragmentation counts as external.
    pub knows_block_sizes: bool,
    /// Snapshots that were requested, in their order.
    pub snapshots: Vec<Breakdown>,
    /// Occupancy of pages, at the peak or at the end, whichever has more external fragmentation.
    pub page_map: Option<PageMap>,
    /// Sites whose blocks keep mostly empty pages resident, at the same moment; most pinned bytes first.
    pub pinned: Vec<Pinned>,
    /// What the allocator takes beside a block of a site's largest size: in front of it, and up to the end of its size class. Empty where
    /// that is not known.
    pub beside: FxHashMap<SiteId, Bytes>,
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
    /// What was resident already when recording began in the middle, and is no recorded block's: blocks from before, or free by now.
    pub before: Bytes,
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
    /// When the pages were like this.
    pub time: Nanos,
    /// Bytes of a cell of the map: a page, or several if the heap is large.
    pub cell: Bytes,
    /// Ranges of addresses, ascending.
    pub regions: Vec<PageRegion>,
}

/// A range of addresses of the heap.
#[derive(Clone, Debug, Default)]
pub struct PageRegion {
    pub address: u64,
    /// For each cell the share of it that is in use by live blocks, from 0 to [`Self::FULL`], or [`Self::NOT_RESIDENT`].
    pub cells: Vec<u8>,
}

impl PageRegion {
    /// A cell that is in use altogether.
    pub const FULL: u8 = u8::MAX - 1;
    /// A cell none of whose pages is resident.
    pub const NOT_RESIDENT: u8 = u8::MAX;
}

/// What a map of pages amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Bytes of the cells that are resident.
    pub resident: Bytes,
    /// Of these, bytes of cells without a live block.
    pub empty: Bytes,
    /// Bytes of cells that are in use, but a quarter at most.
    pub sparse: Bytes,
    /// The mean share of resident cells that is in use, from 0 to 1.
    pub used: f64,
}

impl PageMap {
    /// The sums over all regions.
    pub fn occupancy(&self) -> Occupancy {
        let cells = self.regions.iter().flat_map(|region| &region.cells);
        let resident: Vec<u8> = cells.copied().filter(|&cell| cell != PageRegion::NOT_RESIDENT).collect();
        let bytes = |cells: usize| Bytes((cells as u64).saturating_mul(self.cell.0));
        let count = |is: fn(u8) -> bool| resident.iter().filter(|&&cell| is(cell)).count();
        let sum: u64 = resident.iter().map(|&cell| u64::from(cell)).sum();
        Occupancy {
            resident: bytes(resident.len()),
            empty: bytes(count(|cell| cell == 0)),
            sparse: bytes(count(|cell| cell > 0 && cell <= PageRegion::FULL / 4)),
            used: sum as f64 / f64::from(PageRegion::FULL) / resident.len().max(1) as f64,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_resident_has_no_part_in_the_occupancy() {
        let region = |cells: &[u8]| PageRegion { address: 0, cells: cells.to_vec() };
        let regions = vec![region(&[0, 254, 255, 60]), region(&[255])];
        let map = PageMap { time: Nanos(0), cell: Bytes(4096), regions };
        let Occupancy { resident, empty, sparse, used } = map.occupancy();
        assert_eq!([resident, empty, sparse].map(|bytes| bytes.0 / 4096), [3, 1, 1]);
        assert!((used - 314.0 / 254.0 / 3.0).abs() < 1e-9, "{used}");
        assert_eq!(PageMap::default().occupancy().used, 0.0);
    }
}
