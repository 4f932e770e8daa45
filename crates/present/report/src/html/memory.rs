//! Resident memory: what it consists of, how full its pages are, and its course over time.

use crate::json::memory::breakdown;
use crate::schema::report as schema;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heapwise_analysis::Analysis;
use serde::Serialize;

/// A screen has fewer columns than this, so more points would not be visible.
const MOST_POINTS: usize = 1200;

/// A moment at which pages were measured.
#[derive(Debug, Serialize)]
pub(super) struct Moment {
    label: String,
    #[serde(flatten)]
    parts: schema::Breakdown,
}

/// The moments, the peak first.
pub(super) fn moments(analysis: &Analysis) -> Vec<Moment> {
    let accounting = &analysis.accounting;
    let peak = accounting.at_peak.iter().map(|b| (analysis.moment(b).replacen("at", "At", 1), b));
    let end = accounting.at_end.iter().map(|b| ("At the end".to_owned(), b));
    let asked = accounting.snapshots.iter().enumerate().map(|(i, b)| (format!("Snapshot {}", i + 1), b));
    let moment = |(label, parts)| Moment { label, parts: breakdown(analysis, parts) };
    peak.chain(end).chain(asked).map(moment).collect()
}

/// The map of pages. Cells are bytes, and base64 is shorter than numbers.
#[derive(Debug, Serialize)]
pub(super) struct Pages {
    time_ns: u64,
    cell: u64,
    resident_bytes: u64,
    empty_bytes: u64,
    sparse_bytes: u64,
    /// The mean share of resident cells that is in use.
    used: f64,
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
    let occupancy = map.occupancy();
    Some(Pages {
        time_ns: map.time.0,
        cell: map.cell.0,
        resident_bytes: occupancy.resident.0,
        empty_bytes: occupancy.empty.0,
        sparse_bytes: occupancy.sparse.0,
        used: occupancy.used,
        regions: map.regions.iter().map(region).collect(),
    })
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
