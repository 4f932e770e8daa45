//! Fleets that are made up of real recordings: other hosts, days, releases and sizes.

use heapwise_analysis::{Bytes, Nanos, Options, analyze};
use heapwise_diagnosis::diagnose;
use heapwise_tables::{Labels, Prediction, Recording};
use heapwise_trace::file::Reader;
use std::path::Path;

/// 2026-11-16 at noon, in UTC.
const BEGIN_UNIX_S: u64 = 1_794_830_400;
const DAY_S: u64 = 86_400;
const HOSTS: u64 = 10;
const RELEASES: u64 = 3;
pub const DAYS: u64 = 3;
/// One of so many has predictions.
pub const REPLAYED: u64 = 4;

/// Adds recordings to a folder of tables, as `heapwise export` does. Number `n` is made of one of `recordings`; the same number is the same
/// recording. One host in ten has four times the resident memory, a release is newer every few days, and each service has its own program.
///
/// # Panics
/// If a recording cannot be read or a file cannot be written.
pub fn add(folder: &Path, recordings: &[Vec<u8>], numbers: std::ops::Range<u64>) {
    for n in numbers {
        let at = (n % recordings.len() as u64) as usize;
        let file = recordings[at].as_slice();
        let reader = || Reader::new(file).expect("a recording");
        let mut analysis = analyze(reader(), &Options::default(), |_| {}).expect("memory");
        let turn = n / recordings.len() as u64;
        let (host, day) = (turn % HOSTS, turn / HOSTS % DAYS);
        analysis.meta.host = format!("host-{host}");
        analysis.meta.started_unix_ns = (BEGIN_UNIX_S + day * DAY_S + n) * 1_000_000_000;
        let rss = analysis.memory.peak_rss.0.max(1 << 20);
        analysis.memory.peak_rss = Bytes(if host == 7 { 4 * rss } else { rss + host * 4096 });
        let mut recording = Recording::new(&analysis);
        recording.follow(reader(), None, |_| {}).expect("memory");
        if turn.is_multiple_of(REPLAYED) {
            recording.predict(predictions(n));
        }
        let release = (day * RELEASES / DAYS + 1).to_string();
        let labels = Labels::new(&analysis, Some(&format!("service-{at}")), Some(&release));
        let mut tables = recording.tables(&diagnose(&analysis), &labels).expect("memory");
        // The first one makes the recording count.
        tables.rotate_left(1);
        for table in tables {
            let path = folder.join(&table.name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
            // A file is there as a whole or not at all.
            let part = path.with_extension("part");
            std::fs::write(&part, table.bytes).expect("the folder can be written to");
            std::fs::rename(part, path).expect("it can be renamed");
        }
    }
}

/// Of the recorded allocator, of one that takes a quarter less, and of one that fails.
fn predictions(n: u64) -> Vec<Prediction> {
    let peak = Bytes((n % 7 + 4) << 20);
    let complete = |allocator: &str, peak| Prediction {
        allocator: allocator.to_owned(),
        outcome: "complete".to_owned(),
        peak_rss: Some(peak),
        heap_cpu: Some(Nanos(peak.0 / 3)),
        ..Prediction::default()
    };
    let mut own = complete("glibc", peak);
    own.is_recorded = true;
    let failed =
        Prediction { allocator: "snmalloc".to_owned(), outcome: "hung".to_owned(), ..Prediction::default() };
    vec![own, complete("jemalloc", Bytes(peak.0 / 4 * 3)), failed]
}
