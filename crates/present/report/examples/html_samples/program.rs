//! Recordings of programs that never ran: stacks and blocks as a table says, through the real writer and the real
//! analysis.

use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_trace::event::{
    AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId,
};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Interception, Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{
    ClockReadings, ImageSymbols, MarkNames, Nodes, Sample, Samples, SymbolFrame, Symbols,
};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;
use std::collections::HashMap;

const PROCESS: ProcessIndex = ProcessIndex(0);
const APP: u64 = 0x5000_0000;
/// How far apart the functions are.
const STEP: u64 = 0x10;

/// A function and the line in it that calls.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// What a stack does, over and over.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// Functions from the outermost inwards.
    pub(crate) stack: Vec<usize>,
    pub(crate) thread: usize,
    pub(crate) blocks: u64,
    pub(crate) size: u64,
    /// How many of the blocks stay until the end. The others are freed at once.
    pub(crate) kept: u64,
}

/// A mark or a span of the program.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) name: String,
    pub(crate) thread: usize,
    /// When, of 200 steps.
    pub(crate) from: u64,
    /// Until when, if it is a span; `Some(None)` is one that does not end.
    pub(crate) to: Option<Option<u64>>,
}

/// A program that never ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) threads: Vec<String>,
    pub(crate) work: Vec<Work>,
    pub(crate) said: Vec<Said>,
    /// Resident bytes over time, in addition to the live ones.
    pub(crate) resident: Vec<u64>,
}

impl Program {
    pub(crate) fn analysis(&self) -> Analysis {
        let file = self.recording();
        let reader = Reader::new(file.as_slice()).expect("own recording");
        analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
    }

    fn recording(&self) -> Vec<u8> {
        let command: Vec<String> = self.command.split(' ').map(String::from).collect();
        let meta = Meta {
            heapwise: env!("CARGO_PKG_VERSION").into(),
            command: command.clone(),
            interception: Interception::Preload,
            ..Meta::default()
        };
        let mut w = Writer::new(Vec::new(), &meta).expect("memory");
        let (pid, path) = (4711, "/home/user/app/target/release/app");
        let allocator = "/lib/x86_64-linux-gnu/libc.so.6".into();
        let process = ProcessInfo { index: PROCESS, pid, command, allocator, ..ProcessInfo::default() };
        w.process(&process).expect("memory");
        let end = APP + STEP * (self.functions.len() as u64 + 1);
        let module = ModuleInfo {
            process: PROCESS,
            start: APP,
            end,
            bias: APP,
            path: path.into(),
            ..ModuleInfo::default()
        };
        w.module(&module).expect("memory");
        let (nodes, stacks) = self.nodes();
        w.nodes(&nodes).expect("memory");
        let epochs = 200u64;
        let names = self.said.iter().map(|said| said.name.clone()).collect();
        w.mark_names(&MarkNames { process: PROCESS, first_id: 1, names }).expect("memory");
        let mut encoder = EventsEncoder::default();
        for (i, name) in self.threads.iter().enumerate() {
            let (index, tid) = (ThreadIndex(i as u32), 4711 + i as u32);
            let info = ThreadInfo {
                index,
                process: PROCESS,
                tid,
                handle: i as u64,
                name: name.clone(),
                ..ThreadInfo::default()
            };
            w.thread(&info).expect("memory");
            let words: Vec<u64> = self
                .events(i, &stacks, epochs)
                .iter()
                .map(|&event| words::encode(event))
                .flat_map(|encoded| encoded.words[..encoded.len].to_vec())
                .collect();
            encoder.add_block(index, Epoch(0), &words);
        }
        w.events(&encoder.finish(Epoch(epochs))).expect("memory");
        w.symbols(&self.symbols(path)).expect("memory");
        w.clock(&ClockReadings((0..=epochs).map(|i| (Epoch(i), i * 10_000_000)).collect())).expect("memory");
        let n = self.resident.len().max(1) as u64;
        let sample = |(i, &rss_bytes): (usize, &u64)| Sample {
            process: PROCESS,
            time_ns: i as u64 * epochs * 10_000_000 / n,
            rss_bytes,
        };
        w.samples(&Samples(self.resident.iter().enumerate().map(sample).collect())).expect("memory");
        w.process_end(&ProcessEnd { index: PROCESS, epoch: Epoch(epochs), ..ProcessEnd::default() })
            .expect("memory");
        let peak_rss_bytes = self.resident.iter().copied().max().unwrap_or(0);
        let duration_ns = epochs * 10_000_000;
        // A step takes ten milliseconds and a thousand ticks.
        let ticks_per_second = 100_000;
        let exit_code = Some(0);
        w.run_end(&RunEnd { exit_code, duration_ns, peak_rss_bytes, ticks_per_second, ..RunEnd::default() })
            .expect("memory");
        w.into_inner()
    }

    /// The trie of the stacks, and the node of each work.
    fn nodes(&self) -> (Nodes, Vec<StackId>) {
        let mut nodes = vec![(0, root_key(0, false))];
        let mut known: HashMap<(u32, usize), u32> = HashMap::new();
        let stacks = self.work.iter().map(|work| {
            let mut node = 1;
            for &function in &work.stack {
                node = *known.entry((node, function)).or_insert_with(|| {
                    // A return address: the call is just before it.
                    nodes.push((node, APP + STEP * function as u64 + 1));
                    nodes.len() as u32
                });
            }
            StackId(node)
        });
        let stacks = stacks.collect();
        (Nodes { process: PROCESS, first_id: 1, nodes }, stacks)
    }

    fn events(&self, thread: usize, stacks: &[StackId], epochs: u64) -> Vec<Event> {
        let mine: Vec<(usize, &Work)> =
            self.work.iter().enumerate().filter(|(_, w)| w.thread == thread).collect();
        let mut steps: Vec<(u64, Vec<Event>)> = Vec::new();
        for (i, said) in self.said.iter().enumerate().filter(|(_, said)| said.thread == thread) {
            let mut mark = |step, kind| {
                let name = MarkId(i as u32 + 1);
                steps.push((step, vec![Event::Mark { kind, name, ticks: step * 1000 }]));
            };
            mark(said.from, if said.to.is_some() { MarkKind::Begin } else { MarkKind::Point });
            if let Some(Some(to)) = said.to {
                mark(to, MarkKind::End);
            }
        }
        for (nth, &(i, work)) in mine.iter().enumerate() {
            let mut events = Vec::new();
            for block in 0..work.blocks {
                let address = BlockAddress(0x1_0000_0000_0000 + ((i as u64) << 24) + block * 16);
                let function = AllocFunction::Malloc;
                events.push(Event::Alloc {
                    address,
                    size: work.size,
                    align_log2: 0,
                    allocator: AllocatorNumber::BY_NAME,
                    function,
                    stack: stacks[i],
                });
                if block >= work.kept {
                    events.push(Event::Free { address, touched: None });
                }
            }
            steps.push((1 + nth as u64 * (epochs - 10) / mine.len() as u64, events));
        }
        steps.sort_by_key(|(step, _)| *step);
        let events = steps.into_iter().flat_map(|(step, events)| {
            std::iter::once(Event::Epoch(Epoch(step))).chain(events).collect::<Vec<_>>()
        });
        events.collect()
    }

    fn symbols(&self, path: &str) -> Symbols {
        let mut symbols = Symbols::default();
        let mut addresses = Vec::new();
        for (i, function) in self.functions.iter().enumerate() {
            let n = i as u32;
            symbols.strings.extend([function.name.clone(), function.file.clone()]);
            symbols.frames.push(SymbolFrame {
                function: Some(2 * n),
                file: Some(2 * n + 1),
                line: Some(function.line),
                inlined: false,
            });
            addresses.push((STEP * i as u64, n..n + 1));
        }
        symbols.images.push(ImageSymbols { path: path.into(), build_id: String::new(), addresses });
        symbols
    }
}
