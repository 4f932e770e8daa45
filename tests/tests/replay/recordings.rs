//! Recordings that are cut, lack measurements, or are none.

use super::command::{candidate, caveats, number, parsed, record, replay};
use heapwise_tests::run::private_folder;
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::ClockReadings;
use heapwise_trace::file::{Reader, Section, Writer};
use heapwise_trace::live::words;
use std::fs;
use std::path::Path;

#[test]
fn a_recording_that_was_cut_off_is_replayed_as_far_as_it_goes() {
    let folder = private_folder();
    let recorded = record("threads_producer_consumer", folder.path());
    let whole = fs::read(&recorded.file).expect("the recording");
    let cut = folder.path().join("cut.hw");
    // Anywhere, and at places at which calls were recorded already: how far the file has come by then is a matter of time.
    let calls_end = end_of_the_first_calls(&whole);
    let anywhere = [0, 3, 30, 50, 70, 90].map(|part| (whole.len() * part / 100, false));
    let sure = [calls_end, calls_end + 5, whole.len() - 1].map(|at| (at, true));
    for (at, is_sure) in anywhere.into_iter().chain(sure) {
        fs::write(&cut, &whole[..at]).expect("a copy");
        let outcome = replay(&cut, folder.path(), &["--with", "glibc", "--runs", "0"]);
        assert!([0, 4].contains(&outcome.code()), "{at}: {}", outcome.stderr);
        if outcome.code() == 4 {
            assert_eq!(outcome.stderr.trim().lines().count(), 1, "{at}: {}", outcome.stderr);
            assert!(!is_sure, "{at}: {}", outcome.stderr);
            continue;
        }
        let all = parsed(&outcome);
        assert_eq!(candidate(&all, "glibc")["outcome"], "complete", "{at}");
        assert!(!caveats(&all).is_empty(), "{at} bytes are not the whole recording");
    }
}

/// Where the first section with calls ends.
fn end_of_the_first_calls(whole: &[u8]) -> usize {
    let mut reader = Reader::new(whole).expect("a recording");
    while let Some(section) = reader.next_section().expect("whole sections") {
        if matches!(section, Section::Events(_)) {
            return reader.offset() as usize;
        }
    }
    panic!("nothing was recorded");
}

/// As a recorder writes it that does not look at what was touched.
fn recording_without_touching(file: &Path, peak_rss_bytes: u64) {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
    writer.thread(&ThreadInfo { process, handle: 1, ..ThreadInfo::default() }).expect("memory");
    let mut events = vec![Event::Epoch(Epoch(1))];
    for address in (1..=20u64).map(|n| BlockAddress(n << 24)) {
        let (function, stack) = (AllocFunction::Malloc, StackId(0));
        events.push(Event::Alloc {
            address,
            size: 1 << 20,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function,
            stack,
        });
        events.extend((address.0 < 11 << 24).then_some(Event::Free { address, touched: None }));
    }
    let encoded = events.iter().map(|&event| words::encode(event));
    let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(0), &words);
    writer.events(&encoder.finish(Epoch(2))).expect("memory");
    writer.clock(&ClockReadings(vec![(Epoch(2), 1_000_000)])).expect("memory");
    let end = ProcessEnd { index: process, epoch: Epoch(2), ..ProcessEnd::default() };
    writer.process_end(&end).expect("memory");
    writer.run_end(&RunEnd { peak_rss_bytes, ..RunEnd::default() }).expect("memory");
    fs::write(file, writer.into_inner()).expect("a file");
}

#[test]
fn large_blocks_that_were_not_measured_are_touched_as_a_whole_if_the_program_had_so_much_and_that_is_said() {
    let folder = private_folder();
    let file = folder.path().join("old.hw");
    for (peak, words) in [(100 << 20, "they are touched as a whole"), (0, "they are left untouched")] {
        recording_without_touching(&file, peak);
        let outcome = replay(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let all = parsed(&outcome);
        assert_eq!(number(&all["script"], "large_blocks_with_unknown_touch"), 20);
        let says = |caveat: &&str| caveat.contains("of 20 of 20 large blocks") && caveat.contains(words);
        assert!(caveats(&all).iter().any(says), "{:?}", caveats(&all));
        // Ten of a mebibyte each are live at the end.
        let at_end = number(candidate(&all, "glibc"), "rss_at_end_bytes");
        assert_eq!(at_end >= 10 << 20, peak > 0, "{at_end}");
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = private_folder();
    let foreign = folder.path().join("foreign.hw");
    fs::write(&foreign, "# A text\n").expect("a file");
    for file in [foreign, folder.path().join("missing.hw"), folder.path().to_owned()] {
        let outcome = replay(&file, folder.path(), &[]);
        assert_eq!(outcome.code(), 4, "{}: {}", file.display(), outcome.stderr);
        assert_eq!(outcome.stderr.trim().lines().count(), 1, "{}", outcome.stderr);
    }
}
