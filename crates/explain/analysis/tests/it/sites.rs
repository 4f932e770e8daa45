//! What is reported of a call site besides its counts: sizes, growth, how many blocks were live at once, which threads
//! freed them.

use heapwise_analysis::{Analysis, Bytes, EXIT_PARTS, Options, Site, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, Nodes};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;

const MAP: u32 = 2;
const FIRST: u32 = 3;
const PUSH: u32 = 4;

fn alloc(address: u64, size: u64, stack: u32) -> Event {
    let (address, function, stack) = (BlockAddress(address), AllocFunction::Malloc, StackId(stack));
    Event::Alloc { address, size, align_log2: 0, allocator: AllocatorNumber::BY_NAME, function, stack }
}

fn free(address: u64) -> Event {
    Event::Free { address: BlockAddress(address), touched: None }
}

fn resize(old: u64, new: u64, size: u64) -> Event {
    let (old, new, stack) = (BlockAddress(old), BlockAddress(new), StackId(PUSH));
    Event::Realloc { old, new, size, stack, touched: None, allocator: AllocatorNumber::BY_NAME }
}

/// The analysis of a process whose threads do these events, an epoch (a millisecond) apart, 100 of them.
fn analysis(threads: &[Vec<(u64, Event)>]) -> Analysis {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    w.process(&ProcessInfo { index: process, pid: 1, ..ProcessInfo::default() }).expect("memory");
    let nodes = (0..4).map(|i| if i == 0 { (0, root_key(0, false)) } else { (1, 0x1000 * i) }).collect();
    w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    let mut encoder = EventsEncoder::default();
    for (i, events) in threads.iter().enumerate() {
        let index = ThreadIndex(i as u32 + 10);
        w.thread(&ThreadInfo { index, process, handle: i as u64, ..ThreadInfo::default() }).expect("memory");
        let all = events.iter().flat_map(|&(epoch, event)| [Event::Epoch(Epoch(epoch)), event]);
        let words: Vec<u64> = all.map(words::encode).flat_map(|x| x.words[..x.len].to_vec()).collect();
        encoder.add_block(index, Epoch(0), &words);
    }
    w.clock(&ClockReadings((0..=100).map(|i| (Epoch(i), i * 1_000_000)).collect())).expect("memory");
    w.events(&encoder.finish(Epoch(100))).expect("memory");
    w.process_end(&ProcessEnd { index: process, epoch: Epoch(100), ..ProcessEnd::default() })
        .expect("memory");
    w.run_end(&RunEnd { exit_code: Some(0), ..RunEnd::default() }).expect("memory");
    let file = w.into_inner();
    let reader = Reader::new(file.as_slice()).expect("own recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
}

/// The site of a stack: its only frame has the address that the stack's node has.
fn site(analysis: &Analysis, stack: u32) -> &Site {
    let of =
        |s: &&Site| analysis.stack(s).first().map(|f| f.address) == Some(0x1000 * (u64::from(stack) - 1) - 1);
    analysis.sites().iter().find(of).expect("the site was seen")
}

#[test]
fn a_block_from_before_that_is_resized_is_the_allocators_whose_function_did_it() {
    let by = |allocator, old: u64, new: u64| {
        let (old, new, stack) = (BlockAddress(old), BlockAddress(new), StackId(PUSH));
        Event::Realloc { old, new, size: 64, stack, touched: None, allocator }
    };
    let of = |address: u64| Event::ReallocEnd {
        new: BlockAddress(address),
        size: 32,
        stack: StackId(FIRST),
        allocator: AllocatorNumber(7),
    };
    let events = [
        by(AllocatorNumber(5), 0x100, 0x200),
        // It stays where it is from, whatever is said of it now.
        by(AllocatorNumber(6), 0x200, 0x300),
        Event::ReallocBegin { old: BlockAddress(0x400), touched: None },
        of(0x500),
    ];
    let analysis = analysis(&[events.into_iter().map(|e| (1, e)).collect()]);
    let (first, push) = (site(&analysis, FIRST), site(&analysis, PUSH));
    assert_eq!([push.reallocations, first.reallocations], [2, 1]);
    let expected = [(AllocatorNumber(5), Bytes(64)), (AllocatorNumber(7), Bytes(32))];
    assert_eq!(analysis.processes[0].allocators, expected);
}

#[test]
fn a_vector_grows_by_resizes_and_its_last_site_tells_of_it() {
    let mut events = Vec::new();
    for round in 0..10 {
        events.extend([alloc(0x100, 32, FIRST), resize(0x100, 0x100, 64), resize(0x100, 0x200, 128)]);
        if round < 3 {
            events.push(resize(0x200, 0x300, 256));
        }
        events.push(free(if round < 3 { 0x300 } else { 0x200 }));
    }
    let analysis = analysis(&[events.into_iter().map(|e| (1, e)).collect()]);
    let (first, push) = (site(&analysis, FIRST), site(&analysis, PUSH));
    assert_eq!((first.growth.buffers, first.most_blocks, first.sizes.is_uniform()), (0, 1, true));
    assert_eq!((push.growth.buffers, push.growth.steps, push.most_reallocations), (10, 23, 3));
    let size = |share| push.growth.final_sizes.quantile(share);
    assert_eq!((size(0.5), size(0.99)), (Some(Bytes(128)), Some(Bytes(256))));
    // The growth in place copied nothing.
    assert_eq!(push.copied_bytes, Bytes(10 * 64 + 3 * 128));
    assert_eq!((push.shrinks, push.most_blocks), (0, 1));
}

#[test]
fn a_map_grows_by_larger_blocks_and_other_pairs_do_not() {
    let grow =
        [alloc(0x100, 84, MAP), alloc(0x200, 152, MAP), free(0x100), alloc(0x300, 288, MAP), free(0x200)];
    let other = [alloc(0x400, 84, FIRST), alloc(0x500, 152, FIRST), free(0x300), free(0x400), free(0x500)];
    let events = grow.into_iter().chain(other).map(|e| (1, e)).collect();
    let analysis = analysis(&[events]);
    let map = site(&analysis, MAP);
    assert_eq!((map.growth.buffers, map.growth.steps, map.copied_bytes), (1, 2, Bytes(84 + 152)));
    assert_eq!((map.growth.final_sizes.largest(), map.most_blocks), (Bytes(288), 2));
    // What a larger block takes the place of did not end there.
    assert_eq!(map.freed_after.short_lived(), 1, "the last one");
    assert_eq!(site(&analysis, FIRST).freed_after.short_lived(), 2);
    // Here something else was freed in between.
    assert_eq!(site(&analysis, FIRST).growth.buffers, 0);
}

#[test]
fn making_smaller_is_no_growth() {
    let events = [alloc(0x100, 4096, FIRST), resize(0x100, 0x100, 100), free(0x100)];
    let analysis = analysis(&[events.into_iter().map(|e| (1, e)).collect()]);
    let push = site(&analysis, PUSH);
    assert_eq!(
        (push.shrinks, push.reallocations, push.growth.buffers, push.most_reallocations),
        (1, 1, 0, 0)
    );
}

#[test]
fn which_thread_freed_blocks_is_reported_for_threads_and_sites() {
    let producer = (0..30).map(|i| (1, alloc(0x1000 + i * 64, 50, MAP))).collect();
    let consumer =
        |from: u64, n: u64, at| (from..from + n).map(move |i| (at, free(0x1000 + i * 64))).collect();
    let analysis = analysis(&[producer, consumer(0, 20, 5), consumer(20, 10, 6)]);
    let matrix = &analysis.thread_matrix;
    let found: Vec<_> = matrix.iter().map(|h| (h.from.0, h.to.0, h.blocks, h.bytes.0)).collect();
    assert_eq!(found, [(10, 11, 20, 1000), (10, 12, 10, 500)]);
    let map = site(&analysis, MAP);
    assert_eq!(map.handovers.iter().map(|h| (h.to.0, h.blocks)).collect::<Vec<_>>(), [(11, 20), (12, 10)]);
    assert_eq!((map.freed_on_other_thread, analysis.other_handovers), (30, 0));
}

#[test]
fn blocks_that_are_left_tell_when_they_were_handed_out() {
    let steady = (0..80).map(|i| (1 + i, alloc(0x1000 + i * 64, 50, MAP)));
    let at_once = (0..80).map(|i| (81, alloc(0x9000 + i * 64, 50, FIRST)));
    let analysis = analysis(&[steady.chain(at_once).collect()]);
    let map = site(&analysis, MAP);
    assert_eq!(map.exit_births.iter().sum::<u64>(), 80);
    assert!(map.exit_births[..6].iter().all(|n| *n > 8), "{:?}", map.exit_births);
    let first = site(&analysis, FIRST);
    assert_eq!(first.exit_births.iter().filter(|n| **n > 0).count(), 1, "{:?}", first.exit_births);
    assert_eq!(EXIT_PARTS, first.exit_births.len());
}
