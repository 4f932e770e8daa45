//! The map of the heap's pages as a picture: a square for each page, address by address.
//!
//! It is the map of the HTML report for documents. All in it is ours: nothing that a program has named is drawn, so nothing has to be
//! escaped. Its colours are those of the page, and follow light and dark.

use crate::export::format::{Format, Options};
use crate::report::resident::why_unseen;
use crate::units::{bytes, count, share, time};
use heapwise_analysis::{Analysis, PageMap as Map, PageRegion};
use std::fmt::Write as _;
use std::io::{self, Write};

/// The format.
#[derive(Debug)]
pub(crate) struct PageMap;

impl Format for PageMap {
    fn name(&self) -> &'static str {
        "page-map"
    }

    fn about(&self) -> &'static str {
        "how full the pages of the heap are, as a picture (SVG)"
    }

    fn missing(&self, analysis: &Analysis) -> Option<&'static str> {
        match &analysis.accounting.page_map {
            None => Some(why_unseen(analysis)),
            Some(map) if map.regions.is_empty() => Some("at the look at its pages the heap had none"),
            Some(_) => None,
        }
    }

    fn write(&self, analysis: &Analysis, _: &Options, out: &mut dyn Write) -> io::Result<()> {
        analysis.accounting.page_map.as_ref().map_or(Ok(()), |map| out.write_all(picture(map).as_bytes()))
    }
}

/// Squares side by side.
const COLUMNS: usize = 160;
/// Of the edge of a square, with the gap behind it.
const SQUARE: usize = 5;
/// Of a line of text.
const LINE: usize = 20;
/// Regions that are drawn, the largest ones.
const MOST_REGIONS: usize = 24;

/// What a square stands for: its class, its words, and how much of it is in use at most.
const KINDS: [(&str, &str, u8); 5] = [
    ("a", "resident, empty", 0),
    ("b", "up to a quarter in use", PageRegion::FULL / 4),
    ("c", "half", PageRegion::FULL / 2),
    ("d", "three quarters", (PageRegion::FULL as u16 * 3 / 4) as u8),
    ("e", "more", PageRegion::FULL),
];
const ABSENT: (&str, &str) = ("n", "not resident");

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#5a6472}\
.a{fill:#c2436a}.b{fill:#e58749}.c{fill:#e3c05a}.d{fill:#83bfae}.e{fill:#14857c}.n{fill:#eceef1}\
@media(prefers-color-scheme:dark){text{fill:#9aa5b3}\
.a{fill:#d9658a}.b{fill:#d9803f}.c{fill:#b99a3c}.d{fill:#3f8a7c}.e{fill:#37bfae}.n{fill:#22262c}}";

fn kind(cell: u8) -> &'static str {
    KINDS.iter().find(|(.., most)| cell <= *most).map_or(ABSENT.0, |(class, ..)| class)
}

fn picture(map: &Map) -> String {
    let mut regions: Vec<&PageRegion> = map.regions.iter().collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.cells.len()));
    let hidden = regions.len().saturating_sub(MOST_REGIONS);
    regions.truncate(MOST_REGIONS);
    regions.sort_by_key(|region| region.address);

    let about = facts(map);
    let mut body = text(0, LINE - 6, &about);
    let mut y = LINE;
    y = keys(y, &mut body);
    for region in regions {
        let size = bytes((region.cells.len() as u64).saturating_mul(map.cell.0));
        y += LINE;
        body.push_str(&text(0, y - 6, &format!("0x{:x} · {size}", region.address)));
        squares(region, y, &mut body);
        y += region.cells.len().div_ceil(COLUMNS) * SQUARE;
    }
    if hidden > 0 {
        y += LINE;
        let words = if hidden == 1 { "smaller region" } else { "smaller regions" };
        body.push_str(&text(0, y - 6, &format!("and {} {words}", count(hidden as u64))));
    }
    let (width, height) = (COLUMNS * SQUARE, y + 4);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Page map: {about}\">\n\
         <style>{STYLE}</style>\n{body}</svg>\n"
    )
}

/// What the map amounts to, in a line.
fn facts(map: &Map) -> String {
    let sums = map.occupancy();
    let used = share((sums.used * 1e6) as u64, 1_000_000);
    let parts = [
        format!("{} of the heap resident at {}", bytes(sums.resident.0), time(map.time.0)),
        format!("{used} of it in use"),
        format!("{} in empty pages", bytes(sums.empty.0)),
        format!("a square is {}", bytes(map.cell.0)),
    ];
    parts.join(" · ")
}

/// What the colours mean, in a line that begins at `y`; returns where it ends.
fn keys(y: usize, out: &mut String) -> usize {
    let mut x = 0;
    let kinds = KINDS.iter().map(|&(class, words, _)| (class, words)).chain([ABSENT]);
    for (class, words) in kinds {
        // Writing to a string does not fail.
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x} {}h10v10h-10z\"/>", y + 5);
        out.push_str(&text(x + 15, y + LINE - 6, words));
        // About seven units for a letter, which is wide enough for the fonts that are usual.
        x += 15 + words.len() * 7 + 12;
    }
    y + LINE
}

/// The squares of a region from `top` on. Neighbours of one kind are one path, or a large heap would be megabytes of text.
fn squares(region: &PageRegion, top: usize, out: &mut String) {
    for class in KINDS.iter().map(|(class, ..)| *class).chain([ABSENT.0]) {
        let mut path = String::new();
        for (row, cells) in region.cells.chunks(COLUMNS).enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(|a, b| kind(*a) == kind(*b)) {
                if kind(run[0]) == class {
                    let (x, y, edge) = (column * SQUARE, top + row * SQUARE, SQUARE - 1);
                    let width = run.len() * SQUARE - 1;
                    let _ = write!(path, "M{x} {y}h{width}v{edge}h-{width}z");
                }
                column += run.len();
            }
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
}

fn text(x: usize, y: usize, words: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\">{words}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::{Bytes, Nanos};

    #[test]
    fn each_page_is_drawn_once_in_its_row_and_colour() {
        // A row of empty pages and two more, then full ones and one that is not resident.
        let mut cells = vec![0; COLUMNS + 2];
        cells.extend([254, 254, 255]);
        let regions = vec![PageRegion { address: 0x7f31_d400_0000, cells }];
        let drawn = picture(&Map { time: Nanos(1_500_000_000), cell: Bytes(4096), regions });
        let squares: Vec<&str> = drawn.lines().filter(|line| line.matches('M').count() > 0).skip(6).collect();
        assert_eq!(
            squares,
            [
                "<path class=\"a\" d=\"M0 60h799v4h-799zM0 65h9v4h-9z\"/>",
                "<path class=\"e\" d=\"M10 65h9v4h-9z\"/>",
                "<path class=\"n\" d=\"M20 65h4v4h-4z\"/>",
            ]
        );
        assert!(
            drawn.contains("656 KiB of the heap resident at 1.50 s · 1.2 % of it in use · 648 KiB in empty"),
            "{drawn}"
        );
        assert!(drawn.contains(">0x7f31d4000000 · 660 KiB<"), "{drawn}");
    }

    #[test]
    fn of_many_regions_the_largest_are_drawn() {
        let region = |n: usize| PageRegion { address: n as u64 * 0x10_0000, cells: vec![100; n] };
        let map = |n| Map { time: Nanos(0), cell: Bytes(4096), regions: (1..=n).map(region).collect() };
        assert!(!picture(&map(MOST_REGIONS)).contains("smaller region"));
        let drawn = picture(&map(MOST_REGIONS + 2));
        assert!(drawn.contains(">and 2 smaller regions<"), "{drawn}");
        assert!(!drawn.contains(">0x200000 ") && drawn.contains(">0x300000 "), "{drawn}");
    }
}
