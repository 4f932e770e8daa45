//! Analyses of made-up programs, for the tests of the rules.
//!
//! A program is a list of calls with stacks that are given as text. It is written as a recording and read as any other, so
//! that a rule sees what it would see.

use crate::finding::Finding;
use heapwise_analysis::{Analysis, Options, SiteId, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, ImageSymbols, Nodes, SymbolFrame, Symbols};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::{node::root_key, words};

const APP: u64 = 0x5000_0000;
const EPOCH_NS: u64 = 10_000;

/// A program in the making.
#[derive(Default)]
pub(crate) struct Program {
    stacks: Vec<Vec<String>>,
    threads: Vec<Vec<Event>>,
    thread: usize,
    epoch: u64,
    next: u64,
    module: Option<String>,
    source: Vec<(String, u32, String)>,
    /// What its recording is a sample of; 0 for all blocks.
    sample_bytes: u64,
}

impl Program {
    /// A stack: frames from the innermost outwards as `function|file|line`, the last of which is the user's.
    pub(crate) fn stack(&mut self, frames: &[&str]) -> u32 {
        self.stacks.push(frames.iter().map(|f| (*f).to_owned()).collect());
        self.stacks.len() as u32 + 1
    }

    /// The path of the executable.
    pub(crate) fn module(&mut self, path: &str) {
        self.module = Some(path.to_owned());
    }

    fn path(&self) -> String {
        self.module.clone().unwrap_or_else(|| "/app".into())
    }

    /// A line of a source file that can be had.
    pub(crate) fn source(&mut self, file: &str, line: u32, text: &str) {
        self.source.push((file.to_owned(), line, text.to_owned()));
    }

    /// Only a sample is recorded, with at most so many bytes between two blocks. What the calls say is what is in it.
    pub(crate) fn sample(&mut self, bytes: u64) {
        self.sample_bytes = bytes;
    }

    /// The thread of the following calls.
    pub(crate) fn on(&mut self, thread: usize) {
        self.thread = thread;
    }

    pub(crate) fn wait_ms(&mut self, ms: u64) {
        self.epoch += ms * 1_000_000 / EPOCH_NS;
    }

    fn event(&mut self, event: Event) {
        self.epoch += 1;
        if self.threads.len() <= self.thread {
            self.threads.resize_with(self.thread + 1, Vec::new);
        }
        self.threads[self.thread].extend([Event::Epoch(Epoch(self.epoch)), event]);
    }

    /// How long the last call took.
    pub(crate) fn took_ns(&mut self, ns: u32) {
        self.threads[self.thread].push(Event::Timed { ticks: ns });
    }

    /// An allocation; says where.
    pub(crate) fn alloc(&mut self, stack: u32, size: u64) -> u64 {
        self.next += 1 << 20;
        let (address, function, stack) = (BlockAddress(self.next), AllocFunction::Malloc, StackId(stack));
        self.event(Event::Alloc {
            address,
            size,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function,
            stack,
        });
        self.next
    }

    /// A reallocation that moves; says whereto.
    pub(crate) fn resize(&mut self, old: u64, stack: u32, size: u64) -> u64 {
        self.next += 1 << 20;
        let (old, new, stack) = (BlockAddress(old), BlockAddress(self.next), StackId(stack));
        self.event(Event::Realloc {
            old,
            new,
            size,
            stack,
            touched: None,
            allocator: AllocatorNumber::BY_NAME,
        });
        self.next
    }

    pub(crate) fn free(&mut self, address: u64) {
        self.event(Event::Free { address: BlockAddress(address), touched: None });
    }

    /// What is made of it.
    pub(crate) fn analysis(&self) -> Analysis {
        let meta = Meta { sample_bytes: self.sample_bytes, ..Meta::default() };
        let mut w = Writer::new(Vec::new(), &meta).expect("memory");
        let process = ProcessIndex(0);
        let info = ProcessInfo {
            index: process,
            pid: 1,
            allocator: "/lib/libc.so.6".into(),
            ..ProcessInfo::default()
        };
        w.process(&info).expect("memory");
        let module = ModuleInfo {
            process,
            start: APP,
            end: APP + (1 << 20),
            bias: APP,
            path: self.path(),
            ..ModuleInfo::default()
        };
        w.module(&module).expect("memory");
        let mut nodes = vec![(0, root_key(0, false))];
        nodes.extend((0..self.stacks.len() as u64).map(|i| (1, APP + 16 * (i + 1))));
        w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
        let mut encoder = EventsEncoder::default();
        for (i, events) in self.threads.iter().enumerate() {
            let (index, name) = (ThreadIndex(i as u32), format!("thread{i}"));
            w.thread(&ThreadInfo { index, process, handle: i as u64, name, ..ThreadInfo::default() })
                .expect("memory");
            let all = events.iter().map(|&e| words::encode(e));
            let words: Vec<u64> = all.flat_map(|x| x.words[..x.len].to_vec()).collect();
            encoder.add_block(index, Epoch(0), &words);
        }
        let end = Epoch(self.epoch + 1);
        w.clock(&ClockReadings(vec![(Epoch(0), 0), (end, end.0 * EPOCH_NS)])).expect("memory");
        w.events(&encoder.finish(end)).expect("memory");
        w.symbols(&self.symbols()).expect("memory");
        w.process_end(&ProcessEnd { index: process, epoch: end, ..ProcessEnd::default() }).expect("memory");
        let end = RunEnd {
            exit_code: Some(0),
            duration_ns: end.0 * EPOCH_NS,
            ticks_per_second: 1_000_000_000,
            ..RunEnd::default()
        };
        w.run_end(&end).expect("memory");
        let file = w.into_inner();
        let reader = Reader::new(file.as_slice()).expect("own recording");
        analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
    }

    fn symbols(&self) -> Symbols {
        let (mut strings, mut frames, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        for (i, stack) in self.stacks.iter().enumerate() {
            let first = frames.len() as u32;
            for (n, frame) in stack.iter().enumerate() {
                let mut parts = frame.split('|');
                let mut string = || {
                    let text = parts.next().filter(|t| !t.is_empty())?;
                    strings.push(text.to_owned());
                    Some(strings.len() as u32 - 1)
                };
                let (function, file) = (string(), string());
                let line = parts.next().and_then(|l| l.parse().ok());
                frames.push(SymbolFrame { function, file, line, inlined: n + 1 < stack.len() });
            }
            addresses.push((16 * (i as u64 + 1) - 1, first..frames.len() as u32));
        }
        let image = ImageSymbols { path: self.path(), build_id: String::new(), addresses };
        Symbols { strings, frames, images: vec![image] }
    }

    /// The findings of one rule.
    pub(crate) fn found(&self, id: &str) -> Vec<Finding> {
        let line = |file: &str, line: u32| {
            let at = self.source.iter().rev().find(|known| known.0 == file && known.1 == line);
            at.map(|(_, _, text)| text.clone())
        };
        let findings = crate::findings::all(&self.analysis(), &line, false, &mut Vec::new());
        findings.into_iter().filter(|i| i.id == id).collect()
    }

    /// The only finding of one rule.
    #[track_caller]
    pub(crate) fn only(&self, id: &str) -> Finding {
        let mut found = self.found(id);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// The id of the site of a stack.
    pub(crate) fn site(&self, analysis: &Analysis, stack: u32) -> SiteId {
        let (name, _) =
            self.stacks[stack as usize - 2].last().and_then(|f| f.split_once('|')).expect("a user's frame");
        let of = |s: &&heapwise_analysis::Site| analysis.stack(s).iter().any(|f| f.function == Some(name));
        analysis.sites().iter().find(of).expect("it allocates").id
    }
}

/// All findings.
pub(crate) fn all(analysis: &Analysis) -> Vec<Finding> {
    crate::findings::all(analysis, crate::source::NO_LINES, false, &mut Vec::new())
}

/// Frames as optimised Rust programs have them.
pub(crate) const CLONE: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "<alloc::string::String as core::clone::Clone>::clone|/rustc/1/library/alloc/src/string.rs|2352",
];
pub(crate) const PUSH_FIRST: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "alloc::raw_vec::RawVec<T,A>::grow_one|/rustc/1/library/alloc/src/raw_vec/mod.rs|188",
    "push<usize, alloc::alloc::Global>|/rustc/1/library/alloc/src/vec/mod.rs|992",
];
pub(crate) const PUSH_AGAIN: &[&str] = &[
    "realloc|/rustc/1/library/alloc/src/alloc.rs|135",
    "alloc::raw_vec::RawVec<T,A>::grow_one|/rustc/1/library/alloc/src/raw_vec/mod.rs|188",
    "push<usize, alloc::alloc::Global>|/rustc/1/library/alloc/src/vec/mod.rs|992",
];
pub(crate) const MAP_INSERT: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "hashbrown::raw::RawTable<T,A>::reserve_rehash|/rust/deps/hashbrown-0.16.1/src/raw/mod.rs|1013",
    "entry<u64, u64, std::hash::random::RandomState>|/rustc/1/library/std/src/collections/hash/map.rs|976",
];
pub(crate) const COLLECT: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "from_iter<u64>|/rustc/1/library/alloc/src/vec/spec_from_iter_nested.rs|33",
    "collect<u64>|/rustc/1/library/core/src/iter/traits/iterator.rs|2000",
];
pub(crate) const COLLECT_TEXT: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "reserve|/rustc/1/library/alloc/src/string.rs|1231",
    "from_iter<char>|/rustc/1/library/alloc/src/string.rs|2300",
    "collect<char>|/rustc/1/library/core/src/iter/traits/iterator.rs|2000",
];
pub(crate) const BOXED: &[&str] = &[
    "exchange_malloc|/rustc/1/library/alloc/src/alloc.rs|341",
    "new<u64>|/rustc/1/library/alloc/src/boxed.rs|258",
];
pub(crate) const READ: &[&str] = &[
    "alloc|/rustc/1/library/alloc/src/alloc.rs|95",
    "std::fs::read_to_string::inner|/rustc/1/library/std/src/fs.rs|350",
    "read_to_string<&str>|/rustc/1/library/std/src/fs.rs|355",
];
pub(crate) const SERDE_STRING: &[&str] = &[
    "to_owned|/rustc/1/library/alloc/src/str.rs|211",
    "visit_str<serde_json::error::Error>|/r/registry/src/i/serde_core-1.0.229/src/de/impls.rs|596",
    "deserialize_string|/r/registry/src/i/serde_json-1.0.154/src/de.rs|1557",
];
pub(crate) const SERDE_ESCAPES: &[&str] = &[
    "to_owned|/rustc/1/library/alloc/src/str.rs|211",
    "visit_str<serde_json::error::Error>|/r/registry/src/i/serde-1.0.229/src/private/de.rs|83",
    "borrow_cow_str|/r/registry/src/i/serde-1.0.229/src/private/de.rs|120",
];

/// A stack: what was called, and the user's line.
pub(crate) fn user<'a>(called: &[&'a str], line: &'a str) -> Vec<&'a str> {
    called.iter().copied().chain([line]).collect()
}
