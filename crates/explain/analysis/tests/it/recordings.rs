//! Whole recordings: several processes, symbols that come later, files that were cut.

use heapwise_analysis::{
    Ahead, Analysis, ImageAddresses, Nanos, Numbers, Options, Unnamed, Warning, addresses, analyze,
};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{
    ClockReadings, ImageSymbols, Nodes, Sample, Samples, SymbolFrame, Symbols,
};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::{EXACT_PC, root_key};
use heapwise_trace::live::words;

fn alloc(address: u64, size: u64, stack: u32) -> Event {
    let (address, function, stack) = (BlockAddress(address), AllocFunction::Malloc, StackId(stack));
    Event::Alloc { address, size, align_log2: 0, allocator: AllocatorNumber::BY_NAME, function, stack }
}

fn free(address: u64) -> Event {
    Event::Free { address: BlockAddress(address), touched: None }
}

/// Two processes of one program at different addresses, one after the other. The first leaks 100 bytes, the second 50,
/// both at the same call site; the second one's library was replaced by another at the same address.
fn recording() -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let mut encoder = EventsEncoder::default();
    for i in 0..2u32 {
        let (process, base) = (ProcessIndex(i), 0x1000_0000 * (u64::from(i) + 1));
        let start_epoch = Epoch(u64::from(i) * 10);
        w.process(&ProcessInfo { index: process, pid: 10 + i, start_epoch, ..ProcessInfo::default() })
            .expect("memory");
        let module = |generation, start, path: &str| ModuleInfo {
            process,
            generation,
            start,
            end: start + 0x1000,
            bias: start - 0x400,
            path: path.into(),
            ..ModuleInfo::default()
        };
        w.module(&module(0, base, "/app")).expect("memory");
        w.module(&module(0, base + 0x10_0000, "/old.so")).expect("memory");
        w.module(&module(1, base + 0x10_0000, "/new.so")).expect("memory");
        let index = ThreadIndex(i);
        w.thread(&ThreadInfo { index, process, ..ThreadInfo::default() }).expect("memory");
        let (size, epoch) = (if i == 0 { 100 } else { 50 }, u64::from(i) * 10 + 1);
        let events = [
            Event::Epoch(Epoch(epoch)),
            alloc(8, size, 3),
            alloc(16, 7, 5),
            alloc(24, 7, 7),
            Event::Epoch(Epoch(epoch + 5)),
            free(16),
            free(24),
        ];
        let words: Vec<u64> =
            events.iter().map(|&e| words::encode(e)).flat_map(|x| x.words[..x.len].to_vec()).collect();
        encoder.add_block(index, Epoch(0), &words);
        w.events(&encoder.finish(Epoch(epoch + 9))).expect("memory");
        // Everything that belongs to events may follow them.
        let (main, lib) = (base + 0x11, base + 0x10_0020);
        let nodes = vec![
            (0, root_key(0, false)),
            (1, main),
            (2, base + 0x21),
            (0, root_key(1, false)),
            (4, lib),
            (0, root_key(0, false)),
            (6, lib | EXACT_PC),
        ];
        w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
        let readings = vec![
            (Epoch(epoch - 1), epoch * 1_000_000 - 1_000_000),
            (Epoch(epoch + 9), epoch * 1_000_000 + 9_000_000),
        ];
        w.clock(&ClockReadings(readings)).expect("memory");
        let rss = Sample { process, time_ns: epoch * 1_000_000, rss_bytes: 5000 + u64::from(i) };
        w.samples(&Samples(vec![rss])).expect("memory");
        let end = ProcessEnd {
            index: process,
            epoch: Epoch(epoch + 8),
            still_running: i == 1,
            ..ProcessEnd::default()
        };
        w.process_end(&end).expect("memory");
    }
    w.run_end(&RunEnd { exit_code: Some(3), ..RunEnd::default() }).expect("memory");
    w.into_inner()
}

fn unnamed(file: &[u8]) -> Unnamed {
    let (reader, options) = (Reader::new(file).expect("own recording"), Options::default());
    Ahead::new(reader, &options).finish(&options, |_| {}).expect("memory does not fail")
}

fn analysed(file: &[u8]) -> Analysis {
    unnamed(file).named([])
}

/// Two processes share 60 bytes: 30 are each one's part. One ends, the other has all of them then.
#[test]
fn a_process_that_was_not_sampled_again_holds_nothing() {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    for index in [0, 1].map(ProcessIndex) {
        w.process(&ProcessInfo { index, ..ProcessInfo::default() }).expect("memory");
    }
    let sample = |index, time_ns, rss_bytes| Sample { process: ProcessIndex(index), time_ns, rss_bytes };
    w.samples(&Samples(vec![sample(0, 1000, 30), sample(1, 1000, 30), sample(1, 2000, 60)])).expect("memory");
    w.process_end(&ProcessEnd { index: ProcessIndex(0), ..ProcessEnd::default() }).expect("memory");
    w.samples(&Samples(vec![sample(1, 3000, 61), sample(1, 3000, 59)])).expect("memory");
    assert_eq!(analysed(&w.into_inner()).memory.peak_rss.0, 60);
}

/// The first process has said what it is after the one that it has started.
#[test]
fn processes_are_in_the_order_in_which_they_began() {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    for (index, start) in [(1, 7), (0, 2), (2, 7)] {
        let (index, start_epoch) = (ProcessIndex(index), Epoch(start));
        w.process(&ProcessInfo { index, start_epoch, ..ProcessInfo::default() }).expect("memory");
    }
    w.clock(&ClockReadings((0..=10).map(|i| (Epoch(i), i * 1_000_000)).collect())).expect("memory");
    let processes = analysed(&w.into_inner()).processes;
    let order: Vec<_> = processes.iter().map(|process| (process.index.0, process.place)).collect();
    assert_eq!(order, [(0, 1), (1, 0), (2, 2)]);
}

#[test]
fn a_heap_is_gone_with_its_process() {
    let analysis = analysed(&recording());
    assert_eq!(
        analysis.totals.peak_live_bytes.0, 114,
        "the second process does not add to the first one's leak"
    );
    assert_eq!(analysis.totals.peak_live_blocks, 3);
    let totals = &analysis.totals;
    assert_eq!(
        (totals.live_at_exit_bytes.0, totals.live_at_exit_blocks),
        (100, 1),
        "no two were there together"
    );
    assert_eq!((totals.never_freed_bytes.0, totals.never_freed_blocks), (150, 2));
    let exits: Vec<u64> = analysis.processes.iter().map(|p| p.totals.live_at_exit_bytes.0).collect();
    assert_eq!(exits, [100, 50]);
    let peaks: Vec<u64> = analysis.processes.iter().map(|p| p.totals.peak_live_bytes.0).collect();
    assert_eq!(peaks, [114, 64]);
    assert_eq!(analysis.memory.peak_rss.0, 5001);
    assert_eq!(analysis.warnings, [Warning::StillRunning { pids: vec![11] }]);
}

#[test]
fn the_same_stack_in_two_processes_is_one_site() {
    let analysis = analysed(&recording());
    let leak = &analysis.sites()[0];
    assert_eq!((leak.allocations, leak.allocated_bytes.0, leak.process), (2, 150, None));
    assert_eq!((leak.live_at_exit_bytes.0, leak.peak_bytes.0), (150, 100));
    assert_eq!(analysis.sites().len(), 3);
    let life = analysis.sites()[1].lifetimes.quantile(0.5).expect("it was freed");
    assert!(life >= Nanos(4_900_000) && life <= Nanos(6_300_000), "five epochs of a millisecond, not {life}");
}

#[test]
fn addresses_are_those_of_the_calls_in_the_module_of_their_time() {
    let needed = unnamed(&recording()).needed_addresses();
    let found: Vec<_> = needed.iter().map(|n| (n.path.as_str(), n.addresses.clone())).collect();
    let expected = [
        ("/app", vec![0x410, 0x420]),
        // An interrupted instruction is looked up where it is, a return address one byte before.
        ("/old.so", vec![0x420]),
        ("/new.so", vec![0x41f]),
    ];
    assert_eq!(found, expected);
    let bytes = recording();
    let reader = Reader::new(&bytes[..]).expect("a recording");
    let without_events = addresses(reader, &Options::default(), |_| {}).expect("memory can be read");
    let list = |all: &[ImageAddresses]| -> Vec<_> {
        all.iter().map(|one| (one.path.clone(), one.build_id.clone(), one.addresses.clone())).collect()
    };
    assert_eq!(list(&without_events), list(&needed));
}

#[test]
fn symbols_may_come_later_and_join_sites_of_one_line() {
    let unnamed = unnamed(&recording());
    assert!(!unnamed.has_symbols());
    let frame = SymbolFrame { function: Some(0), file: Some(1), line: Some(9), inlined: false };
    let image = |path: &str, address| ImageSymbols {
        path: path.into(),
        build_id: String::new(),
        addresses: vec![(address, 0..1)],
    };
    let strings = vec!["app::make".to_owned(), "/src/app.rs".to_owned()];
    let (old, new) = (image("/old.so", 0x420), image("/new.so", 0x41f));
    let analysis = unnamed.named([Symbols { strings, frames: vec![frame], images: vec![old, new] }]);
    let named: Vec<_> =
        analysis.sites().iter().filter(|s| analysis.stack(s)[0].function == Some("app::make")).collect();
    assert_eq!(named.len(), 2, "the same line in different files is not the same");
    assert!(named.iter().all(|s| s.user_frame == Some(0)));
}

#[test]
fn a_file_that_was_cut_anywhere_is_reported_as_far_as_it_goes() {
    let file = recording();
    let whole = analysed(&file);
    for end in 16..file.len() {
        let analysis = analysed(&file[..end]);
        assert!(analysis.warnings.contains(&Warning::NoEnd), "cut to {end}");
        assert!(analysis.n_events <= whole.n_events);
    }
    let mut damaged = file.clone();
    let at = damaged.len() - 5;
    damaged[at] ^= 0xff;
    assert!(analysed(&damaged).warnings.iter().any(|w| matches!(w, Warning::Damaged { .. })));
}

#[test]
fn progress_is_reported_in_bytes() {
    let file = recording();
    let reader = Reader::new(file.as_slice()).expect("own recording");
    let mut last = 0;
    analyze(reader, &Options::default(), |bytes| {
        assert!(bytes > last);
        last = bytes;
    })
    .expect("memory does not fail");
    assert_eq!(last, file.len() as u64);
}

#[test]
fn processes_whose_end_was_not_seen_ran_to_the_end() {
    let mut analysis = analysed(&recording());
    assert_eq!((analysis.processes.len(), analysis.last_processes().len()), (2, 1));
    for process in &mut analysis.processes {
        (process.end, process.still_running) = (None, false);
    }
    assert_eq!(analysis.last_processes().len(), 2);
}

#[test]
fn sites_by_address_say_the_same_as_sites_by_name() {
    let analysis = analysed(&recording());
    let sites = analysis.exact_sites();
    let mut sum = Numbers::default();
    sites.iter().for_each(|site| sum += site.numbers);
    let mut named = Numbers::default();
    analysis.sites().iter().for_each(|site| named += Numbers::from(site));
    // Of the two processes one had ended last, with 50 bytes; which sites are of which is not known by name.
    (named.live_at_end_bytes, named.live_at_end_blocks) = (50, 1);
    assert_eq!(sum, named);
    let totals = &analysis.totals;
    assert_eq!((sum.allocations, sum.allocated_bytes), (totals.allocations, totals.allocated_bytes.0));
    assert_eq!((sum.peak_bytes, sum.peak_blocks), (totals.peak_live_bytes.0, totals.peak_live_blocks));
    // The leak of 100 and 50 bytes in two processes: the most that each had. The blocks lived up to the ends.
    let leak = &sites[0];
    assert_eq!((leak.numbers.most_live_bytes, leak.numbers.most_live_blocks), (150, 2));
    assert!(leak.numbers.lifetimes_us > 10_000, "{leak:?}");
    let places: Vec<_> = analysis.places(leak).map(|id| analysis.place(id)).collect();
    let found: Vec<_> = places.iter().map(|p| (p.module.map(|m| m.1.path.as_str()), p.address)).collect();
    assert_eq!(found, [(Some("/app"), 0x420), (Some("/app"), 0x410)]);
    assert!(places.iter().all(|p| p.frames.len() == 1), "{places:?}");
}
