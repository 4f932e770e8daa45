//! Recordings that hold a sample of the blocks: what is reported of them is what the program did, within what chance allows.

use heapwise_analysis::{Analysis, Options, Warning, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::words;
use heapwise_trace::sampling::weight;

const DISTANCE: u64 = 64 << 10;

fn alloc(address: u64, size: u64) -> Event {
    let (address, function, stack) = (BlockAddress(address), AllocFunction::Malloc, StackId::UNKNOWN);
    Event::Alloc { address, size, align_log2: 0, allocator: AllocatorNumber::BY_NAME, function, stack }
}

fn free(address: u64) -> Event {
    Event::Free { address: BlockAddress(address), touched: None }
}

fn begin(old: u64) -> Event {
    Event::ReallocBegin { old: BlockAddress(old), touched: None }
}

fn end(new: u64, size: u64) -> Event {
    Event::ReallocEnd {
        new: BlockAddress(new),
        size,
        stack: StackId::UNKNOWN,
        allocator: AllocatorNumber::BY_NAME,
    }
}

/// Of events, each with its thread and in this order.
fn analysis(sample_bytes: u64, events: &[(u32, Event)]) -> Analysis {
    let meta = Meta { sample_bytes, ..Meta::default() };
    let mut w = Writer::new(Vec::new(), &meta).expect("memory");
    let process = ProcessIndex(0);
    w.process(&ProcessInfo { index: process, pid: 1, ..ProcessInfo::default() }).expect("memory");
    let mut encoder = EventsEncoder::default();
    for thread in 0..2 {
        let index = ThreadIndex(thread);
        w.thread(&ThreadInfo { index, process, ..ThreadInfo::default() }).expect("memory");
        let of_thread = events.iter().enumerate().filter(|(_, (by, _))| *by == thread);
        let all = of_thread.flat_map(|(epoch, &(_, event))| [Event::Epoch(Epoch(epoch as u64)), event]);
        let words: Vec<u64> = all.map(words::encode).flat_map(|x| x.words[..x.len].to_vec()).collect();
        encoder.add_block(index, Epoch(0), &words);
    }
    w.events(&encoder.finish(Epoch(events.len() as u64))).expect("memory");
    w.run_end(&RunEnd { exit_code: Some(0), ..RunEnd::default() }).expect("memory");
    let file = w.into_inner();
    analyze(Reader::new(file.as_slice()).expect("own recording"), &Options::default(), |_| {})
        .expect("memory does not fail")
}

#[test]
fn a_recorded_block_stands_for_as_many_as_its_size_says() {
    // 32 bytes: 2048 blocks. 64 KiB: one.
    let events = [alloc(0x1000, 32), alloc(0x2000, DISTANCE), free(0x1000), alloc(0x3000, 32)];
    let found = analysis(DISTANCE, &events.map(|event| (0, event)));
    let t = found.totals;
    assert_eq!((t.allocations, t.deallocations, t.allocated_bytes.0), (2 * 2048 + 1, 2048, 3 * DISTANCE));
    assert_eq!((t.peak_live_bytes.0, t.peak_live_blocks), (2 * DISTANCE, 2049));
    assert_eq!((t.live_at_exit_bytes.0, t.live_at_exit_blocks), (2 * DISTANCE, 2049));
    // One was freed before the next allocation of the sample, which says nothing about the program.
    assert_eq!(t.temporary_allocations, 0);
    let [site] = found.sites() else { panic!("one stack, one site") };
    assert_eq!((site.samples, site.allocations, site.most_blocks), (3, t.allocations, 2049));
    assert_eq!(found.size_classes().map(|c| c.requests).collect::<Vec<_>>(), [2 * 2048, 1]);
    let sampled = found.sampled.expect("it is a sample");
    assert_eq!((sampled.every.0, sampled.requests), (DISTANCE, 3));
    // Twice 2048 × 2047.
    assert_eq!(sampled.requests_error, 2896);
    assert!(found.warnings.iter().any(|w| matches!(w, Warning::Sampled { .. })), "{:?}", found.warnings);
}

#[test]
fn a_resize_ends_one_recorded_block_and_may_begin_another() {
    let events = [
        (0, alloc(0x1000, 32)),
        // Not recorded at its new size.
        (0, begin(0x1000)),
        // Recorded at its new size, and not before.
        (0, end(0x4000, 128)),
        (1, free(0x4000)),
    ];
    let found = analysis(DISTANCE, &events);
    let t = found.totals;
    assert_eq!((t.allocations, t.reallocations, t.deallocations), (2048, 512, 512));
    assert_eq!((t.live_at_exit_bytes.0, t.unknown_frees, t.implicit_frees), (0, 0, 0));
    assert_eq!((found.thread_matrix[0].blocks, found.thread_matrix[0].bytes.0), (512, DISTANCE));
    assert_eq!(found.sites()[0].growth.buffers, 0);
}

#[test]
fn a_distance_of_one_is_everything() {
    for sample_bytes in [0, 1] {
        let found = analysis(sample_bytes, &[(0, alloc(0x1000, 32)), (0, free(0x1000))]);
        assert_eq!((found.totals.allocations, found.totals.temporary_allocations), (1, 1));
        assert_eq!((found.sampled, found.sites()[0].samples), (None, 1));
        assert!(!found.warnings.iter().any(|w| matches!(w, Warning::Sampled { .. })));
    }
}

/// A generator of random numbers that is not the recorder's.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// A program that allocates blocks of many sizes, keeps some, resizes some and frees the others; what it did, and the
/// events of a sample of it.
#[test]
fn sums_of_a_sample_are_those_of_the_program() {
    for seed in 0..8 {
        let (mut program, mut sampler) = (Chance(seed), Chance(1000 + seed));
        let mut wins = |size: u64| sampler.next().is_multiple_of(weight(DISTANCE, size));
        let (mut events, mut live) = (Vec::new(), Vec::new());
        let (mut allocations, mut reallocations, mut frees, mut bytes) = (0, 0, 0, 0);
        let (mut live_bytes, mut peak) = (0u64, 0);
        for i in 0..400_000u64 {
            let size = match program.next() % 100 {
                0..60 => 16 + program.next() % 48,
                60..95 => 100 + program.next() % 900,
                _ => 4000 + program.next() % 100_000,
            };
            // Far enough apart for all reallocations of a block.
            let address = 0x1000 + i * 4096;
            let recorded = wins(size);
            allocations += 1;
            bytes += size;
            live_bytes += size;
            events.extend(recorded.then(|| (0, alloc(address, size))));
            live.push((address, size, recorded));
            peak = peak.max(live_bytes);
            let choice = program.next() % 10;
            if choice < 9 {
                let (address, size, recorded) = live.swap_remove(program.next() as usize % live.len());
                live_bytes -= size;
                if choice == 0 {
                    let (new, larger) = (address + 8, size * 2);
                    let again = wins(larger);
                    reallocations += 1;
                    bytes += larger;
                    live_bytes += larger;
                    events.extend(recorded.then(|| (0, begin(address))));
                    events.extend(again.then(|| (0, end(new, larger))));
                    live.push((new, larger, again));
                    peak = peak.max(live_bytes);
                } else {
                    frees += 1;
                    events.extend(recorded.then(|| (0, free(address))));
                }
            }
        }
        let found = analysis(DISTANCE, &events);
        let (t, sampled) = (found.totals, found.sampled.expect("it is a sample"));
        // Six standard errors. Of the peak it is no more than a bound, since the highest of many estimates is too high.
        let near = |what: &str, reported: u64, truth: u64, error: u64| {
            let off = reported.abs_diff(truth);
            assert!(off <= 6 * error, "{what} {reported} instead of {truth}, ± {error}");
            assert!(error < truth / 10, "{what}: {truth} ± {error} says nothing");
        };
        near(
            "requests",
            t.allocations + t.reallocations,
            allocations + reallocations,
            sampled.requests_error,
        );
        near("bytes", t.allocated_bytes.0, bytes, sampled.allocated_bytes_error.0);
        near("at the end", t.live_at_exit_bytes.0, live_bytes, sampled.live_at_exit_bytes_error.0);
        near("peak", t.peak_live_bytes.0, peak, sampled.peak_live_bytes_error.0);
        // The errors of these two are not reported; they are smaller than that of all requests.
        near("reallocations", t.reallocations, reallocations, sampled.requests_error.min(reallocations / 11));
        near("frees", t.deallocations, frees, sampled.requests_error);
        assert_eq!((t.unknown_frees, t.implicit_frees), (0, 0));
    }
}
