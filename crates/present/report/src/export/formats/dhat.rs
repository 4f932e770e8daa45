//! The file of valgrind's DHAT, version 2: JSON that dh_view.html and the Firefox Profiler read.
//!
//! The format is defined by what `dh_view.js` checks. It refuses a file in which a stack occurs twice, hence the frame
//! table has an entry per place and inlined function, never two places in one. Its time is a number of units: here
//! microseconds instead of instructions.
//!
//! DHAT counts a reallocation as a block, as `tbk` does here, and calls *max* the most that a program point had live. A block
//! that is resized moves to the program point of the reallocation, and its lifetime with it. Reads and writes of blocks are
//! not known (`bkacc` is false).

use crate::export::format::{Format, Options};
use crate::export::stacks::{self, Ends, Step};
use crate::export::text;
use heapwise_analysis::{Analysis, Frame, Numbers, Place, PlaceId};
use serde::Serialize;
use std::io::{self, Write};

/// The format.
#[derive(Debug)]
pub(crate) struct Dhat;

/// Blocks that live shorter than this are called short-lived: the step of the recorder's clock.
const SHORT_LIVED_US: u64 = 1000;

/// Fewer than in the other formats. The viewer draws all levels at once, each with a line for each of its callers and indented
/// below them: the text grows with the third power of the depth, and a recursion over 500 levels kept it busy for minutes.
/// valgrind itself keeps 12.
const ENDS: Ends = Ends { inner: 96, outer: 32 };

impl Format for Dhat {
    fn name(&self) -> &'static str {
        "dhat"
    }

    fn about(&self) -> &'static str {
        "file of valgrind's DHAT, version 2: dh_view.html, Firefox Profiler"
    }

    fn write(&self, analysis: &Analysis, _: &Options, out: &mut dyn Write) -> io::Result<()> {
        let command: Vec<_> = analysis.meta.command.iter().map(|part| text::harmless(part)).collect();
        let head = Head {
            version: 2,
            mode: "heap",
            verb: "Allocated",
            lifetimes: true,
            accesses: false,
            unit: "µs",
            million_units: "s",
            short_lived: SHORT_LIVED_US,
            command: command.join(" "),
            pid: analysis.processes.first().map_or(0, |p| p.pid),
            end: analysis.duration.0 / 1000,
            // Late events may belong to a moment after the last reading of the clock.
            peak: analysis.memory.live_peak_at.0 / 1000,
        };
        let head = serde_json::to_string(&head)?;
        let open = head.strip_suffix('}').unwrap_or(&head);
        write!(out, "{open}\n,\"pps\":\n [")?;
        let mut frames = FrameTable::new(analysis);
        let mut separator = "";
        stacks::for_each(analysis, ENDS, |steps, numbers| {
            let mut point = Point::from(numbers);
            steps.iter().for_each(|step| frames.put(step, &mut point.frames));
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, &point)?;
            separator = "\n ,";
            Ok(())
        })?;
        write!(out, "]\n,\"ftbl\":\n [\"[root]\"")?;
        frames.write(out)?;
        writeln!(out, "]}}")
    }
}

#[derive(Serialize)]
struct Head {
    #[serde(rename = "dhatFileVersion")]
    version: u32,
    mode: &'static str,
    verb: &'static str,
    #[serde(rename = "bklt")]
    lifetimes: bool,
    #[serde(rename = "bkacc")]
    accesses: bool,
    #[serde(rename = "tu")]
    unit: &'static str,
    #[serde(rename = "Mtu")]
    million_units: &'static str,
    #[serde(rename = "tuth")]
    short_lived: u64,
    #[serde(rename = "cmd")]
    command: String,
    pid: u32,
    #[serde(rename = "te")]
    end: u64,
    #[serde(rename = "tg")]
    peak: u64,
}

/// A program point: a call site.
#[derive(Serialize)]
struct Point {
    #[serde(rename = "tb")]
    total_bytes: u64,
    #[serde(rename = "tbk")]
    total_blocks: u64,
    #[serde(rename = "tl")]
    lifetimes: u64,
    #[serde(rename = "mb")]
    most_bytes: u64,
    #[serde(rename = "mbk")]
    most_blocks: u64,
    #[serde(rename = "gb")]
    peak_bytes: u64,
    #[serde(rename = "gbk")]
    peak_blocks: u64,
    #[serde(rename = "eb")]
    end_bytes: u64,
    #[serde(rename = "ebk")]
    end_blocks: u64,
    #[serde(rename = "fs")]
    frames: Vec<u32>,
}

impl From<&Numbers> for Point {
    fn from(n: &Numbers) -> Self {
        Self {
            total_bytes: n.allocated_bytes,
            total_blocks: n.allocations.wrapping_add(n.reallocations),
            lifetimes: n.lifetimes_us,
            most_bytes: n.most_live_bytes,
            most_blocks: n.most_live_blocks,
            peak_bytes: n.peak_bytes,
            peak_blocks: n.peak_blocks,
            end_bytes: n.live_at_exit_bytes,
            end_blocks: n.live_at_exit_blocks,
            frames: Vec::new(),
        }
    }
}

/// The table of frames, in the order in which they are first used.
struct FrameTable<'a> {
    analysis: &'a Analysis,
    /// First index and number of frames of a place; no frames if it was not used yet.
    of_place: Vec<(u32, u32)>,
    of_mark: [Option<u32>; 2],
    entries: Vec<Step<PlaceId>>,
    next: u32,
}

impl<'a> FrameTable<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let of_place = vec![(0, 0); analysis.n_places()];
        // Index 0 is `[root]`.
        Self { analysis, of_place, of_mark: [None; 2], entries: Vec::new(), next: 1 }
    }

    fn put(&mut self, step: &Step<PlaceId>, frames: &mut Vec<u32>) {
        let (first, n) = match step {
            Step::Frame(id) => {
                if self.of_place[id.0 as usize].1 == 0 {
                    let n = self.analysis.place(*id).frames.len() as u32;
                    self.of_place[id.0 as usize] = (self.new_entry(step, n), n);
                }
                self.of_place[id.0 as usize]
            }
            mark => {
                let at = usize::from(*mark == Step::Cut);
                let index = self.of_mark[at].unwrap_or_else(|| self.new_entry(step, 1));
                self.of_mark[at] = Some(index);
                (index, 1)
            }
        };
        frames.extend(first..first + n);
    }

    fn new_entry(&mut self, step: &Step<PlaceId>, n: u32) -> u32 {
        self.entries.push(*step);
        self.next += n;
        self.next - n
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = |text: &str| {
            out.write_all(b"\n ,")?;
            serde_json::to_writer(&mut *out, text).map_err(io::Error::from)
        };
        for step in &self.entries {
            match step {
                Step::Frame(id) => {
                    let place = self.analysis.place(*id);
                    place.frames.iter().try_for_each(|frame| line(&frame_text(&place, frame)))?;
                }
                mark => line(mark.mark().unwrap_or_default())?,
            }
        }
        Ok(())
    }
}

/// As valgrind writes it: `0x401136: main (main.c:7)`, `0x4e0: malloc (in /lib/libc.so.6)`.
fn frame_text(place: &Place<'_>, frame: &Frame<'_>) -> String {
    let function = match frame.function {
        Some(_) => text::function(frame),
        None => "???".into(),
    };
    let place_in_source = match (text::file(frame), frame.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        (None, _) => text::module(place).map_or_else(String::new, |path| format!(" (in {path})")),
    };
    format!("0x{:X}: {function}{place_in_source}", place.address)
}
