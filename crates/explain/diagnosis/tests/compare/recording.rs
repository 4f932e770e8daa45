//! Makes recordings of programs that never were.

use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, ImageSymbols, Nodes, SymbolFrame, Symbols};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;
use std::collections::HashMap;

const PROCESS: ProcessIndex = ProcessIndex(0);

/// A function and a line in it. One without a name has no symbol, and lies in the library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeFrame {
    pub(crate) function: &'static str,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
}

pub(crate) fn frame(function: &'static str, file: &'static str, line: u32) -> MadeFrame {
    MadeFrame { function, file, line }
}

/// A stack that allocates blocks, of which none is freed.
#[derive(Clone, Debug)]
pub(crate) struct MadeSite {
    pub(crate) stack: Vec<MadeFrame>,
    pub(crate) blocks: u64,
    size: u64,
}

pub(crate) fn site(stack: &[MadeFrame], blocks: u64, size: u64) -> MadeSite {
    MadeSite { stack: stack.to_vec(), blocks, size }
}

/// A recording to be made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) program: &'static str,
    pub(crate) library: &'static str,
    pub(crate) load_address: u64,
    pub(crate) has_end: bool,
    pub(crate) sites: Vec<MadeSite>,
}

impl Made {
    pub(crate) fn new(sites: Vec<MadeSite>) -> Self {
        Self {
            program: "/usr/local/bin/app",
            library: "/usr/lib/libother.so.1",
            load_address: 0x5000_0000,
            has_end: true,
            sites,
        }
    }

    pub(crate) fn analysis(&self) -> Analysis {
        let file = self.file();
        let reader = Reader::new(file.as_slice()).expect("own recording");
        analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
    }

    fn library_address(&self) -> u64 {
        self.load_address + 0x1000_0000
    }

    fn file(&self) -> Vec<u8> {
        let meta = Meta { command: vec![self.program.into(), "--option".into()], ..Meta::default() };
        let mut w = Writer::new(Vec::new(), &meta).expect("memory");
        w.process(&ProcessInfo { index: PROCESS, pid: 7, ..ProcessInfo::default() }).expect("memory");
        for (start, path) in [(self.load_address, self.program), (self.library_address(), self.library)] {
            let (end, bias, path) = (start + 0x0100_0000, start, path.into());
            let module = ModuleInfo { process: PROCESS, start, end, bias, path, ..ModuleInfo::default() };
            w.module(&module).expect("memory");
        }
        let (nodes, stacks, symbols) = self.stacks();
        w.nodes(&Nodes { process: PROCESS, first_id: 1, nodes }).expect("memory");
        let info = ThreadInfo { index: ThreadIndex(0), process: PROCESS, tid: 7, ..ThreadInfo::default() };
        w.thread(&info).expect("memory");
        let mut encoder = EventsEncoder::default();
        let words: Vec<u64> = self
            .events(&stacks)
            .flat_map(|event| {
                let encoded = words::encode(event);
                encoded.words[..encoded.len].to_vec()
            })
            .collect();
        encoder.add_block(ThreadIndex(0), Epoch(0), &words);
        w.events(&encoder.finish(Epoch(9))).expect("memory");
        w.symbols(&symbols).expect("memory");
        w.clock(&ClockReadings((0..10).map(|i| (Epoch(i), i * 1_000_000)).collect())).expect("memory");
        w.process_end(&ProcessEnd { index: PROCESS, epoch: Epoch(9), ..ProcessEnd::default() })
            .expect("memory");
        if self.has_end {
            let end = RunEnd { exit_code: Some(0), duration_ns: 10_000_000, ..RunEnd::default() };
            w.run_end(&end).expect("memory");
        }
        w.into_inner()
    }

    /// Nodes from the root outwards, each site's innermost node, and the names.
    fn stacks(&self) -> (Vec<(u32, u64)>, Vec<StackId>, Symbols) {
        let mut nodes = vec![(0, root_key(0, false))];
        let mut stacks = Vec::new();
        let (mut strings, mut frames, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        let mut known: HashMap<(u32, u64), u32> = HashMap::new();
        let mut svmas: Vec<(MadeFrame, u64)> = Vec::new();
        for site in &self.sites {
            let mut caller = 1u32;
            for frame in site.stack.iter().rev() {
                let is_same =
                    |f: &MadeFrame| (f.function, f.file, f.line) == (frame.function, frame.file, frame.line);
                let svma = match svmas.iter().find(|(f, _)| is_same(f)) {
                    Some(&(_, svma)) => svma,
                    None => {
                        let svma = 0x100 + svmas.len() as u64 * 0x10;
                        svmas.push((*frame, svma));
                        if !frame.function.is_empty() {
                            let at = strings.len() as u32;
                            strings.extend([frame.function.to_owned(), frame.file.to_owned()]);
                            addresses.push((svma, frames.len() as u32..frames.len() as u32 + 1));
                            frames.push(SymbolFrame {
                                function: Some(at),
                                file: Some(at + 1),
                                line: Some(frame.line),
                                inlined: false,
                            });
                        }
                        svma
                    }
                };
                let module =
                    if frame.function.is_empty() { self.library_address() } else { self.load_address };
                // The return address lies behind the call.
                let address = module + svma + 1;
                caller = *known.entry((caller, address)).or_insert_with(|| {
                    nodes.push((caller, address));
                    nodes.len() as u32
                });
            }
            stacks.push(StackId(caller));
        }
        let image = ImageSymbols { path: self.program.into(), build_id: String::new(), addresses };
        (nodes, stacks, Symbols { strings, frames, images: vec![image] })
    }

    fn events<'a>(&'a self, stacks: &'a [StackId]) -> impl Iterator<Item = Event> + 'a {
        let sites = self.sites.iter().zip(stacks);
        let blocks = sites.flat_map(|(site, &stack)| (0..site.blocks).map(move |_| (site.size, stack)));
        let allocations = blocks.zip(1u64..).map(|((size, stack), i)| Event::Alloc {
            address: BlockAddress(self.load_address * 2 + i * 0x1_0000),
            size,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function: AllocFunction::Malloc,
            stack,
        });
        [Event::Epoch(Epoch(1))].into_iter().chain(allocations)
    }
}
