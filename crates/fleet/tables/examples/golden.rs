//! Writes the tables that later versions are tested with: `cargo run -p heapwise-tables --example golden -- FOLDER`.

#[path = "../tests/golden/predictions.rs"]
mod predictions;

use heapwise_analysis::{Options, analyze};
use heapwise_diagnosis::diagnose;
use heapwise_tables::{Labels, Recording};
use heapwise_trace::file::Reader;

fn main() {
    let folder = std::path::PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    let file: &[u8] = include_bytes!("../../../record/trace/tests/golden/v3.0.hw");
    let reader = || Reader::new(file).expect("a recording");
    let analysis = analyze(reader(), &Options::default(), |_| {}).expect("memory");
    let mut recording = Recording::new(&analysis);
    recording.follow(reader(), None, |_| {}).expect("memory");
    recording.predict(predictions::predictions());
    let labels = Labels::new(&analysis, Some("golden"), Some("1.0"));
    for table in recording.tables(&diagnose(&analysis), &labels).expect("memory") {
        let path = folder.join(format!("{}.parquet", table.table.name));
        std::fs::write(path, table.bytes).expect("the folder can be written to");
    }
}
