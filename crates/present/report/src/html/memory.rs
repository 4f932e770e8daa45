//! Resident memory: what it consists of, how full its pages are, and its course over time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heapwise_analysis::{Analysis, Breakdown};
use serde::Serialize;

/// A screen has fewer columns than this, so more points would not be visible.
const MOST_POINTS: usize = 1200;

/// A moment at which pages were measured.
#[derive(Debug, Serialize)]
pub(super) struct Moment {
    label: String,
    time_ns: u64,
    pid: Option<u32>,
    rss: u64,
    live: u64,
    rounding: u64,
    holes: u64,
    retained: u64,
    metadata: u64,
    not_heap: u64,
    unaccounted: u64,
    huge_pages: u64,
    live_not_resident: u64,
}

/// The moments, the peak first.
pub(super) fn moments(analysis: &Analysis) -> Vec<Moment> {
    let accounting = &analysis.accounting;
    let peak = accounting.at_peak.iter().map(|b| ("At the peak".to_owned(), b));
    let end = accounting.at_end.iter().map(|b| ("At the end".to_owned(), b));
    let asked = accounting.snapshots.iter().enumerate().map(|(i, b)| (format!("Snapshot {}", i + 1), b));
    peak.chain(end).chain(asked).map(|(label, breakdown)| moment(analysis, label, breakdown)).collect()
}

fn moment(analysis: &Analysis, label: String, b: &Breakdown) -> Moment {
    Moment {
        label,
        time_ns: b.time.0,
        pid: analysis.processes.iter().find(|p| p.index == b.process).map(|p| p.pid),
        rss: b.rss.0,
        live: b.live.0,
        rounding: b.rounding.0,
        holes: b.holes.0,
        retained: b.retained.0,
        metadata: b.metadata.0,
        not_heap: b.not_heap.0,
        unaccounted: b.unaccounted.0,
        huge_pages: b.huge_pages.0,
        live_not_resident: b.live_not_resident.0,
    }
}

/// The map of pages. Cells are bytes, and base64 is shorter than numbers.
#[derive(Debug, Serialize)]
pub(super) struct Pages {
    cell: u64,
    regions: Vec<Region>,
}

#[derive(Debug, Serialize)]
struct Region {
    /// In hexadecimal digits: addresses do not fit the numbers of JavaScript.
    address: String,
    cells: String,
}

pub(super) fn pages(analysis: &Analysis) -> Option<Pages> {
    let map = analysis.accounting.page_map.as_ref()?;
    let region = |r: &heapwise_analysis::PageRegion| Region {
        address: format!("{:x}", r.address),
        cells: STANDARD.encode(&r.cells),
    };
    Some(Pages { cell: map.cell.0, regions: map.regions.iter().map(region).collect() })
}

/// Both curves on one axis.
#[derive(Debug, Serialize)]
pub(super) struct Curves {
    step_ns: u64,
    live: Vec<u64>,
    rss: Vec<Option<u64>>,
}

pub(super) fn curves(analysis: &Analysis) -> Curves {
    let samples = analysis.memory.samples(MOST_POINTS);
    Curves {
        step_ns: samples.get(1).map_or(0, |s| s.time.0),
        live: samples.iter().map(|s| s.live.0).collect(),
        // A running program has resident pages: zero stands for the time before the first sample.
        rss: samples.iter().map(|s| s.rss.map(|b| b.0).filter(|&rss| rss > 0)).collect(),
    }
}
