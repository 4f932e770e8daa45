//! A recording that is followed says section by section what an analysis says in the end.

use crate::small::{alloc, recording};
use heapwise_analysis::{
    Ahead, Analysis, Follow, Frame, MomentSums, Options, StackPlace, StackSums, analyze,
};
use heapwise_trace::event::{Epoch, Event};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::ThreadIndex;
use heapwise_trace::file::tables::Symbols;
use heapwise_trace::file::{HEADER_BYTES, Reader};

const FILES: [&[u8]; 3] = [
    include_bytes!("../../../../record/trace/tests/golden/v1.0.hw"),
    include_bytes!("../../../../record/trace/tests/golden/v2.0.hw"),
    include_bytes!("../../../../record/trace/tests/golden/v3.0.hw"),
];

fn follow(file: &[u8]) -> Follow<&[u8]> {
    Follow::new(Reader::new(file).expect("the header is sound"), &Options::default())
}

fn analysis(file: &[u8]) -> Analysis {
    analyze(Reader::new(file).expect("the header is sound"), &Options::default(), |_| {})
        .expect("memory can be read")
}

/// Function, file and line.
fn name(frame: Frame<'_>) -> String {
    format!("{:?} {:?} {:?}", frame.function, frame.file, frame.line)
}

/// The places, and the requests of each.
fn places_of(analysis: &Analysis) -> Vec<(String, u64)> {
    let sites = analysis.sites().iter();
    added(sites.map(|site| {
        let stack = analysis.stack(site);
        let place = site.user_frame.map_or_else(String::new, |at| name(stack[at]));
        (place, site.allocations + site.reallocations)
    }))
}

fn added(places: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    places.for_each(|(place, requests)| *sums.entry(place).or_default() += requests);
    sums.into_iter().collect()
}

#[test]
fn at_the_end_it_says_what_the_analysis_says() {
    for file in FILES {
        let whole = analysis(file);
        let mut follow = follow(file);
        let mut before = MomentSums::default();
        let mut was_live = 0;
        while follow.step().expect("memory can be read") {
            let now = follow.now();
            assert!(now.totals.allocations >= before.totals.allocations && now.time >= before.time);
            was_live = was_live.max(now.live.0);
            before = now;
            // Names of what is there so far do no harm to what comes later.
            if follow.unnamed(1).is_some() {
                follow.add_symbols(Symbols::default());
            }
        }
        let (now, totals) = (follow.now(), whole.totals);
        let of = |t: heapwise_analysis::Totals| {
            [t.allocations, t.reallocations, t.deallocations, t.allocated_bytes.0, t.failed_allocations]
        };
        assert_eq!(of(now.totals), of(totals));
        assert_eq!((now.peak_live, now.peak_rss), (totals.peak_live_bytes, whole.memory.peak_rss));
        assert!(was_live > 0 && was_live <= totals.peak_live_bytes.0);
        let sum = |of: fn(StackSums) -> u64| follow.stacks().map(of).sum::<u64>();
        assert_eq!(sum(|stack| stack.requests), totals.allocations + totals.reallocations);
        assert_eq!(sum(|stack| stack.requested_bytes), totals.allocated_bytes.0);
        assert_eq!(sum(|stack| stack.live_bytes), now.live.0);
        assert_eq!(follow.threads().count(), whole.threads.len());
        assert_eq!(follow.processes().count(), whole.processes.len());
        assert!(now.running == 0 && follow.end().is_some(), "an end is an end");

        // The recording's own names are taken in, and lead to the same places.
        while follow.unnamed(2).is_some() {}
        follow.find_places();
        let sums: Vec<_> = follow.stacks().collect();
        let places = sums.iter().enumerate().map(|(at, stack)| match follow.place(at) {
            StackPlace::Frame(frame) => (name(frame), stack.requests),
            StackPlace::Unknown => (String::new(), stack.requests),
            StackPlace::NotYet => panic!("all were asked for"),
        });
        assert_eq!(added(places), places_of(&whole));
    }
}

#[test]
fn a_new_watermark_alone_completes_what_is_held_back() {
    let mut w = recording();
    let mut encoder = EventsEncoder::default();
    let words = [heapwise_trace::live::words::encode(Event::Epoch(Epoch(5)))];
    let epoch = words.iter().flat_map(|words| words.words[..words.len].to_vec());
    encoder.add_block(ThreadIndex(0), Epoch(0), &epoch.chain(alloc(2, 0)).collect::<Vec<_>>());
    w.events(&encoder.finish(Epoch(5))).expect("memory takes everything");
    w.events(&encoder.finish(Epoch(6))).expect("memory takes everything");
    let file = w.into_inner();
    let mut follow = follow(&file);
    while follow.step().expect("memory can be read") {}
    let now = follow.now();
    assert_eq!((now.totals.allocations, now.live_blocks), (1, 1), "although the recording goes on");
}

#[test]
fn the_addresses_that_are_wanted_are_those_of_an_analysis_each_once() {
    for file in FILES {
        let mut follow = follow(file);
        while follow.step().expect("memory can be read") {}
        let mut wanted = Vec::new();
        assert_eq!(follow.place(0), StackPlace::NotYet);
        while let Some(images) = follow.unnamed(1) {
            wanted.extend(
                images.into_iter().flat_map(|i| i.addresses.into_iter().map(move |a| (i.path.clone(), a))),
            );
        }
        wanted.sort();
        let (reader, options) = (Reader::new(file).expect("the header is sound"), Options::default());
        let read = Ahead::new(reader, &options).finish(&options, |_| {});
        let all = read.expect("memory can be read").needed_addresses();
        let mut all: Vec<_> =
            all.into_iter().flat_map(|i| i.addresses.into_iter().map(move |a| (i.path.clone(), a))).collect();
        all.sort();
        assert_eq!(wanted, all);
    }
}

#[test]
fn pages_are_accounted_for_when_they_were_looked_at() {
    let mut follow = follow(FILES[1]);
    assert_eq!((follow.looked_at(), follow.breakdown()), (None, None));
    let mut newest = None;
    while follow.step().expect("memory can be read") {
        if follow.looked_at().map(|(time, _)| time) != newest {
            newest = follow.looked_at().map(|(time, _)| time);
            let parts = follow.breakdown().expect("there was a look");
            assert_eq!(Some(parts.time), newest);
            let rest = [parts.before, parts.unrecorded, parts.not_heap, parts.unaccounted];
            let sum = parts.heap().0 + rest.iter().map(|part| part.0).sum::<u64>();
            assert_eq!(sum, parts.rss.0, "{parts:?}");
        }
    }
    assert!(newest.is_some());
}

#[test]
fn a_file_that_is_cut_anywhere_is_followed_as_far_as_it_goes() {
    for file in FILES {
        for len in (HEADER_BYTES..file.len()).step_by(7) {
            let mut follow = follow(&file[..len]);
            while follow.step().expect("memory can be read") {}
            assert!(follow.tail().is_some());
            _ = follow.unnamed(usize::MAX);
            follow.find_places();
            _ = (follow.now(), follow.breakdown(), follow.stacks().count(), follow.memory(10));
        }
    }
}
