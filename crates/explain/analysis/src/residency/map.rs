//! The heap as a picture: how full its pages are, by address.

use super::HeapSnapshot;
use super::allocator::Allocator;
use super::pages;
use crate::accounting::{PageMap, PageRegion};
use crate::heap::TouchedHeap;
use crate::units::{Bytes, Nanos};

/// Cells of a map, about, which is what fits a screen.
const CELLS: u64 = 8192;
/// A gap of so many cells between resident pages begins another region.
const GAP_CELLS: u64 = 64;

/// Draws it. Pages that never held a block are no part of it.
pub(crate) fn map(
    heap_snapshot: &HeapSnapshot,
    allocator: &Allocator<'_>,
    touched_pages: &TouchedHeap,
) -> PageMap {
    let page_bytes = heap_snapshot.snapshot.page_bytes.max(1);
    let heaps = heap_snapshot.snapshot.mappings.iter().filter(|m| m.kind.may_be_heap());
    let resident = heaps.flat_map(|m| &m.runs).fold(0u64, |sum, run| sum.saturating_add(run.pages));
    let cell_pages = (resident / CELLS).max(1).next_power_of_two();
    let mut picture = Picture { cell_bytes: cell_pages.saturating_mul(page_bytes), ..Picture::default() };
    pages::each(heap_snapshot, allocator, |page| {
        if !page.blocks.is_empty() || touched_pages.any(page.range.start, page.range.end) {
            picture.add(page.range.start, page.bytes().saturating_sub(page.free()), page.bytes());
        }
    });
    picture.finish_cell();
    PageMap {
        time: Nanos(heap_snapshot.snapshot.time_ns),
        cell: Bytes(picture.cell_bytes),
        regions: picture.regions,
    }
}

/// A map being drawn from low to high addresses.
#[derive(Default)]
struct Picture {
    cell_bytes: u64,
    regions: Vec<PageRegion>,
    /// Number of the cell at work, and its used and resident bytes.
    cell: Option<(u64, u64, u64)>,
}

impl Picture {
    fn add(&mut self, address: u64, used: u64, bytes: u64) {
        let number = address / self.cell_bytes;
        if self.cell.is_none_or(|(at, ..)| at != number) {
            self.finish_cell();
            self.cell = Some((number, 0, 0));
        }
        if let Some((_, cell_used, cell_bytes)) = &mut self.cell {
            *cell_used += used;
            *cell_bytes += bytes;
        }
    }

    fn finish_cell(&mut self) {
        let Some((number, used, bytes)) = self.cell.take() else { return };
        let next = |r: &PageRegion| r.address / self.cell_bytes + r.cells.len() as u64;
        match self.regions.last().map(next) {
            Some(next) if number >= next && number - next <= GAP_CELLS => {}
            _ => self.regions.push(PageRegion { address: number * self.cell_bytes, cells: Vec::new() }),
        }
        if let Some(region) = self.regions.last_mut() {
            let at = (number - region.address / self.cell_bytes) as usize;
            region.cells.resize(at, PageRegion::NOT_RESIDENT);
            region.cells.push(share(used, bytes));
        }
    }
}

/// A share of [`PageRegion::FULL`].
fn share(used: u64, of: u64) -> u8 {
    let most = u64::from(PageRegion::FULL);
    (used.min(of).saturating_mul(most)).div_ceil(of.max(1)).min(most) as u8
}
