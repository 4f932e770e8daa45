//! Small files that ask for much memory: found by fuzzing (`fuzz/`) and by thinking about what packs well.
//!
//! The memory that is measured is that of the process, so this file holds one test and no other.

use small::{alloc, recording};

#[path = "it/small/mod.rs"]
mod small;

use heapwise_analysis::{Options, Warning, analyze};
use heapwise_trace::event::Epoch;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{ProcessIndex, ThreadIndex, ThreadInfo};
use heapwise_trace::file::tables::{Nodes, Sample, Samples};
use heapwise_trace::file::{Reader, Writer};

/// The most memory of this process at one time since the last call.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("the line is there");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    // Five resets the high-water mark, see proc(5).
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may do so to itself");
    kib << 10
}

/// Analyses a file in no more than half a gibibyte.
#[track_caller]
fn analyse_in_little_memory(writer: Writer<Vec<u8>>) -> Vec<Warning> {
    let file = writer.into_inner();
    peak_memory();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    let took = peak_memory() >> 20;
    assert!(took < 512, "{took} MiB for a file of {} bytes", file.len());
    analysis.expect("memory can be read").warnings
}

/// A file that claims what it does not hold is read up to there.
#[track_caller]
fn check_claim(writer: Writer<Vec<u8>>) {
    let warnings = analyse_in_little_memory(writer);
    let is_claim = |warning: &&Warning| matches!(warning, Warning::Damaged { claim: Some(_), .. });
    let warning = warnings.iter().find(is_claim).expect("a warning says so");
    assert_eq!(warning.id(), "damaged");
    assert!(warning.to_string().starts_with("the recording is damaged from byte "), "{warning}");
}

#[test]
fn small_files_take_little_memory() {
    check_claim(empty_blocks());
    check_claim(far_nodes());
    analyse_in_little_memory(far_stacks());
    analyse_in_little_memory(many_processes());
}

/// Many empty blocks of one thread, which pack into nothing.
fn empty_blocks() -> Writer<Vec<u8>> {
    // Watermark 1, 300,000 blocks, each with thread 0, epoch 0, no events and eight empty columns.
    let mut payload = vec![1, 0xe0, 0xa7, 0x12];
    payload.resize(payload.len() + 300_000 * 11, 0);
    let mut writer = recording();
    writer.events(&payload).expect("memory takes everything");
    writer
}

/// The highest stack id that is believed, once in each of a few processes.
fn far_stacks() -> Writer<Vec<u8>> {
    let mut writer = recording();
    let mut encoder = EventsEncoder::default();
    for i in 0..8 {
        let info = ThreadInfo { index: ThreadIndex(i), process: ProcessIndex(i), ..ThreadInfo::default() };
        writer.thread(&info).expect("memory takes everything");
        encoder.add_block(ThreadIndex(i), Epoch(1), &alloc(1, (1 << 26) - 1));
    }
    writer.events(&encoder.finish(Epoch(9))).expect("memory takes everything");
    writer
}

/// The last node of every chunk of a trie, and nothing before it.
fn far_nodes() -> Writer<Vec<u8>> {
    let mut writer = recording();
    for chunk in 1..=1024 {
        let nodes = Nodes { process: ProcessIndex(0), first_id: (chunk << 16) - 1, nodes: vec![(0, 1)] };
        writer.nodes(&nodes).expect("memory takes everything");
    }
    writer
}

/// Processes of which nothing is known but a memory sample.
fn many_processes() -> Writer<Vec<u8>> {
    let samples = (0..200_000).map(|i| Sample { process: ProcessIndex(i), ..Sample::default() });
    let mut writer = recording();
    writer.samples(&Samples(samples.collect())).expect("memory takes everything");
    writer
}
