//! Tables of the user's places, by what they cost.

use super::TextOptions;
use super::page::{Ink, counted};
use super::page::{Page, right};
use super::rows::{Measure, Row, Rows, Sums, function_of, place_of};
use crate::names::fit;
use crate::units::{bytes, count, share};
use heapwise_analysis::Analysis;

/// One table.
struct Table {
    title: &'static str,
    /// What it is sorted by.
    measure: Measure,
    /// The other column.
    beside: Measure,
    /// Whether the measure is bytes; then the other column is a count.
    in_bytes: bool,
    heads: (&'static str, &'static str),
    /// What the whole is.
    whole: fn(&Analysis) -> u64,
    help: &'static str,
}

const TABLES: &[Table] = &[
    Table {
        title: "MOST ALLOCATIONS",
        measure: |s| s.allocations,
        beside: |s| s.bytes,
        in_bytes: false,
        heads: ("blocks", "bytes"),
        whole: |a| a.totals.allocations,
        help: "borrow, reuse or reserve to avoid them",
    },
    Table {
        title: "MOST BYTES ALLOCATED",
        measure: |s| s.bytes,
        beside: |s| s.allocations + s.reallocations,
        in_bytes: true,
        heads: ("bytes", "requests"),
        whole: |a| a.totals.allocated_bytes.0,
        help: "summed over the whole run, freed or not",
    },
    Table {
        title: "LIVE AT THE PEAK",
        measure: |s| s.peak_bytes,
        beside: |s| s.peak_blocks,
        in_bytes: true,
        heads: ("bytes", "blocks"),
        whole: |a| a.totals.peak_live_bytes.0,
        help: "what the highest memory use consists of",
    },
    Table {
        title: "TEMPORARY ALLOCATIONS",
        measure: |s| s.temporary,
        beside: |s| s.allocations,
        in_bytes: false,
        heads: ("blocks", "of these"),
        whole: |a| a.totals.temporary_allocations,
        help: "freed at once: often not needed at all",
    },
    Table {
        title: "LIVE AT EXIT",
        measure: |s| s.exit_bytes,
        beside: |s| s.exit_blocks,
        in_bytes: true,
        heads: ("bytes", "blocks"),
        whole: |a| a.totals.live_at_exit_bytes.0,
        help: "leaked, or kept on purpose",
    },
];

/// Columns in front of a row's name.
const NUMBERS: usize = 2 + 6 + 2 + WIDE + 2 + WIDE + 2;
/// Columns of a count or an amount.
const WIDE: usize = 11;

/// What to look at first, in words.
pub(crate) fn first_look(page: &mut Page, analysis: &Analysis, rows: &Rows) {
    let mut said = Vec::new();
    for table in TABLES {
        let whole = (table.whole)(analysis);
        let Some(row) = rows.top(table.measure, 1).first().copied() else { continue };
        let part = (table.measure)(&row.sums);
        // A tenth of something is worth a look; less is not where to begin.
        if whole == 0 || part.saturating_mul(10) < whole {
            continue;
        }
        let what = match table.title {
            "MOST ALLOCATIONS" => format!("makes {} of all allocations", share(part, whole)),
            "LIVE AT THE PEAK" => format!("holds {} of the live peak ({})", share(part, whole), bytes(part)),
            "TEMPORARY ALLOCATIONS" if whole * 10 >= analysis.totals.allocations => {
                format!("makes {} of the temporary allocations", share(part, whole))
            }
            "LIVE AT EXIT" if part >= 1 << 20 => format!("still holds {} at exit", bytes(part)),
            _ => continue,
        };
        said.push((row, what));
    }
    if said.is_empty() {
        return;
    }
    page.heading("LOOK FIRST AT", "");
    for (row, what) in said {
        let place = if row.place.is_empty() { String::new() } else { format!(" ({})", row.place) };
        page.paragraph(None, "  - ", &format!("{}{place} {what}", row.function));
    }
}

/// All tables that have rows.
pub(crate) fn sites(page: &mut Page, analysis: &Analysis, options: &TextOptions, rows: &Rows) {
    for table in TABLES {
        let whole = (table.whole)(analysis);
        let top = rows.top(table.measure, options.top);
        if top.is_empty() {
            continue;
        }
        let whole_text = if table.in_bytes { bytes(whole) } else { count(whole) };
        page.heading(table.title, &format!("{whole_text} in all; {}", table.help));
        let head = format!(
            "  {}  {}  {}  where",
            right("share", 6),
            right(table.heads.0, WIDE),
            right(table.heads.1, WIDE)
        );
        page.line(&[(Some(Ink::Faint), &head)]);
        for row in top {
            row_lines(page, table, row, whole);
            if options.stacks {
                stack(page, analysis, options, row, table.measure);
            }
        }
        let places = rows.list.iter().filter(|r| (table.measure)(&r.sums) > 0).count();
        if places > options.top {
            let more = counted((places - options.top) as u64, "more place", "more places");
            page.line(&[(None, &" ".repeat(NUMBERS)), (Some(Ink::Faint), &format!("and {more}"))]);
        }
    }
}

fn row_lines(page: &mut Page, table: &Table, row: &Row, whole: u64) {
    let (part, beside) = ((table.measure)(&row.sums), (table.beside)(&row.sums));
    let texts = if table.in_bytes {
        (bytes(part), count(beside))
    } else if table.heads.1 == "bytes" {
        (count(part), bytes(beside))
    } else {
        (count(part), format!("of {}", count(beside)))
    };
    let numbers = format!(
        "  {}  {}  {}  ",
        right(&share(part, whole), 6),
        right(&texts.0, WIDE),
        right(&texts.1, WIDE)
    );
    let room = page.columns - NUMBERS;
    let (via, ways) = row.via(table.measure);
    let mut note = if via.is_empty() { String::new() } else { format!("via {via}") };
    if ways > 1 {
        note.push_str(&format!(" and {} more", ways - 1));
    }
    // The place is what the reader opens: it keeps its columns, and the function's name gives way.
    let place = fit(&row.place, room.saturating_sub(12));
    if row.function.chars().count() + 2 + place.chars().count() <= room {
        let gap = if place.is_empty() { "" } else { "  " };
        page.line(&[(None, &numbers), (Some(Ink::Name), &row.function), (None, gap), (None, &place)]);
        if !note.is_empty() {
            page.line(&[(None, &" ".repeat(NUMBERS)), (Some(Ink::Faint), &fit(&note, room))]);
        }
        return;
    }
    page.line(&[(None, &numbers), (Some(Ink::Name), &fit(&row.function, room))]);
    let gap = if note.is_empty() || place.is_empty() { "" } else { "  " };
    let note = if place.chars().count() + gap.len() + note.chars().count() <= room {
        note
    } else {
        fit(&note, room.saturating_sub(place.chars().count() + gap.len()))
    };
    page.line(&[(None, &" ".repeat(NUMBERS)), (None, &place), (None, gap), (Some(Ink::Faint), &note)]);
}

/// The whole stack of the site that a row mostly consists of.
fn stack(page: &mut Page, analysis: &Analysis, options: &TextOptions, row: &Row, measure: fn(&Sums) -> u64) {
    let Some((id, others)) = row.main_site(measure) else { return };
    let Some(site) = analysis.sites().get(id.0 as usize) else { return };
    for (i, frame) in analysis.stack(site).iter().enumerate() {
        let mark = if site.user_frame == Some(i) { "    > " } else { "      " };
        let inlined = if frame.inlined { "  (inlined)" } else { "" };
        let place = place_of(frame, options);
        let room = page.columns - mark.len();
        let behind = 2 + place.chars().count() + inlined.len();
        let function = fit(&function_of(frame), room.saturating_sub(behind).max(20));
        page.line(&[
            (None, mark),
            (None, &function),
            (None, "  "),
            (Some(Ink::Faint), &place),
            (Some(Ink::Faint), inlined),
        ]);
    }
    if site.cut {
        page.line(&[(None, "      "), (Some(Ink::Faint), "(the stack is cut off here)")]);
    }
    if others > 0 {
        let others = counted(others as u64, "other stack", "other stacks");
        page.line(&[(None, "      "), (Some(Ink::Faint), &format!("and {others} through the same place"))]);
    }
}
