//! Every resident byte and what it is there for.

use crate::analysis::{Analysis, SiteId};
use crate::heap::{EverHeap, LiveBlock};
use crate::residency::{self, Look, Residency, map, pins};
use crate::units::{Bytes, Nanos};
use heapwise_trace::file::pages::{Snapshot, UsableSizes};
use heapwise_trace::file::records::ProcessIndex;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Resident memory, accounted for, at the moments at which pages were measured.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// When the resident set was highest, as far as it was measured.
    pub at_peak: Option<Breakdown>,
    /// Shortly before the end of the process with the largest resident set.
    pub at_end: Option<Breakdown>,
    /// Whether it is known how large the allocator's blocks are. If not, what it adds to requests counts as holes.
    pub knows_block_sizes: bool,
    /// Moments that were asked for, in their order.
    pub snapshots: Vec<Breakdown>,
    /// Occupancy of pages, at the peak or at the end, whichever has more holes.
    pub page_map: Option<PageMap>,
    /// Sites whose blocks keep mostly empty pages resident, at the same moment; most pinned bytes first.
    pub pinned: Vec<Pinned>,
}

/// What the resident bytes of one process consist of at one moment. The parts add up to `rss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Whose memory it is.
    pub process: ProcessIndex,
    /// When.
    pub time: Nanos,
    /// Resident bytes.
    pub rss: Bytes,
    /// Requested bytes of live blocks, as far as they are resident.
    pub live: Bytes,
    /// Usable minus requested size of live blocks.
    pub rounding: Bytes,
    /// Free bytes in pages that hold at least one live block.
    pub holes: Bytes,
    /// Pages without a live block that had one before, or lie between such pages.
    pub retained: Bytes,
    /// The allocator's own pages and headers.
    pub metadata: Bytes,
    /// Code, stacks, files, and what the program mapped by itself.
    pub not_heap: Bytes,
    /// What is left.
    pub unaccounted: Bytes,
    /// Part of these that the program has given up and the kernel may take at any time (`MADV_FREE`).
    pub lazily_freed: Bytes,
    /// Part of all of these that lies in transparent huge pages.
    pub huge_pages: Bytes,
    /// Requested bytes of live blocks that are not resident: never touched.
    pub live_not_resident: Bytes,
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
    /// Where it begins.
    pub address: u64,
    /// For each cell the share of it that is in use by live blocks, from 0 to 254; 255 stands for not resident.
    pub cells: Vec<u8>,
}

/// What a site's blocks keep resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The site.
    pub site: SiteId,
    /// Free bytes in pages that would be free altogether without the site's blocks.
    pub bytes: Bytes,
    /// How many blocks do that.
    pub blocks: u64,
    /// In how many pages.
    pub pages: u64,
}

/// What the accounts are made from.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) residency: Residency,
    /// Pages that ever held a block, of the process with the highest resident set.
    pub(crate) ever: EverHeap,
}

/// What is known of a heap besides its resident pages, for [`account_for`].
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    /// Path of the allocator's object file.
    pub allocator: &'a str,
    /// How large its blocks are, if that is known.
    pub sizes: Option<&'a UsableSizes>,
    /// Address and requested bytes of each live block.
    pub live: &'a [(u64, u64)],
    /// Ranges of addresses that ever held blocks.
    pub ever: &'a [Range<u64>],
}

/// Accounts for the resident bytes of any process whose live blocks are known at the moment of the snapshot.
pub fn account_for(snapshot: Snapshot, heap: Heap<'_>) -> Breakdown {
    let mut ever = EverHeap::default();
    heap.ever.iter().for_each(|range| ever.mark(range.start, range.end.saturating_sub(range.start)));
    let mut live: Vec<LiveBlock> =
        heap.live.iter().map(|&(address, size)| LiveBlock { address, size, site: 0 }).collect();
    live.sort_unstable_by_key(|block| block.address);
    let live_bytes = live.iter().map(|block| block.size).sum();
    let look = Look { slot: 0, snapshot, live, live_bytes };
    residency::breakdown::Allocator::new(heap.allocator, heap.sizes, false).breakdown(&look, &ever)
}

impl Analysis {
    /// Makes the accounts; `site_of` has the site of each raw one.
    pub(crate) fn account(&mut self, site_of: &[SiteId]) {
        let Pages { residency, ever } = &self.residency;
        let breakdown = |look: &crate::residency::Look| residency.allocator(look.slot).breakdown(look, ever);
        let latest = residency.latest.as_ref().or(residency.peak.as_ref());
        let (at_peak, at_end) = (residency.peak.as_ref().map(breakdown), latest.map(breakdown));
        // What is pinned is best seen when most is free beside live blocks.
        let end_has_more = at_end.map(|b| b.holes) > at_peak.map(|b| b.holes);
        let look = if end_has_more { latest } else { residency.peak.as_ref() };
        let (page_map, pinned) = match look {
            Some(look) => {
                let allocator = residency.allocator(look.slot);
                let pinned = pins::pinned(look, &allocator, site_of, &self.places_of_sites());
                (Some(map::map(look, &allocator, ever)), pinned)
            }
            None => (None, Vec::new()),
        };
        let snapshots = residency.requested.clone();
        let knows_block_sizes = look.is_some_and(|look| residency.allocator(look.slot).knows_block_sizes());
        self.accounting = Accounting { at_peak, at_end, knows_block_sizes, snapshots, page_map, pinned };
    }

    /// A number for each site's place in the user's code: sites with the same nearest frame have the same.
    fn places_of_sites(&self) -> Vec<u32> {
        let mut known = FxHashMap::default();
        let places = self.sites.iter().map(|site| {
            let mut frames = self.stacks_by_name.frames(site.stack).flat_map(|list| self.names.frames(list));
            let frame = site.user_frame.and_then(|at| frames.nth(at));
            let place = frame.map(|(f, _)| (f.function, f.file, f.line, f.address));
            let next = known.len() as u32;
            // A site without a frame of the user's is a place of its own.
            place.map_or(site.id.0 | 1 << 31, |place| *known.entry(place).or_insert(next))
        });
        places.collect()
    }
}
