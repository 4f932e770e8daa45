//! Sums of source files and lines: what is allocated at a line, and by what it calls.

use heapwise_analysis::owner::Owner;
use heapwise_analysis::{Analysis, FileSums, Options, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, ImageSymbols, Nodes, SymbolFrame, Symbols};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::{node::root_key, words};

const APP: u64 = 0x5000_0000;

/// A program: at each address frames as `function|file|line`, the innermost one first; and stacks of addresses, the outermost one
/// first, with how many blocks each allocates.
fn analysis(addresses: &[&[&str]], stacks: &[(&[u64], u64)]) -> Analysis {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    w.process(&ProcessInfo { index: process, pid: 1, ..ProcessInfo::default() }).expect("memory");
    let (start, end, path) = (APP, APP + (1 << 20), "/u/target/release/app".to_owned());
    let module = ModuleInfo { process, start, end, bias: APP, path: path.clone(), ..ModuleInfo::default() };
    w.module(&module).expect("memory");
    let mut nodes = vec![(0, root_key(0, false))];
    let mut events = vec![Event::Epoch(Epoch(1))];
    for (calls, blocks) in stacks {
        let mut node = 1;
        for &at in *calls {
            // A return address: the call is just before it.
            let key = (node, APP + 16 * (at + 1) + 1);
            let known = nodes.iter().position(|known| *known == key);
            node = known.unwrap_or_else(|| {
                nodes.push(key);
                nodes.len() - 1
            }) as u32
                + 1;
        }
        for _ in 0..*blocks {
            let (address, function) = (BlockAddress(events.len() as u64 * 4096), AllocFunction::Malloc);
            events.push(Event::Alloc {
                address,
                size: 8,
                align_log2: 0,
                allocator: AllocatorNumber::BY_NAME,
                function,
                stack: StackId(node),
            });
        }
    }
    w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    w.thread(&ThreadInfo { index: ThreadIndex(0), process, ..ThreadInfo::default() }).expect("memory");
    let words: Vec<u64> =
        events.into_iter().map(words::encode).flat_map(|x| x.words[..x.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(0), &words);
    w.clock(&ClockReadings(vec![(Epoch(0), 0), (Epoch(9), 9)])).expect("memory");
    w.events(&encoder.finish(Epoch(9))).expect("memory");
    w.symbols(&symbols(path, addresses)).expect("memory");
    w.process_end(&ProcessEnd { index: process, epoch: Epoch(9), ..ProcessEnd::default() }).expect("memory");
    w.run_end(&RunEnd { exit_code: Some(0), ..RunEnd::default() }).expect("memory");
    let file = w.into_inner();
    let reader = Reader::new(file.as_slice()).expect("own recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
}

fn symbols(path: String, of_addresses: &[&[&str]]) -> Symbols {
    let (mut strings, mut frames, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    for (at, inlined) in of_addresses.iter().enumerate() {
        let first = frames.len() as u32;
        for (n, frame) in inlined.iter().enumerate() {
            let mut parts = frame.split('|');
            let mut string = || {
                strings.push(parts.next().filter(|text| !text.is_empty())?.to_owned());
                Some(strings.len() as u32 - 1)
            };
            let (function, file) = (string(), string());
            let line = parts.next().and_then(|line| line.parse().ok());
            frames.push(SymbolFrame { function, file, line, inlined: n + 1 < inlined.len() });
        }
        addresses.push((16 * (at as u64 + 1), first..frames.len() as u32));
    }
    Symbols { strings, frames, images: vec![ImageSymbols { path, build_id: String::new(), addresses }] }
}

/// What `path:line` has: own blocks, and those of what it calls as well.
fn blocks(files: &[FileSums<'_, u64>], path: &str, line: u32) -> (u64, u64) {
    let file = files.iter().find(|file| file.path == path).expect("a file in stacks");
    let line = file.lines.iter().find(|known| known.number == line).expect("a line in stacks");
    (line.own, line.whole)
}

const MAIN: &[&str] = &["main|/u/src/main.c|10"];
const STD_ALLOC: &str = "alloc|/rustc/1/library/alloc/src/alloc.rs|95";

#[test]
fn several_stacks_on_one_line_are_added_up() {
    let load = &["load|/u/src/load.c|5"][..];
    let store = &["store|/u/src/load.c|9"][..];
    let analysis = analysis(&[MAIN, load, store], &[(&[0, 1], 3), (&[0, 2], 4), (&[0, 2, 1], 5), (&[0], 6)]);
    let files = analysis.files(|site| site.allocations);
    assert_eq!(blocks(&files, "/u/src/load.c", 5), (8, 8));
    assert_eq!(blocks(&files, "/u/src/load.c", 9), (4, 9));
    assert_eq!(blocks(&files, "/u/src/main.c", 10), (6, 18));
    let sums: Vec<_> = files.iter().map(|file| (file.path, file.own, file.whole)).collect();
    // A stack with two lines of a file counts once for it.
    assert!(
        sums.contains(&("/u/src/load.c", 12, 12)) && sums.contains(&("/u/src/main.c", 6, 18)),
        "{sums:?}"
    );
    assert_eq!(files.iter().map(|file| file.own).sum::<u64>(), analysis.totals.allocations);
}

#[test]
fn a_recursion_does_not_multiply_what_it_allocates() {
    let walk = &["walk|/u/src/walk.c|7"][..];
    let leaf = &["leaf|/u/src/walk.c|2"][..];
    let stacks: &[(&[u64], u64)] =
        &[(&[0, 1, 2], 1), (&[0, 1, 1, 2], 10), (&[0, 1, 1, 1, 2], 100), (&[0, 1, 1], 1000)];
    let analysis = analysis(&[MAIN, walk, leaf], stacks);
    let files = analysis.files(|site| site.allocations);
    assert_eq!(blocks(&files, "/u/src/walk.c", 7), (1000, 1111));
    assert_eq!(blocks(&files, "/u/src/walk.c", 2), (111, 111));
    assert_eq!(blocks(&files, "/u/src/main.c", 10), (0, 1111));
}

#[test]
fn inlined_frames_have_lines_and_the_users_nearest_one_is_the_place() {
    // Two calls of a line that is inlined into itself, as iterators and macros do it.
    let inlined = &[STD_ALLOC, "grow|/u/src/lib.rs|30", "grow|/u/src/lib.rs|30", "run|/u/src/main.rs|4"][..];
    let analysis = analysis(&[&["main|/u/src/main.rs|9"], inlined], &[(&[0, 1], 7)]);
    let files = analysis.files(|site| site.allocations);
    assert_eq!(blocks(&files, "/u/src/lib.rs", 30), (7, 7));
    assert_eq!(blocks(&files, "/u/src/main.rs", 4), (0, 7));
    assert_eq!(blocks(&files, "/u/src/main.rs", 9), (0, 7));
    let std = "/rustc/1/library/alloc/src/alloc.rs";
    assert_eq!(blocks(&files, std, 95), (0, 7), "it is not where the block is wanted");
    let owner = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.owner);
    assert_eq!((owner(std), owner("/u/src/lib.rs")), (Some(Owner::RustStd), Some(Owner::User)));
    let main = files.iter().find(|file| file.path == "/u/src/main.rs").expect("it is in the stack");
    let functions: Vec<_> = main.lines.iter().map(|line| (line.number, line.function)).collect();
    assert_eq!(functions, [(4, Some("run")), (9, Some("main"))]);
    assert_eq!(main.module.map(|module| module.path.as_str()), Some("/u/target/release/app"));
}

#[test]
fn code_without_a_line_counts_for_its_file_alone() {
    let unknown = &["made|/u/src/made.c|0"][..];
    let nameless = &["|/u/src/made.c|3"][..];
    let analysis =
        analysis(&[MAIN, unknown, nameless, &["elsewhere||"]], &[(&[0, 1], 2), (&[0, 2], 3), (&[0, 3], 5)]);
    let files = analysis.files(|site| site.allocations);
    let made = files.iter().find(|file| file.path == "/u/src/made.c").expect("it is in a stack");
    assert_eq!((made.own, made.whole, made.lines.len()), (5, 5, 1));
    assert_eq!((made.lines[0].number, made.lines[0].function, made.lines[0].own), (3, None, 3));
    assert_eq!(blocks(&files, "/u/src/main.c", 10), (0, 10), "what has no file is below what has one");
}

#[test]
fn a_stack_of_thousands_of_frames_counts_once() {
    let walk = &["walk|/u/src/walk.c|7"][..];
    let deep: Vec<Vec<u64>> = [3000, 3001, 4000].map(|depth| vec![1; depth]).into();
    let stacks: Vec<(&[u64], u64)> = deep.iter().map(|stack| (stack.as_slice(), 2)).collect();
    let analysis = analysis(&[MAIN, walk], &stacks);
    let files = analysis.files(|site| site.allocations);
    assert_eq!(blocks(&files, "/u/src/walk.c", 7), (6, 6));
}
