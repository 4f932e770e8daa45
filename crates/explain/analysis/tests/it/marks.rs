//! Marks and spans of whole recordings.

use heapwise_analysis::{Analysis, Bytes, MarkKind, Nanos, Options, Span, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, MarkId, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::file::tables::{ClockReadings, MarkNames, Sample, Samples};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::words;

fn alloc(address: u64, size: u64) -> Event {
    let (address, function, stack) = (BlockAddress(address), AllocFunction::Malloc, StackId(1));
    Event::Alloc { address, size, align_log2: 0, allocator: AllocatorNumber::BY_NAME, function, stack }
}

fn free(address: u64) -> Event {
    Event::Free { address: BlockAddress(address), touched: None }
}

fn mark(kind: MarkKind, name: u32, ticks: u64) -> Event {
    Event::Mark { kind, name: MarkId(name), ticks }
}

fn epoch(epoch: u64) -> Event {
    Event::Epoch(Epoch(epoch))
}

fn words_of(events: &[Event]) -> Vec<u64> {
    let encoded = events.iter().map(|&e| words::encode(e));
    encoded.flat_map(|w| w.words[..w.len].to_vec()).collect()
}

/// A process with two threads and its forked child with one; the names come behind the first events.
fn recording() -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let mut encoder = EventsEncoder::default();
    for i in 0..2u32 {
        let forked_from = (i == 1).then_some(ProcessIndex(0));
        w.process(&ProcessInfo {
            index: ProcessIndex(i),
            pid: 10 + i,
            forked_from,
            ..ProcessInfo::default()
        })
        .expect("memory");
    }
    for (i, process) in [(0, 0), (1, 0), (2, 1)] {
        let (index, process) = (ThreadIndex(i), ProcessIndex(process));
        w.thread(&ThreadInfo { index, process, handle: i.into(), ..ThreadInfo::default() }).expect("memory");
    }
    let (begin, end, point) = (MarkKind::Begin, MarkKind::End, MarkKind::Point);
    let main = [
        epoch(10),
        mark(begin, 1, 1000),
        alloc(8, 100),
        mark(point, 2, 1500),
        epoch(20),
        alloc(16, 50),
        free(8),
        mark(end, 1, 4000),
        alloc(24, 7),
    ];
    let second = [epoch(10), alloc(1000, 1), mark(begin, 1, 1000), epoch(30), alloc(2000, 1)];
    // The child ends what its parent began, and calls other things by the same ids.
    let child = [epoch(40), mark(end, 1, 9000), mark(begin, 2, 9000), alloc(8, 5), mark(end, 2, 9500)];
    for (i, events) in [&main[..], &second, &child].into_iter().enumerate() {
        encoder.add_block(ThreadIndex(i as u32), Epoch(0), &words_of(events));
    }
    w.events(&encoder.finish(Epoch(50))).expect("memory");
    for (process, names) in [(0, ["load", "half \u{1b}[31m"]), (1, ["child's", "load"])] {
        let names = names.map(str::to_owned).to_vec();
        w.mark_names(&MarkNames { process: ProcessIndex(process), first_id: 1, names }).expect("memory");
    }
    w.clock(&ClockReadings(vec![(Epoch(0), 0), (Epoch(50), 50_000_000)])).expect("memory");
    let sample = |time_ns, rss_bytes| Sample { process: ProcessIndex(0), time_ns, rss_bytes };
    w.samples(&Samples(vec![sample(5_000_000, 4096), sample(15_000_000, 8192)])).expect("memory");
    let end = RunEnd { ticks_per_second: 1000, duration_ns: 50_000_000, ..RunEnd::default() };
    w.run_end(&end).expect("memory");
    w.into_inner()
}

fn analysed(file: &[u8]) -> Analysis {
    let reader = Reader::new(file).expect("own recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
}

#[test]
fn marks_have_a_time_and_the_memory_of_that_moment() {
    let analysis = analysed(&recording());
    let marks = &analysis.marks;
    assert_eq!((marks.total, marks.not_listed()), (7, 0));
    let facts: Vec<_> = marks
        .moments()
        .iter()
        .map(|(kind, at, mark)| {
            let who = (mark.process.0, mark.thread.0, &*mark.name);
            (*kind, at.time.0 / 1_000_000, who, at.live.0, at.rss.map(|b| b.0))
        })
        .collect();
    let (begin, end, point) = (MarkKind::Begin, MarkKind::End, MarkKind::Point);
    let main = |kind, time, name, live, rss| (kind, time, (0, 0, name), live, Some(rss));
    assert_eq!(facts[0], main(begin, 10, "load", 0, 4096));
    assert_eq!(facts[1], main(point, 10, "half \u{1b}[31m", 100, 4096));
    assert_eq!(facts[2], (begin, 10, (0, 1, "load"), 101, Some(4096)));
    assert_eq!(facts[3], main(end, 20, "load", 51, 8192));
    assert_eq!(facts[4], (end, 40, (1, 2, "child's"), 59, Some(8192)));
    assert_eq!(facts[5], (begin, 40, (1, 2, "load"), 59, Some(8192)));
    assert_eq!(facts[6], (end, 40, (1, 2, "load"), 64, Some(8192)));
}

#[test]
fn spans_have_sums_over_all_processes_by_name() {
    let analysis = analysed(&recording());
    let [load, other] = analysis.marks.spans.as_slice() else { panic!("{:?}", analysis.marks.spans) };
    let expected = Span {
        name: "load".into(),
        count: 2,
        time: Nanos(3_500_000_000),
        shortest: Nanos(500_000_000),
        longest: Nanos(3_000_000_000),
        allocations: 3,
        reallocations: 0,
        deallocations: 1,
        allocated_bytes: Bytes(155),
        largest_growth_bytes: 50,
        unended: 1,
        unbegun: 0,
    };
    assert_eq!(load, &expected);
    assert_eq!((&*other.name, other.count, other.unbegun), ("child's", 0, 1));
}

#[test]
fn marks_change_no_other_number() {
    let with = analysed(&recording());
    let totals = with.totals;
    assert_eq!((totals.allocations, totals.deallocations, totals.allocated_bytes), (6, 1, Bytes(164)));
    assert_eq!(totals.live_at_exit_bytes, Bytes(64));
    assert!(with.warnings.iter().all(|warning| warning.id() != "damaged-events"), "{:?}", with.warnings);
}

#[test]
fn memory_does_not_grow_with_the_number_of_marks() {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let mut encoder = EventsEncoder::default();
    let mut at = 0;
    for section in 1..=100u64 {
        let events: Vec<Event> = (0..1000)
            .flat_map(|_| {
                at += 10;
                [mark(MarkKind::Begin, 1, at), mark(MarkKind::Point, 2, at), mark(MarkKind::End, 1, at + 3)]
            })
            .collect();
        let events = [vec![epoch(section)], events].concat();
        encoder.add_block(ThreadIndex(0), Epoch(0), &words_of(&events));
        w.events(&encoder.finish(Epoch(section + 1))).expect("memory");
    }
    let marks = analysed(&w.into_inner()).marks;
    assert_eq!((marks.total, marks.spans[0].count), (300_000, 100_000));
    assert!((2500..=5000).contains(&marks.list.len()), "{}", marks.list.len());
    assert_eq!(marks.listed() + marks.not_listed(), marks.total);
    assert_eq!(&*marks.spans[0].name, "(name 1 is lost)", "the names are not recorded");
}
