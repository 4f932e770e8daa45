//! Scripts of simulated programs, whose real calls are known.

mod interpreter;
mod program;

use super::compile::LARGE;
use super::record::Operation;
use super::streams::read_back;
use super::{Error, Script, compile};
use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{Meta, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::words;
use program::{Call, Program, Step, steps};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn compiled(file: &[u8]) -> (Script, Analysis) {
    let analysis = analyze(Reader::new(file).expect("own recording"), &Options::default(), |_| {});
    let analysis = analysis.expect("memory does not fail");
    let reader = Reader::new(file).expect("own recording");
    let script = compile(reader, &analysis, 0, |_| {}).expect("a temporary file");
    (script, analysis)
}

#[test]
fn a_sample_is_refused_with_what_to_do() {
    let meta = Meta { sample_bytes: 512 << 10, ..Meta::default() };
    let file = Writer::new(Vec::new(), &meta).expect("memory").into_inner();
    let reader = || Reader::new(file.as_slice()).expect("own recording");
    let analysis = analyze(reader(), &Options::default(), |_| {}).expect("memory does not fail");
    let error = compile(reader(), &analysis, 0, |_| {}).expect_err("it is a sample");
    assert!(matches!(error, Error::Sampled { sample_bytes: 524_288 }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("512 KiB")
            && message.contains("sample_every_bytes(1)")
            && message.lines().count() == 1,
        "{message}"
    );
}

/// Places of the script's threads among the simulated threads.
fn in_recording(program: &Program) -> Vec<usize> {
    (0..program.threads.len()).filter(|&t| program.threads[t].is_seen).collect()
}

/// Each record matches the simulated call, with slots and generations for the names of blocks.
fn check_records(program: &Program, script: &Script) -> Result<(), TestCaseError> {
    let threads = in_recording(program);
    let place = |thread: usize| threads.iter().position(|&t| t == thread);
    prop_assert_eq!(script.threads.len(), threads.len());
    // Each allocation and reallocation gives a name to a generation of a slot, once.
    let mut names: BTreeMap<(u32, u16), usize> = BTreeMap::new();
    let mut touched: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for side in ["names", "uses"] {
        for (own, &thread) in threads.iter().enumerate() {
            let mut records = read_back(&script.records, script.threads[own].first);
            let last = records.pop().expect("a stream ends");
            let is_gone = program.threads[thread].is_joined;
            if thread == 0 || is_gone {
                let ends = if is_gone { Operation::End } else { Operation::Stay };
                prop_assert_eq!(last.operation(), ends);
            }
            prop_assert_eq!(script.threads[own].is_joined, is_gone);
            records.retain(|r| r.operation() != Operation::Epoch);
            let calls = program.threads[thread].calls.iter().filter(|call| match call {
                Call::Join { thread } => place(*thread).is_some(),
                _ => true,
            });
            prop_assert_eq!(records.len(), calls.clone().count());
            for (record, call) in records.iter().zip(calls) {
                let here = (record.number(), record.generation());
                let next = (here.0, here.1.wrapping_add(1));
                let (operation, made) = match *call {
                    Call::Alloc { block, size } => (Operation::Malloc, Some((here, block, size))),
                    Call::Free { .. } => (Operation::Free, None),
                    Call::Reallocate { block, size, .. } => (Operation::Realloc, Some((next, block, size))),
                    Call::Spawn { .. } => (Operation::Spawn, None),
                    Call::Join { .. } => (Operation::Join, None),
                };
                prop_assert_eq!(record.operation(), operation);
                match (side, *call, made) {
                    ("names", _, Some((at, block, size))) => {
                        prop_assert_eq!(record.size() as u64, size);
                        prop_assert_eq!(names.insert(at, block), None, "a generation is there once");
                        touched.insert(block, (size, record.touched_bytes() as u64));
                    }
                    ("uses", Call::Free { block } | Call::Reallocate { before: block, .. }, _) => {
                        prop_assert_eq!(names.get(&here), Some(&block));
                    }
                    ("uses", Call::Spawn { thread }, _) => {
                        let made = script.created[record.number() as usize];
                        prop_assert_eq!(made.map(|t| t as usize), place(thread));
                    }
                    ("uses", Call::Join { thread }, _) => {
                        prop_assert_eq!(Some(record.number() as usize), place(thread));
                    }
                    _ => {}
                }
            }
        }
    }
    let (mut known, mut large) = (0, 0);
    for (block, (size, bytes)) in touched {
        large += u64::from(size >= LARGE);
        match program.touched.get(&block) {
            Some(&true_bytes) if size >= LARGE => {
                known += 1;
                prop_assert!(bytes.abs_diff(true_bytes) <= size / 30_000 + 1, "{} of {}", bytes, true_bytes);
            }
            _ => prop_assert_eq!(bytes, size, "what was not measured is touched as a whole"),
        }
    }
    prop_assert_eq!(
        (script.counts().large_blocks_with_known_touch, script.counts().large_blocks_with_unknown_touch),
        (known, large - known)
    );
    Ok(())
}

/// In any order, it comes to its end with the live blocks of the simulated program.
fn check_runs(program: &Program, script: &Script, seed: u64) -> Result<(), TestCaseError> {
    let mut live: Vec<u64> = program.live.iter().map(|block| block.size).collect();
    live.sort_unstable();
    let counts = script.counts();
    prop_assert_eq!(counts.live_blocks, live.len() as u64);
    prop_assert_eq!(counts.live_bytes.0, live.iter().sum::<u64>());
    prop_assert_eq!((counts.skipped, counts.refused), (0, 0));
    for seed in seed..seed + 4 {
        let run = interpreter::run(script, seed).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&run.live, &live);
        let at_snapshot = run.at_snapshot.unwrap_or(counts.live_bytes.0);
        prop_assert_eq!(run.at_snapshot.is_some(), script.peak != 0);
        let peak = counts.peak_live_bytes.0;
        prop_assert!(peak >= program.most, "{} at the peak, {} at most", peak, program.most);
        let possible = peak..=peak + program.in_transit;
        prop_assert!(
            possible.contains(&at_snapshot),
            "{} at the snapshot, {} at the peak",
            at_snapshot,
            peak
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_program_is_compiled_call_by_call_and_replayed_in_any_order(steps in steps(), seed: u64) {
        let mut program = Program::new(false).run(&steps);
        let (script, _) = compiled(&program.recording());
        check_records(&program, &script)?;
        check_runs(&program, &script, seed >> 1)?;
    }

    #[test]
    fn addresses_that_come_again_are_distinguished(steps in steps(), seed: u64) {
        let mut program = Program::new(true).run(&steps);
        let (script, analysis) = compiled(&program.recording());
        let totals = &analysis.totals;
        prop_assert_eq!((totals.unknown_frees, totals.implicit_frees), (0, 0));
        check_runs(&program, &script, seed >> 1)?;
    }
}

#[test]
fn a_producer_that_runs_ahead_waits_for_its_consumer() {
    let mut steps = vec![Step::Spawn { who: 0 }];
    for _ in 0..2000 {
        steps.push(Step::Alloc { who: 0, size: 100 });
        steps.push(Step::Free { who: 1, which: 0, touched: None });
        steps.extend([Step::Tick].repeat(usize::from(steps.len().is_multiple_of(50))));
    }
    let mut program = Program::new(false).run(&steps);
    let (script, _) = compiled(&program.recording());
    check_records(&program, &script).unwrap();
    check_runs(&program, &script, 1).unwrap();
    assert!(script.slots <= 1024, "{}: never more than a few were live", script.slots);
}

#[test]
fn a_thread_of_the_first_epoch_is_started_by_the_first_thread() {
    let mut steps = vec![Step::Alloc { who: 0, size: 10 }; 40];
    steps.extend([Step::Spawn { who: 0 }, Step::Spawn { who: 1 }]);
    let mut program = Program::new(false).run(&steps);
    let (script, _) = compiled(&program.recording());
    assert_eq!(script.created, [Some(1), None], "the second one never does anything");
    check_records(&program, &script).unwrap();
}

#[test]
fn a_handle_that_three_threads_have_one_after_another_is_distinguished() {
    let steps = [
        Step::Spawn { who: 0 },
        Step::Leave { which: 91 },
        Step::Spawn { who: 0 },
        Step::Spawn { who: 1 },
        Step::Join { who: 9, which: 130 },
        Step::Spawn { who: 0 },
        Step::Alloc { who: 0, size: 0 },
        Step::Leave { which: 103 },
        Step::TickDuring { who: 5, which: 0, size: 0 },
        Step::Join { who: 0, which: 24 },
        Step::Spawn { who: 0 },
        Step::Alloc { who: 7, size: 0 },
    ];
    let mut program = Program::new(false).run(&steps);
    let (script, _) = compiled(&program.recording());
    check_records(&program, &script).expect("as it was");
}

/// The script of a process with one thread that has these events.
fn script_of(events: &[Event], peak_rss_bytes: u64) -> Script {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
    writer.thread(&ThreadInfo { process, handle: 1, ..ThreadInfo::default() }).expect("memory");
    let encoded = events.iter().map(|&event| words::encode(event));
    let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(u64::MAX))).expect("memory");
    writer.run_end(&RunEnd { peak_rss_bytes, ..RunEnd::default() }).expect("memory");
    compiled(&writer.into_inner()).0
}

#[test]
fn every_kind_of_event_leaves_the_others_to_be_done_again() {
    let (address, function) = (BlockAddress(0x5555_0000), AllocFunction::Malloc);
    let alloc = Event::Alloc {
        address,
        size: 4242,
        align_log2: 0,
        allocator: AllocatorNumber::BY_NAME,
        function,
        stack: StackId(1),
    };
    let free = Event::Free { address, touched: None };
    for &number in Event::WORD_NUMBERS {
        let (event, _) = words::decode(&[number | 1 << 4, 1 << 40, 0, 0]).expect("it is a kind");
        let script = script_of(&[alloc, event, free], 0);
        let records = read_back(&script.records, script.threads[0].first);
        let block = records.iter().find(|r| r.operation() == Operation::Malloc && r.size() == 4242);
        let block = block.unwrap_or_else(|| panic!("the block is missing beside {event:?}"));
        let frees = records.iter().filter(|r| r.operation() == Operation::Free);
        let mut its_own = frees.filter(|r| r.number() == block.number());
        assert!(its_own.next().is_some(), "its free is missing beside {event:?}");
        assert!(matches!(records.last().map(|last| last.operation()), Some(Operation::Stay)));
    }
}

#[test]
fn of_a_block_larger_than_the_program_ever_was_only_so_much_is_touched() {
    let (address, function) = (BlockAddress(1 << 30), AllocFunction::Malloc);
    let event = Event::Alloc {
        address,
        size: 1 << 34,
        align_log2: 0,
        allocator: AllocatorNumber::BY_NAME,
        function,
        stack: StackId(1),
    };
    let touched = |peak_rss_bytes| {
        let script = script_of(&[event], peak_rss_bytes);
        assert_eq!(script.counts().large_blocks_with_unknown_touch, 1);
        let records = read_back(&script.records, script.threads[0].first);
        let block = records.iter().find(|r| r.operation() == Operation::Malloc).expect("it is asked for");
        (block.size() as u64, block.touched_bytes() as u64)
    };
    assert_eq!(touched(0), (1 << 34, 0), "nothing says that the program had any of it");
    let (size, bytes) = touched(100 << 20);
    assert_eq!(size, 1 << 34);
    assert!(((100 << 20)..(101 << 20)).contains(&bytes), "{bytes}");
}
