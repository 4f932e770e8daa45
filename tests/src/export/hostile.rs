//! A recording with malicious names.

use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::Writer;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, ImageSymbols, Nodes, SymbolFrame, Symbols};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;

/// Names of functions, innermost first; each is that of a file, too.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "line\nbreak 77",
        "semi;colon <[u8; 4] as Clone>::clone",
        "<script>alert(1)</script>&amp;\"'",
        "\x1b]0;title\x07\x1b[2Jcontrol\u{9b}31m\0",
        "\u{fffd}\u{fffd} remnants of bytes",
        "\u{202e}sdrawkcab\u{2028}",
        "  spaces 12 ",
        "0x10: main (main.c:7)",
        "%s%n${jndi}",
        "",
    ]
    .map(String::from)
    .to_vec();
    names.push("long".repeat(100_000));
    names
}

/// Blocks that the recording has for its one whole stack, of 100 bytes each; one more of 7 bytes has a stack that is cut and has
/// no frames.
pub const BLOCKS: u64 = 3;

pub fn recording() -> Vec<u8> {
    const BASE: u64 = 0x5000_0000;
    let process = ProcessIndex(0);
    let evil = names();
    let meta = Meta {
        heapwise: "0.1.0\n".into(),
        command: vec!["evil;\n\x1b[31m</script>".into(), "\u{202e}".into()],
        ..Meta::default()
    };
    let mut w = Writer::new(Vec::new(), &meta).expect("memory");
    let command = meta.command.clone();
    w.process(&ProcessInfo { index: process, pid: 7, command, ..ProcessInfo::default() }).expect("memory");
    let path = "/tmp/evil\n;</script>\x1b[2J".to_owned();
    let build_id = "not hexadecimal;\n".to_owned();
    let (start, end, bias) = (BASE, BASE + 0x1000, BASE);
    let module = ModuleInfo {
        process,
        start,
        end,
        bias,
        path: path.clone(),
        build_id: build_id.clone(),
        generation: 0,
    };
    w.module(&module).expect("memory");
    // A chain of as many frames as there are names; the outermost has none, the innermost was inlined into the second.
    let mut nodes = vec![(0, root_key(0, false)), (1, BASE + 0x801)];
    for i in 0..evil.len() as u64 - 1 {
        nodes.push((nodes.len() as u32, BASE + 0x101 + i * 0x10));
    }
    let whole = StackId(nodes.len() as u32);
    nodes.push((0, root_key(0, true)));
    nodes.push((nodes.len() as u32, 0x7fff_0000_0001));
    let cut = StackId(nodes.len() as u32);
    w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    let alloc = |address, size, stack| Event::Alloc {
        address: BlockAddress(address),
        size,
        align_log2: 0,
        allocator: AllocatorNumber::BY_NAME,
        function: AllocFunction::Malloc,
        stack,
    };
    let mut events = vec![Event::Epoch(Epoch(1)), alloc(0x10_0000, 7, cut)];
    events.extend((0..BLOCKS).map(|i| alloc(0x20_0000 + i * 0x100, 100, whole)));
    let thread = ThreadInfo { index: ThreadIndex(0), process, ..ThreadInfo::default() };
    w.thread(&thread).expect("memory");
    let words: Vec<u64> =
        events.iter().map(|&e| words::encode(e)).flat_map(|x| x.words[..x.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(0), &words);
    w.events(&encoder.finish(Epoch(9))).expect("memory");
    w.clock(&ClockReadings(vec![(Epoch(0), 0), (Epoch(9), 9_000_000)])).expect("memory");
    let n = evil.len() as u32;
    let frames =
        (0..n).map(|i| SymbolFrame { function: Some(i), file: Some(i), line: Some(i + 1), inlined: i == 0 });
    // The innermost address, the last of the chain, has the first two names.
    let last = u64::from(n - 2);
    let addresses = (0..=last).map(|i| {
        let first = (last - i) as u32 + 1;
        (0x100 + i * 0x10, if i == last { 0..2 } else { first..first + 1 })
    });
    let images = vec![ImageSymbols { path, build_id, addresses: addresses.collect() }];
    w.symbols(&Symbols { strings: evil, frames: frames.collect(), images }).expect("memory");
    let end = ProcessEnd { index: process, epoch: Epoch(9), ..ProcessEnd::default() };
    w.process_end(&end).expect("memory");
    w.run_end(&RunEnd { exit_code: Some(0), duration_ns: 9_000_000, ..RunEnd::default() }).expect("memory");
    w.into_inner()
}
