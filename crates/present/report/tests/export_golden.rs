//! Exports of a recording that an earlier version of heapwise made: two processes, three threads, names, reallocations.
//!
//! Exports are tested with real readers in `tests/tests/exports.rs`; the tests here need no other program.

use heapwise_analysis::{Analysis, Options as AnalysisOptions, analyze};
use heapwise_report::export::{FORMATS, Format, Measure, Options};
use heapwise_trace::file::Reader;
use serde_json::Value;
use std::io::{self, Read, Write};

const V1_0: &[u8] = include_bytes!("../../../record/trace/tests/golden/v1.0.hw");

fn analysis() -> Analysis {
    let reader = Reader::new(V1_0).expect("the header is sound");
    analyze(reader, &AnalysisOptions::default(), |_| {}).expect("memory can be read")
}

fn export(format: &str, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    let format = heapwise_report::export::format(format).expect("a format of this name");
    format.write(&analysis(), options, &mut out).expect("memory");
    out
}

#[test]
fn a_line_of_folded_stacks_is_a_site_from_the_outermost_function_inwards() {
    let options = Options { measure: Some(Measure::AllocatedBytes), ..Options::default() };
    let text = String::from_utf8(export("folded", &options)).expect("text");
    assert_eq!(text.lines().count(), analysis().sites().len());
    let sum: u64 = text.lines().filter_map(|l| l.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    assert_eq!(sum, analysis().totals.allocated_bytes.0);
    assert!(text.lines().any(|line| line == "clone3;start_thread;work;name 130"), "{text}");
    assert!(text.lines().any(|line| line.ends_with(";main;child;name 124")), "{text}");
}

#[test]
fn program_points_of_dhat_are_unique_and_add_up() {
    let file: Value = serde_json::from_slice(&export("dhat", &Options::default())).expect("JSON");
    let points = file["pps"].as_array().expect("program points");
    let sum = |field: &str| points.iter().map(|p| p[field].as_u64().expect("a number")).sum::<u64>();
    let totals = analysis().totals;
    assert_eq!(
        (sum("tbk"), sum("tb")),
        (totals.allocations + totals.reallocations, totals.allocated_bytes.0)
    );
    assert_eq!((sum("gb"), sum("eb")), (totals.peak_live_bytes.0, totals.never_freed_bytes.0));
    assert!(points.iter().all(|p| p["mb"].as_u64() >= p["gb"].as_u64()), "the most is less than the peak");
    let stacks: std::collections::BTreeSet<String> = points.iter().map(|p| p["fs"].to_string()).collect();
    assert_eq!(stacks.len(), points.len(), "a stack occurs twice");
    let table = file["ftbl"].as_array().expect("a table of frames");
    assert_eq!(table[0], "[root]");
    let frames = points.iter().flat_map(|p| p["fs"].as_array().expect("frames"));
    assert!(frames.map(|f| f.as_u64().expect("an index")).all(|f| f > 0 && (f as usize) < table.len()));
}

#[test]
fn threads_of_firefox_add_up() {
    let file: Value = serde_json::from_slice(&export("firefox", &Options::default())).expect("JSON");
    let totals = analysis().totals;
    let expected = [totals.peak_live_bytes.0, totals.allocated_bytes.0, totals.allocations];
    for (thread, total) in file["threads"].as_array().expect("threads").iter().zip(expected) {
        let weights = thread["samples"]["weight"].as_array().expect("weights").iter();
        assert_eq!(weights.map(|w| w.as_u64().expect("a number")).sum::<u64>(), total, "{}", thread["name"]);
    }
}

#[test]
fn a_profile_for_pprof_is_whole_and_the_same_every_time() {
    let file = export("pprof", &Options::default());
    assert_eq!(file, export("pprof", &Options::default()));
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(file.as_slice()).read_to_end(&mut message).expect("a whole gzip file");
    let holds = |text: &str| message.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(["alloc_objects", "inuse_space", "main", "libc.so.6"].into_iter().all(holds));
}

/// A writer that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            n => {
                self.0 -= n;
                Ok(n)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_fills_up() {
    let analysis = analysis();
    for format in FORMATS.iter().copied() {
        let write = |room| {
            let format: &dyn Format = format;
            format.write(&analysis, &Options::default(), &mut Full(room))
        };
        let whole = export(format.name(), &Options::default()).len();
        if format.missing(&analysis).is_some() {
            assert_eq!(whole, 0, "{format:?} writes nothing of what is not there");
            continue;
        }
        for room in [0, 1, whole / 2, whole - 1] {
            let error = write(room).expect_err("there is no room");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format:?} with {room} bytes");
        }
        write(whole).expect("there is just enough room");
    }
}
