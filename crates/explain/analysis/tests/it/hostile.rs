//! Small files that ask for much time: found by fuzzing (`fuzz/`) and by thinking about what packs well.

use crate::small::{alloc, recording};
use heapwise_analysis::{Options, Warning, addresses, analyze};
use heapwise_trace::event::Epoch;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    EnvironmentFinding, Meta, ProcessEnd, ProcessIndex, ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::Nodes;
use heapwise_trace::file::{Reader, Writer};
use std::time::{Duration, Instant};

#[test]
fn findings_about_the_environment_are_bounded() {
    let finding = |i: u32| EnvironmentFinding { title: i.to_string(), ..Default::default() };
    let meta = Meta { environment_findings: (0..100_000).map(finding).collect(), ..Default::default() };
    let file = Writer::new(Vec::new(), &meta).expect("memory takes everything").into_inner();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    let kept = analysis.expect("it is sound").environment;
    assert!(kept.len() <= 256 && kept[0].title == "0", "{}", kept.len());
}

#[test]
fn stacks_that_go_in_a_circle_take_little_time() {
    const NODES: u32 = 20_000;
    // Each node is called by the one before it, and the first by the last.
    let nodes = (0..NODES).map(|i| (if i == 0 { NODES } else { i }, 0x1000 + u64::from(i) * 16));
    let mut writer = recording();
    let nodes = Nodes { process: ProcessIndex(0), first_id: 1, nodes: nodes.collect() };
    writer.nodes(&nodes).expect("memory takes everything");
    let mut encoder = EventsEncoder::default();
    let words: Vec<u64> = (1..=NODES).flat_map(|i| alloc(u64::from(i), i)).collect();
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(9))).expect("memory takes everything");
    let file = writer.into_inner();

    let start = Instant::now();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert_eq!(analysis.expect("memory can be read").totals.allocations, u64::from(NODES));
    // It is milliseconds if every node is looked at a few times: enough room for a slow and busy machine.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn many_short_circles_take_little_time() {
    const NODES: u32 = 100_000;
    let mut writer = recording();
    // Each node is called by itself.
    let nodes = (1..=NODES).map(|i| (i, 0x1000 + u64::from(i) * 16)).collect();
    writer.nodes(&Nodes { process: ProcessIndex(0), first_id: 1, nodes }).expect("memory takes everything");
    let file = writer.into_inner();

    let start = Instant::now();
    let found = addresses(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert!(found.expect("memory can be read").is_empty());
    // With 65,536 steps for each circle it is minutes.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn threads_that_wait_take_little_time() {
    let mut writer = recording();
    let mut encoder = EventsEncoder::default();
    for thread in 0..4000 {
        encoder.add_block(ThreadIndex(thread), Epoch(1), &alloc(u64::from(thread), 1));
        // A watermark of 0: no event may be ordered yet.
        writer.events(&encoder.finish(Epoch(0))).expect("memory takes everything");
    }
    let file = writer.into_inner();

    let start = Instant::now();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert_eq!(analysis.expect("memory can be read").totals.allocations, 4000);
    // It is a fraction of a second if those that wait are not looked at: enough room for a slow and busy machine.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn events_that_wait_take_little_time() {
    let mut writer = recording();
    let mut encoder = EventsEncoder::default();
    let words: Vec<u64> = (0..2000u64).flat_map(|i| alloc(i, 1)).collect();
    for _ in 0..1500 {
        encoder.add_block(ThreadIndex(0), Epoch(1), &words);
        // A watermark of 0, as above: all that came before waits beside it.
        writer.events(&encoder.finish(Epoch(0))).expect("memory takes everything");
    }
    let file = writer.into_inner();

    let start = Instant::now();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert_eq!(analysis.expect("memory can be read").totals.allocations, 3_000_000);
    // It is a minute if all that waits is copied at each section.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn counts_that_no_run_has_are_no_panic() {
    let most = u64::MAX;
    let mut writer = recording();
    for i in 0..2 {
        let thread = ThreadEnd { index: ThreadIndex(i), lost_events: most, ..ThreadEnd::default() };
        let info = ThreadInfo { index: ThreadIndex(i), ..ThreadInfo::default() };
        let process = ProcessEnd {
            index: ProcessIndex(i),
            lost_events: most,
            verified: most,
            verify_failed: most,
            ..ProcessEnd::default()
        };
        writer.thread(&info).expect("memory takes everything");
        writer.thread_end(&thread).expect("memory takes everything");
        writer.process_end(&process).expect("memory takes everything");
    }
    let file = writer.into_inner();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert!(analysis.expect("memory can be read").totals.lost_events > 0);
}

#[test]
fn the_highest_node_id_is_no_panic() {
    let mut writer = recording();
    for first_id in [u32::MAX - 1, u32::MAX] {
        let nodes = Nodes { process: ProcessIndex(0), first_id, nodes: vec![(0, 1), (0, 1)] };
        writer.nodes(&nodes).expect("memory takes everything");
    }
    let file = writer.into_inner();
    let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), &Options::default(), |_| {});
    assert_eq!(analysis.expect("memory can be read").sites().len(), 0);
}

#[test]
fn a_machine_without_memory_says_what_it_needs() {
    let mut options = Options::default();
    options.memory = Some(1 << 20);
    let mut writer = recording();
    let mut encoder = EventsEncoder::default();
    let words: Vec<u64> = (1..200_000u64).flat_map(|i| alloc(i * 2, 1)).collect();
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(9))).expect("memory takes everything");
    // The events are looked at when the next section of them comes.
    encoder.add_block(ThreadIndex(0), Epoch(9), &alloc(1, 1));
    writer.events(&encoder.finish(Epoch(10))).expect("memory takes everything");
    let file = writer.into_inner();
    let analysed = |options| {
        let analysis = analyze(Reader::new(file.as_slice()).expect("sound"), options, |_| {});
        analysis.expect("memory can be read")
    };
    let warnings = analysed(&options).warnings;
    assert!(warnings[0].to_string().contains("more memory than the 1 MiB"), "{warnings:?}");
    let whole = analysed(&Options::default());
    assert_eq!(whole.totals.allocations, 200_000);
    assert!(!whole.warnings.iter().any(|w| matches!(w, Warning::Damaged { .. })), "{:?}", whole.warnings);
}
