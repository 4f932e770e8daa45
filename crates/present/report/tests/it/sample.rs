//! A small recording: two threads, five call sites, one leak.

use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_trace::event::{
    AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId,
};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    BlindSpot, Interception, Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadEnd,
    ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{
    ClockReadings, ImageSymbols, MarkNames, Nodes, Sample, Samples, SymbolFrame, Symbols,
};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;

const PROCESS: ProcessIndex = ProcessIndex(0);
const APP: u64 = 0x5000_0000;
const LIBC: u64 = 0x7000_0000;

/// What may differ between the samples.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) command: &'static str,
    pub(crate) function: &'static str,
    pub(crate) thread: &'static str,
    pub(crate) blind: bool,
    pub(crate) events: bool,
    /// The source file of the cloning function, and how often that clones in a millisecond.
    pub(crate) file: &'static str,
    pub(crate) clones: u64,
    /// The names of the program's marks, if it has any.
    pub(crate) marks: Option<&'static str>,
    /// Microseconds that each allocation takes, if they were measured.
    pub(crate) takes: Option<u32>,
    /// Bytes of each block that is copied.
    pub(crate) copy: u64,
    /// Whether `main` calls packages for nearly all: one in line 17, and another in this one.
    pub(crate) packages: Option<u32>,
}

impl Default for Sampled {
    fn default() -> Self {
        let (command, thread) = ("target/release/contest --rounds 5", "worker");
        Self {
            command,
            function: "contest::parse::line::h0123456789abcdef",
            thread,
            blind: false,
            events: true,
            file: "/home/user/contest/src/parse.rs",
            clones: 20,
            marks: None,
            takes: None,
            copy: 24,
            packages: None,
        }
    }
}

fn alloc(address: u64, size: u64, stack: u32) -> Event {
    let (address, function, stack) = (BlockAddress(address), AllocFunction::Malloc, StackId(stack));
    Event::Alloc { address, size, align_log2: 0, allocator: AllocatorNumber::BY_NAME, function, stack }
}

fn free(address: u64) -> Event {
    Event::Free { address: BlockAddress(address), touched: None }
}

/// Stacks: 3 `String::clone` in `parse::line`, 4 `Vec::push` in `main`, 5 `main` itself, 7 without names in a library.
fn nodes() -> Nodes {
    let nodes = vec![
        (0, root_key(0, false)),
        (1, LIBC + 0x11),
        (2, APP + 0x101),
        (2, APP + 0x201),
        (2, APP + 0x301),
        (0, root_key(0, true)),
        (6, 0x9000_0001),
    ];
    Nodes { process: PROCESS, first_id: 1, nodes }
}

fn symbols(function: &str, file: &str) -> Symbols {
    let strings = [
        "<alloc::string::String as core::clone::Clone>::clone",
        "/rustc/abc/library/alloc/src/string.rs",
        function,
        file,
        "alloc::vec::Vec<T,A>::push",
        "contest::main",
        "/home/user/contest/src/main.rs",
        "__libc_start_main",
    ];
    let frame = |function, file: Option<u32>, line, inlined| SymbolFrame {
        function: Some(function),
        file,
        line,
        inlined,
    };
    let frames = vec![
        frame(0, Some(1), Some(2200), true),
        frame(2, Some(3), Some(42), false),
        frame(4, Some(1), Some(77), true),
        frame(5, Some(6), Some(17), false),
        frame(5, Some(6), Some(21), false),
        frame(7, None, None, false),
    ];
    let image =
        |path: &str, addresses| ImageSymbols { path: path.into(), build_id: String::new(), addresses };
    Symbols {
        strings: strings.map(String::from).to_vec(),
        frames,
        images: vec![
            image(
                "/home/user/contest/target/release/contest",
                vec![(0x100, 0..2), (0x200, 2..4), (0x300, 4..5)],
            ),
            image("/lib/x86_64-linux-gnu/libc.so.6", vec![(0x10, 5..6)]),
        ],
    }
}

/// The same, but both stacks go through a package, from line 17 of `main` and another one.
fn in_packages(mut symbols: Symbols, line: u32) -> Symbols {
    let registry = "/home/user/.cargo/registry/src/index-1";
    symbols.strings.extend([
        "json::read::Parser::text".to_owned(),
        format!("{registry}/json-1.2.3/src/read.rs"),
        "tree::Node::insert".to_owned(),
        format!("{registry}/tree-4.5.6/src/node.rs"),
    ]);
    let frame = |function, file, line, inlined| SymbolFrame {
        function: Some(function),
        file: Some(file),
        line: Some(line),
        inlined,
    };
    symbols.frames = vec![
        frame(0, 1, 2200, true),
        frame(8, 9, 30, true),
        frame(5, 6, 17, false),
        frame(4, 1, 77, true),
        frame(10, 11, 50, true),
        frame(5, 6, line, false),
        frame(5, 6, 21, false),
        SymbolFrame { file: None, line: None, ..frame(7, 0, 0, false) },
    ];
    symbols.images[0].addresses = vec![(0x100, 0..3), (0x200, 3..6), (0x300, 6..7)];
    symbols.images[1].addresses = vec![(0x10, 7..8)];
    symbols
}

/// The main thread's events and the worker's, a millisecond per epoch.
fn events(clones: u64, copy: u64) -> [Vec<Event>; 2] {
    let mut main = vec![Event::Epoch(Epoch(1)), alloc(0x1000, 64 << 10, 5), alloc(0x2000_0000, 100, 7)];
    for i in 0..50u64 {
        main.push(Event::Epoch(Epoch(2 + i)));
        for j in 0..20 {
            if j < clones {
                main.push(alloc(1 << 40, copy, 3));
                main.push(free(1 << 40));
            }
            main.push(alloc(0x20_0000 + (i * 20 + j) * 64, 48, 4));
        }
    }
    let mut worker = Vec::new();
    for i in 0..40u64 {
        worker.push(Event::Epoch(Epoch(60 + i)));
        for j in 0..25 {
            worker.push(free(0x20_0000 + (i * 25 + j) * 64));
        }
    }
    let old = BlockAddress(0x1000);
    let resize = Event::Realloc {
        old,
        new: BlockAddress(0x4000_0000),
        size: 128 << 10,
        stack: StackId(4),
        touched: None,
        allocator: AllocatorNumber::BY_NAME,
    };
    main.extend([
        Event::Epoch(Epoch(101)),
        resize,
        Event::Failed { size: 9, function: AllocFunction::Malloc, stack: StackId(5) },
    ]);
    [main, worker]
}

/// Adds marks: a span over the main thread's rounds, one for each of them, and a moment in between. The worker ends a span that
/// it has not begun.
fn mark([main, worker]: &mut [Vec<Event>; 2]) {
    let mark = |kind, name, ticks| Event::Mark { kind, name: MarkId(name), ticks };
    let mut marked = vec![mark(MarkKind::Begin, 1, 1)];
    for event in main.drain(..) {
        let Event::Epoch(Epoch(epoch @ 2..=51)) = event else {
            marked.push(event);
            continue;
        };
        // A tick is a microsecond: a round takes 0.9 ms, the first one 0.4 ms more.
        let ticks = 1000 * epoch + 1;
        if epoch > 2 {
            marked.push(mark(MarkKind::End, 2, ticks - 100 + if epoch == 3 { 400 } else { 0 }));
        }
        marked.push(event);
        if epoch == 27 {
            marked.push(mark(MarkKind::Point, 3, ticks));
        }
        marked.push(mark(MarkKind::Begin, if epoch == 51 { 4 } else { 2 }, ticks));
    }
    marked.push(mark(MarkKind::End, 1, 101_001));
    *main = marked;
    worker.push(mark(MarkKind::End, 4, 7));
}

/// Adds how long each allocation takes.
fn time(events: &mut Vec<Event>, ticks: u32) {
    let timed = events.drain(..).flat_map(|event| {
        let time = matches!(event, Event::Alloc { .. }).then_some(Event::Timed { ticks });
        [event].into_iter().chain(time)
    });
    *events = timed.collect();
}

/// The recording's bytes.
pub(crate) fn recording(sampled: &Sampled) -> Vec<u8> {
    let spot = BlindSpot {
        id: "static-executable".into(),
        what: "helper is linked statically: its allocations are not seen".into(),
        remedy: "link it dynamically, or use the heapwise allocator inside it".into(),
        ..BlindSpot::default()
    };
    let meta = Meta {
        heapwise: "0.1.0".into(),
        command: sampled.command.split(' ').map(String::from).collect(),
        interception: Interception::Preload,
        blind_spots: if sampled.blind { vec![spot] } else { Vec::new() },
        ..Meta::default()
    };
    let mut w = Writer::new(Vec::new(), &meta).expect("memory");
    let process = ProcessInfo {
        index: PROCESS,
        pid: 4711,
        parent_pid: 4700,
        command: meta.command.clone(),
        allocator: "/lib/x86_64-linux-gnu/libc.so.6".into(),
        ..ProcessInfo::default()
    };
    w.process(&process).expect("memory");
    for (start, path) in
        [(APP, "/home/user/contest/target/release/contest"), (LIBC, "/lib/x86_64-linux-gnu/libc.so.6")]
    {
        let (end, bias, path) = (start + 0x1000, start, path.into());
        w.module(&ModuleInfo { process: PROCESS, start, end, bias, path, ..ModuleInfo::default() })
            .expect("memory");
    }
    if sampled.events {
        w.nodes(&nodes()).expect("memory");
        let mut encoder = EventsEncoder::default();
        let mut events = events(sampled.clones, sampled.copy);
        if let Some(ticks) = sampled.takes {
            events.iter_mut().for_each(|thread| time(thread, ticks));
        }
        if let Some(name) = sampled.marks {
            mark(&mut events);
            let names = [name, "round", "half way", "last round"].map(str::to_owned).to_vec();
            w.mark_names(&MarkNames { process: PROCESS, first_id: 1, names }).expect("memory");
        }
        for (i, events) in events.iter().enumerate() {
            let index = ThreadIndex(i as u32);
            let name = if i == 0 { "contest" } else { sampled.thread }.to_owned();
            let info = ThreadInfo {
                index,
                process: PROCESS,
                tid: 4711 + i as u32,
                handle: i as u64,
                name,
                ..ThreadInfo::default()
            };
            w.thread(&info).expect("memory");
            let encoded = events.iter().map(|&e| words::encode(e));
            let words: Vec<u64> = encoded.flat_map(|x| x.words[..x.len].to_vec()).collect();
            encoder.add_block(index, Epoch(0), &words);
        }
        w.events(&encoder.finish(Epoch(110))).expect("memory");
        let name = sampled.thread.to_owned();
        w.thread_end(&ThreadEnd { index: ThreadIndex(1), name, epoch: Epoch(101), lost_events: 0 })
            .expect("memory");
        let symbols = symbols(sampled.function, sampled.file);
        let symbols = match sampled.packages {
            Some(line) => in_packages(symbols, line),
            None => symbols,
        };
        w.symbols(&symbols).expect("memory");
    }
    let readings = (0..=110).map(|i| (Epoch(i), i * 1_000_000)).collect();
    w.clock(&ClockReadings(readings)).expect("memory");
    let sample = |i: u64| Sample { process: PROCESS, time_ns: i * 2_000_000, rss_bytes: 200_000 + i * 1000 };
    w.samples(&Samples((0..55).map(sample).collect())).expect("memory");
    w.process_end(&ProcessEnd { index: PROCESS, epoch: Epoch(110), ..ProcessEnd::default() })
        .expect("memory");
    let end = RunEnd {
        exit_code: Some(0),
        duration_ns: 110_000_000,
        peak_rss_bytes: 254_000,
        ticks_per_second: 1_000_000,
        ..RunEnd::default()
    };
    w.run_end(&end).expect("memory");
    w.into_inner()
}

/// The recording, analysed.
pub(crate) fn analysis(sampled: &Sampled) -> Analysis {
    let file = recording(sampled);
    let reader = Reader::new(file.as_slice()).expect("own recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
}
