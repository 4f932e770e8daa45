//! What each allocator has, where blocks of several were recorded.

use super::Subject;
use super::head::by_name;
use super::rows::file_name;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::units::{bytes, count};
use heapwise_analysis::{AllocatorNumber, Analysis, OfAllocator, Parts};

/// One row for each allocator, the one with the most live bytes first.
pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    if analysis.allocators.len() < 2 {
        return Vec::new();
    }
    let mut all: Vec<&OfAllocator> = analysis.allocators.iter().collect();
    all.sort_by_key(|of| std::cmp::Reverse((of.peak_live_bytes, of.at_peak.sum(), of.allocations)));
    let names: Vec<String> = all.iter().map(|of| name(analysis, of)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let is_seen = analysis.accounting.at_peak.is_some();
    let mut columns = vec![
        Column::new("allocator").least(longest.min(28)),
        Column::new("allocations").least(11),
        Column::new("live at the peak").short("peak live").least(10),
    ];
    if is_seen {
        columns.push(Column::new("resident").least(10));
        columns.push(Column::new("fragmentation").needs(96).least(13));
        columns.push(Column::new("free pages").least(10));
    }
    let mut table = Table::new(columns);
    for (of, name) in all.into_iter().zip(names) {
        let mut cells = vec![
            Cell::own(name),
            Cell::number(count(of.allocations)),
            Cell::number(bytes(of.peak_live_bytes.0)),
        ];
        if is_seen {
            cells.extend(of_pages(&of.at_peak).map(|part| Cell::number(bytes(part))));
        }
        table.row(cells);
    }
    let aside = if is_seen {
        "each one's part of all this; pages as at the peak"
    } else {
        "each one's part of all this"
    };
    vec![Section::new("Allocators", [Block::Table(table)]).aside(aside)]
}

fn of_pages(parts: &Parts) -> [u64; 3] {
    let fragmentation = parts.internal_fragmentation.0.saturating_add(parts.external_fragmentation.0);
    [parts.sum().0, fragmentation, parts.free_pages.0]
}

/// What an allocator is called: `jemalloc in libarrow.so`.
pub(crate) fn name(analysis: &Analysis, of: &OfAllocator) -> String {
    match &of.inside {
        Some(inside) if inside.allocator.is_empty() => format!("malloc of {}", file_name(&inside.file)),
        Some(inside) => format!("{} in {}", inside.allocator, file_name(&inside.file)),
        None if of.number == AllocatorNumber::BY_NAME => by_name(analysis),
        None if of.number == AllocatorNumber::OTHERS => "other allocators".to_owned(),
        None => format!("allocator {}", of.number.0),
    }
}
