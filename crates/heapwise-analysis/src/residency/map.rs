//! The heap as a picture: how full its pages are, by address.

use super::Look;
use super::breakdown::Allocator;
use super::pages;
use crate::accounting::{PageMap, PageRegion};
use crate::heap::EverHeap;
use crate::units::Bytes;

/// Cells of a map at most, which is what fits a screen.
const MOST_CELLS: u64 = 8192;
/// A gap of so many pages between resident ones begins another region.
const GAP_PAGES: u64 = 64;
/// A cell none of whose pages is resident.
const NOT_RESIDENT: u8 = u8::MAX;

/// Draws it. Pages that never held a block are no part of it.
pub(crate) fn map(look: &Look, allocator: &Allocator<'_>, ever: &EverHeap) -> PageMap {
    let page_bytes = look.snapshot.page_bytes.max(1);
    let mut used: Vec<(u64, u64)> = Vec::new();
    pages::each(look, allocator, |page| {
        if !page.blocks.is_empty() || ever.any(page.range.start, page.range.end) {
            used.push((page.range.start / page_bytes, page.bytes().saturating_sub(page.free())));
        }
    });
    // Where regions begin, and how many pages they span altogether.
    let starts = |i: usize| i == 0 || used[i].0 - used[i - 1].0 > GAP_PAGES;
    let spans = (0..used.len()).map(|i| if starts(i) { 1 } else { used[i].0 - used[i - 1].0 });
    let mut cell_pages = 1;
    let pages: u64 = spans.sum();
    while pages / cell_pages > MOST_CELLS {
        cell_pages *= 2;
    }
    let mut regions: Vec<PageRegion> = Vec::new();
    let mut cells: Vec<(u64, u64)> = Vec::new();
    let close = |regions: &mut Vec<PageRegion>, cells: &mut Vec<(u64, u64)>| {
        if let Some(region) = regions.last_mut() {
            region.cells = cells.drain(..).map(|(used, pages)| share(used, pages * page_bytes)).collect();
        }
    };
    for (i, &(page, bytes)) in used.iter().enumerate() {
        if starts(i) {
            close(&mut regions, &mut cells);
            regions.push(PageRegion { address: page * page_bytes, cells: Vec::new() });
        }
        let first = regions.last().map_or(0, |r| r.address / page_bytes);
        let cell = ((page - first) / cell_pages) as usize;
        cells.resize(cells.len().max(cell + 1), (0, 0));
        cells[cell].0 += bytes;
        cells[cell].1 += 1;
    }
    close(&mut regions, &mut cells);
    PageMap { cell: Bytes(cell_pages * page_bytes), regions }
}

/// A share from 0 to 254.
fn share(used: u64, of: u64) -> u8 {
    match of {
        0 => NOT_RESIDENT,
        of => (used.min(of) * u64::from(NOT_RESIDENT - 1)).div_ceil(of) as u8,
    }
}
