//! Every kind of event that there is passes through an analysis, whether it makes something of it or not.

use heapwise_analysis::{Moment, Observer, Options, observe};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ProcessIndex, ProcessInfo, ThreadIndex, ThreadInfo};
use heapwise_trace::file::tables::Nodes;
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;

/// Keeps what it sees.
#[derive(Default)]
struct Seen(Vec<Event>);

impl Observer for Seen {
    fn events(&mut self, _: Moment, _: usize, events: &[Event]) {
        self.0.extend_from_slice(events);
    }
}

/// A process with one thread that has these events.
fn recording(events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
    writer.thread(&ThreadInfo { process, handle: 1, ..ThreadInfo::default() }).expect("memory");
    let nodes = vec![(0, root_key(0, false)), (1, 0x1000)];
    writer.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    let encoded = events.iter().map(|&event| words::encode(event));
    let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(u64::MAX))).expect("memory");
    writer.into_inner()
}

#[test]
fn every_kind_of_event_has_its_turn_and_leaves_the_others_alone() {
    let address = BlockAddress(0x5555_0000);
    let (function, stack) = (AllocFunction::Malloc, StackId(2));
    let alloc = Event::Alloc {
        address,
        size: 4242,
        align_log2: 0,
        allocator: AllocatorNumber::BY_NAME,
        function,
        stack,
    };
    let free = Event::Free { address, touched: None };
    for &number in Event::WORD_NUMBERS {
        let (event, _) = words::decode(&[number | 1 << 4, 1 << 40, 0, 0]).expect("it is a kind");
        let file = recording(&[alloc, event, free]);
        let mut seen = Seen::default();
        let reader = Reader::new(file.as_slice()).expect("own recording");
        let analysis = observe(reader, &Options::default(), &mut seen, |_| {}).expect("memory does not fail");
        let mut expected = vec![alloc, event, free];
        expected.retain(|event| !matches!(event, Event::Epoch(_)));
        assert_eq!(seen.0, expected);
        let mut sites = analysis.sites().iter().filter(|site| site.allocated_bytes.0 == 4242);
        let site = sites.next().unwrap_or_else(|| panic!("the block is missing beside {event:?}"));
        assert_eq!((site.allocations, site.deallocations), (1, 1), "beside {event:?}");
        assert!(analysis.warnings.iter().all(|w| !w.id().starts_with("damaged")), "{:?}", analysis.warnings);
    }
}
