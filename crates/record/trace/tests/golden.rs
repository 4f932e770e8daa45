//! Recordings that earlier versions of heapwise made: read by this version and by all later ones of the same major
//! version. A format version gets one file, which is never made anew; `golden/*.c` is the program that was recorded.

use heapwise_trace::event::{AllocFunction, Event, MarkKind};
use heapwise_trace::file::reader::Tail;
use heapwise_trace::file::records::{Interception, ProcessIndex, ThreadIndex};
use heapwise_trace::file::{ErrorKind, HEADER_BYTES, Reader, Section};
use heapwise_trace::live::layout::MARK_NAME_BYTES;
use std::collections::BTreeMap;

/// Format 1.0: two processes, of which one is a fork, and three threads.
const V1_0: &[u8] = include_bytes!("golden/v1.0.hw");

/// Format 2.0: the same program, with snapshots of its pages, sizes of blocks and measured calls.
const V2_0: &[u8] = include_bytes!("golden/v2.0.hw");

/// Format 3.0: a program that says what it is doing, with a second thread and a fork.
const V3_0: &[u8] = include_bytes!("golden/v3.0.hw");

/// All sections of an undamaged file, each with the offset behind it.
fn sections(file: &[u8]) -> Vec<(usize, Section)> {
    let mut reader = Reader::new(file).expect("the file begins with the header of a recording");
    let mut sections = Vec::new();
    while let Some(section) = reader.next_section().expect("every section is sound") {
        sections.push((reader.offset() as usize, section));
    }
    assert_eq!(reader.tail(), Some(Tail::Clean));
    assert_eq!(reader.offset(), file.len() as u64);
    sections
}

/// What is left of a damaged file: its sections as text, and the reason of the end. `None` if it is refused.
fn remains(file: &[u8]) -> Option<(Vec<String>, Tail)> {
    let mut reader = Reader::new(file).ok()?;
    let mut texts = Vec::new();
    while let Some(section) = reader.next_section().expect("a right checksum means a sound section here") {
        texts.push(text(&section));
    }
    Some((texts, reader.tail()?))
}

/// A section as text with all its events.
fn text(section: &Section) -> String {
    match section {
        Section::Events(events) => {
            let blocks = events.blocks().map(|block| {
                let mut decoded = block.events();
                let text = format!("{:?} {:?}", block.thread(), decoded.by_ref().collect::<Vec<_>>());
                assert!(!decoded.damaged());
                text
            });
            format!("{:?} {:?}", events.watermark, blocks.collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

fn kind(section: &Section) -> &'static str {
    match section {
        Section::Meta(_) => "meta",
        Section::Process(_) => "process",
        Section::Thread(_) => "thread",
        Section::Module(_) => "module",
        Section::Events(_) => "events",
        Section::Nodes(_) => "nodes",
        Section::Clock(_) => "clock",
        Section::Samples(_) => "samples",
        Section::ProcessEnd(_) => "process end",
        Section::ThreadEnd(_) => "thread end",
        Section::Symbols(_) => "symbols",
        Section::RunEnd(_) => "run end",
        Section::Snapshot(_) => "snapshot",
        Section::UsableSizes(_) => "usable sizes",
        Section::MarkNames(_) => "names of marks",
        Section::Carried(_) => "carried blocks",
        _ => "unknown",
    }
}

#[test]
fn the_recordings_of_all_versions_are_read_to_their_ends() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "hw")).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let all = sections(&std::fs::read(&file).expect("it can be read"));
        let events = all.iter().filter(|(_, section)| matches!(section, Section::Events(_)));
        // That each of them can be followed is looked at on the way.
        let texts: Vec<String> = events.map(|(_, section)| text(section)).collect();
        assert!(!texts.is_empty(), "{} has no events", file.display());
    }
}

#[test]
fn every_kind_of_section_is_read() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, section) in sections(V1_0) {
        *kinds.entry(kind(&section)).or_default() += 1;
    }
    let expected = [
        ("clock", 3),
        ("events", 2),
        ("meta", 1),
        ("module", 8),
        ("nodes", 3),
        ("process", 2),
        ("process end", 2),
        ("run end", 1),
        ("samples", 2),
        ("symbols", 1),
        ("thread", 3),
        ("thread end", 3),
    ];
    assert_eq!(kinds, BTreeMap::from(expected));
}

#[test]
fn the_records_say_what_ran() {
    let mut modules = Vec::new();
    for (_, section) in sections(V1_0) {
        match section {
            Section::Meta(meta) => {
                assert_eq!(meta.heapwise, "0.1.0");
                assert_eq!(meta.command, ["./victim"]);
                assert_eq!((meta.architecture.as_str(), meta.page_bytes), ("x86_64", 4096));
                assert_eq!((meta.interception, meta.follow), (Interception::Preload, true));
            }
            Section::Process(process) => {
                assert_eq!(process.command, ["./victim"]);
                assert!(process.allocator.ends_with("/libc.so.6"));
                let forked_from = (process.index == ProcessIndex(1)).then_some(ProcessIndex(0));
                assert_eq!(process.forked_from, forked_from);
            }
            Section::Thread(thread) => {
                assert_eq!(thread.name, "victim");
                let process = if thread.index == ThreadIndex(2) { ProcessIndex(1) } else { ProcessIndex(0) };
                assert_eq!(thread.process, process);
            }
            Section::Module(module) => {
                assert!(module.start < module.end && module.build_id.len() == 40);
                modules.push((module.process.0, module.path.rsplit('/').next().unwrap_or("").to_owned()));
            }
            Section::ThreadEnd(end) => assert_eq!((end.name.as_str(), end.lost_events), ("victim", 0)),
            Section::ProcessEnd(end) => assert_eq!((end.still_running, end.lost_events), (false, 0)),
            Section::RunEnd(end) => {
                assert_eq!((end.exit_code, end.signal, end.stopped_early), (Some(0), None, None));
                assert!(end.duration_ns > 200_000_000 && end.peak_rss_bytes > 1 << 20);
            }
            _ => {}
        }
    }
    modules.sort();
    let names = ["ld-linux-x86-64.so.2", "libc.so.6", "libheapwise_preload.so", "victim"];
    let expected: Vec<_> = [0, 1].iter().flat_map(|&p| names.map(|n| (p, n.to_owned()))).collect();
    assert_eq!(modules, expected);
}

#[test]
fn the_events_add_up_to_what_the_program_does() {
    let (mut sizes, mut reallocations, mut frees, mut failed, mut created, mut joined) =
        (Vec::new(), Vec::new(), 0, 0, Vec::new(), Vec::new());
    for (_, section) in sections(V1_0) {
        let Section::Events(events) = section else { continue };
        for block in events.blocks() {
            let mut decoded = block.events();
            for event in decoded.by_ref() {
                match event {
                    Event::Alloc { size, function, align_log2, .. } => {
                        sizes.push((size, function, align_log2))
                    }
                    Event::Realloc { size, .. } | Event::ReallocEnd { size, .. } => reallocations.push(size),
                    Event::Free { .. } => frees += 1,
                    Event::Failed { .. } => failed += 1,
                    Event::ThreadCreate { handle } => created.push(handle),
                    Event::ThreadJoin { handle } => joined.push(handle),
                    _ => {}
                }
            }
            assert!(!decoded.damaged());
        }
    }
    let malloc = |size| (size, AllocFunction::Malloc, 0);
    sizes.sort_by_key(|s| s.0);
    let expected = [
        (21, AllocFunction::Calloc, 0),
        malloc(24),
        malloc(25),
        malloc(26),
        malloc(27),
        malloc(28),
        malloc(124),
        // The C library's own, for the variables of the second thread.
        (288, AllocFunction::Calloc, 0),
        (640, AllocFunction::PosixMemalign, 6),
        (1000, AllocFunction::Realloc, 0),
    ];
    assert_eq!(sizes, expected);
    assert_eq!(reallocations, (2..=10).map(|i| i * 1000).collect::<Vec<u64>>());
    // Five names, and the list in the parent and in the child.
    assert_eq!((frees, failed), (7, 1));
    assert_eq!((created.len(), &created), (1, &joined));
}

#[test]
fn the_symbols_name_the_functions_of_the_program() {
    let symbols = sections(V1_0).into_iter().find_map(|(_, section)| match section {
        Section::Symbols(symbols) => Some(symbols),
        _ => None,
    });
    let symbols = symbols.expect("the recording has symbols");
    let image = symbols.images.iter().find(|i| i.path.ends_with("/victim")).expect("the program has symbols");
    assert!(image.addresses.is_sorted_by_key(|(address, _)| *address));
    let text = |i: Option<u32>| i.map_or("", |i| symbols.strings[i as usize].as_str());
    let mut lines: Vec<_> = image
        .addresses
        .iter()
        .flat_map(|(_, frames)| &symbols.frames[frames.start as usize..frames.end as usize])
        .filter_map(|frame| Some((text(frame.function), text(frame.file), frame.line?)))
        .collect();
    lines.sort();
    let expected = [
        ("child", "v1.0.c", 31),
        ("main", "v1.0.c", 39),
        ("main", "v1.0.c", 41),
        ("main", "v1.0.c", 44),
        ("main", "v1.0.c", 49),
        ("main", "v1.0.c", 49),
        ("name", "v1.0.c", 17),
        ("work", "v1.0.c", 24),
        ("work", "v1.0.c", 25),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_file_cut_anywhere_keeps_its_whole_sections() {
    for file in [V1_0, V2_0, V3_0] {
        a_file_cut_anywhere_keeps_its_whole_sections_of(file);
    }
}

fn a_file_cut_anywhere_keeps_its_whole_sections_of(whole_file: &[u8]) {
    let all = sections(whole_file);
    let texts: Vec<String> = all.iter().map(|(_, section)| text(section)).collect();
    for len in 0..whole_file.len() {
        let Some((found, tail)) = remains(&whole_file[..len]) else {
            assert!(len < HEADER_BYTES, "refused at {len} bytes");
            continue;
        };
        let whole = all.iter().filter(|(end, _)| *end <= len).count();
        assert_eq!(found, texts[..whole], "cut to {len} bytes");
        let at_an_edge = len == HEADER_BYTES || all.iter().any(|(end, _)| *end == len);
        assert_eq!(tail, if at_an_edge { Tail::Clean } else { Tail::Truncated }, "cut to {len} bytes");
    }
}

#[test]
fn a_byte_changed_anywhere_costs_nothing_before_it() {
    for file in [V1_0, V2_0, V3_0] {
        a_byte_changed_anywhere_costs_nothing_before_it_of(file);
    }
}

fn a_byte_changed_anywhere_costs_nothing_before_it_of(whole_file: &[u8]) {
    let all = sections(whole_file);
    let texts: Vec<String> = all.iter().map(|(_, section)| text(section)).collect();
    for at in HEADER_BYTES..whole_file.len() {
        // All bits of the byte, and only one of them.
        for change in [0xff, 1 << (at % 8)] {
            let mut file = whole_file.to_vec();
            file[at] ^= change;
            let (found, tail) = remains(&file).expect("the header is as it was");
            let whole = all.iter().filter(|(end, _)| *end <= at).count();
            assert_eq!(found, texts[..whole], "byte {at} changed by {change:#x}");
            // A length that grew reaches behind the end of the file: in the last section, as if it were cut off.
            let last = whole + 1 == all.len();
            let expected = matches!(tail, Tail::Damaged) || last && tail == Tail::Truncated;
            assert!(expected, "byte {at} changed by {change:#x}: {tail:?}");
        }
    }
}

#[test]
fn a_changed_header_is_refused_or_does_not_matter() {
    for at in 0..HEADER_BYTES {
        let mut file = V1_0.to_vec();
        file[at] ^= 0xff;
        match (at, Reader::new(file.as_slice()).map_err(|e| e.to_string())) {
            (0..8, Err(message)) => assert!(message.contains("not a heapwise recording"), "{message}"),
            (8..10, Err(message)) => assert!(message.contains("newer than this heapwise"), "{message}"),
            // Minor versions only add what may be skipped, and the bytes behind them are reserved.
            (10.., Ok(_)) => assert_eq!(sections(&file).len(), sections(V1_0).len()),
            (at, other) => panic!("byte {at} changed: {other:?}"),
        }
    }
    let newer = [&V1_0[..8], &[4, 0], &V1_0[10..]].concat();
    let refused = Reader::new(newer.as_slice()).map(|_| ()).expect_err("a newer major version is refused");
    assert!(matches!(refused.kind(), ErrorKind::TooNew { supported: 3, .. }));
}

#[test]
fn format_2_has_snapshots_of_pages_and_measured_calls() {
    let (mut snapshots, mut sizes, mut timed) = (Vec::new(), Vec::new(), 0);
    for (_, section) in sections(V2_0) {
        match section {
            Section::Snapshot(snapshot) => snapshots.push(snapshot),
            Section::UsableSizes(usable) => sizes.push(usable),
            Section::Events(events) => {
                let all = events.blocks().flat_map(|block| block.events());
                timed += all.filter(|event| matches!(event, Event::Timed { ticks } if *ticks > 0)).count();
            }
            _ => {}
        }
    }
    // One when the program begins to be seen, and one for each of its two processes when it ends.
    assert!(snapshots.len() >= 2, "{snapshots:?}");
    for snapshot in &snapshots {
        let resident: u64 = snapshot.mappings.iter().map(|m| m.resident_pages * snapshot.page_bytes).sum();
        assert!(
            snapshot.rss_bytes > 1 << 20 && resident.abs_diff(snapshot.rss_bytes) < 64 << 10,
            "{snapshot:?}"
        );
    }
    assert_eq!(sizes.len(), 1);
    assert_eq!([1, 25, 41].map(|n| sizes[0].of(n)), [24, 40, 56], "those of glibc");
    assert!(timed >= 1, "one of the first calls of each thread is measured");
}

#[test]
fn format_3_has_marks_in_the_order_of_their_thread() {
    let (mut names, mut processes, mut said) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (_, section) in sections(V3_0) {
        match section {
            Section::MarkNames(run) => {
                for (id, name) in (run.first_id..).zip(run.names) {
                    names.insert((run.process, id), name);
                }
            }
            Section::Thread(thread) => {
                processes.insert(thread.index, thread.process);
            }
            Section::Events(events) => {
                for block in events.blocks() {
                    let said: &mut Vec<(Option<MarkKind>, u32, u64)> =
                        said.entry(block.thread()).or_default();
                    for event in block.events() {
                        match event {
                            Event::Mark { kind, name, ticks } => said.push((Some(kind), name.0, ticks)),
                            Event::Alloc { .. } => said.push((None, 0, 0)),
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let text = |thread: u32| {
        let thread = ThreadIndex(thread);
        let words = said[&thread].iter().map(|(kind, name, _)| {
            let name = names.get(&(processes[&thread], *name)).map_or("", String::as_str);
            match kind {
                None => "+".to_owned(),
                Some(MarkKind::Point) => format!("!{name}"),
                Some(MarkKind::Begin) => format!("<{name}"),
                Some(MarkKind::End) => format!("{name}>"),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let long = format!("{}…", "n".repeat(MARK_NAME_BYTES - "…".len()));
    // The first block is the C library's own, for the variables of the second thread.
    assert_eq!(text(0), format!("<main !{long} <handed over + !before the fork + main>"));
    let items = ["<item + item>"; 5].join(" ");
    assert_eq!(text(1), format!("<work {items} handed over> work>"));
    assert_eq!(text(2), "<child <item + item> child> main>");
    for marks in said.values() {
        let ticks: Vec<u64> = marks.iter().map(|mark| mark.2).filter(|ticks| *ticks > 0).collect();
        assert!(ticks.is_sorted() && ticks.len() > 3, "{ticks:?}");
    }
}
