//! Which places keep mostly empty pages resident.
//!
//! A page is *pinned* by a place if all live blocks in it were allocated there, and they fill less than half of it: without
//! them, or with them somewhere else together, the page would be free. So what is counted is what would be gained, and a
//! page that two places hold together is counted for neither.

use super::HeapSnapshot;
use super::allocator::Allocator;
use super::pages;
use crate::accounting::Pinned;
use crate::units::Bytes;
use crate::units::SiteId;
use std::collections::BTreeMap;

/// Finds them. `site_of` has the site of each raw one, `place_of` a number for the place in the user's code of each site.
pub(crate) fn pinned(
    heap_snapshot: &HeapSnapshot,
    allocator: &Allocator<'_>,
    site_of: &[SiteId],
    place_of: &[u32],
) -> Vec<Pinned> {
    let site = |block: usize| site_of.get(heap_snapshot.live[block].site() as usize).copied();
    let place = |site: SiteId| place_of.get(site.0 as usize).copied();
    let mut found: BTreeMap<Option<u32>, Pinned> = BTreeMap::new();
    let mut last = None;
    pages::each(heap_snapshot, allocator, |page| {
        let free = page.free();
        // Of a page from before it is not known what else is in it.
        let is_known = !heap_snapshot.before.has(&page.range);
        if page.blocks.is_empty() || free * 2 <= page.bytes() || !is_known {
            return;
        }
        let Some(first) = site(page.blocks.start) else { return };
        let whose = place(first);
        if !page.blocks.clone().all(|block| site(block).and_then(place) == whose) {
            return;
        }
        // The first block of its first page stands for the place; another site of it would be as good.
        let pinned =
            found.entry(whose).or_insert(Pinned { site: first, bytes: Bytes(0), blocks: 0, pages: 0 });
        pinned.bytes += Bytes(free);
        pinned.pages += 1;
        // A block that reaches over from the page before was counted there.
        let new = page.blocks.clone().filter(|&block| last.is_none_or(|last| block > last)).count();
        pinned.blocks += new as u64;
        last = last.max(page.blocks.clone().next_back());
    });
    let mut found: Vec<Pinned> = found.into_values().collect();
    found.sort_by_key(|p| (std::cmp::Reverse(p.bytes), p.site));
    found
}
