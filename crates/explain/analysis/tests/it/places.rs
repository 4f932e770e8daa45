//! Which frame of a stack is shown as its place, where that takes more than one stack to know.

use heapwise_analysis::owner::Owner;
use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, ImageSymbols, Nodes, SymbolFrame, Symbols};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::{node::root_key, words};

const APP: u64 = 0x5000_0000;

/// Between two frames where one is not inlined into the other.
const CALLED_BY: &str = "called by";

/// The analysis of a program that allocates blocks of some sizes from some stacks: `function|file|line` of each frame, the
/// innermost one first.
fn analysis(stacks: &[(&[&str], &[u64])]) -> Analysis {
    analysis_of("/home/u/target/release/app", stacks)
}

/// The same of another file.
fn analysis_of(path: &str, stacks: &[(&[&str], &[u64])]) -> Analysis {
    let mut w = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    w.process(&ProcessInfo { index: process, pid: 1, ..ProcessInfo::default() }).expect("memory");
    let (start, end) = (APP, APP + (1 << 20));
    let path = path.to_owned();
    let module = ModuleInfo { process, start, end, bias: APP, path: path.clone(), ..ModuleInfo::default() };
    w.module(&module).expect("memory");
    let mut nodes = vec![(0, root_key(0, false))];
    let mut innermost = Vec::new();
    for (stack, _) in stacks {
        let mut caller = 1;
        for _ in stack.rsplit(|frame| *frame == CALLED_BY) {
            nodes.push((caller, APP + 16 * nodes.len() as u64));
            caller = nodes.len() as u32;
        }
        innermost.push(StackId(caller));
    }
    w.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    w.thread(&ThreadInfo { index: ThreadIndex(0), process, ..ThreadInfo::default() }).expect("memory");
    let mut events = vec![Event::Epoch(Epoch(1))];
    for ((_, sizes), stack) in stacks.iter().zip(innermost) {
        for &size in *sizes {
            let address = BlockAddress(events.len() as u64 * 4096);
            events.push(Event::Alloc {
                address,
                size,
                align_log2: 0,
                allocator: AllocatorNumber::BY_NAME,
                function: AllocFunction::Malloc,
                stack,
            });
        }
    }
    let words: Vec<u64> =
        events.into_iter().map(words::encode).flat_map(|x| x.words[..x.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(0), &words);
    w.clock(&ClockReadings(vec![(Epoch(0), 0), (Epoch(9), 9)])).expect("memory");
    w.events(&encoder.finish(Epoch(9))).expect("memory");
    w.symbols(&symbols(path, stacks)).expect("memory");
    w.process_end(&ProcessEnd { index: process, epoch: Epoch(9), ..ProcessEnd::default() }).expect("memory");
    w.run_end(&RunEnd { exit_code: Some(0), ..RunEnd::default() }).expect("memory");
    let file = w.into_inner();
    let reader = Reader::new(file.as_slice()).expect("own recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory does not fail")
}

fn symbols(path: String, stacks: &[(&[&str], &[u64])]) -> Symbols {
    let (mut strings, mut frames, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    let calls = stacks.iter().flat_map(|(stack, _)| stack.rsplit(|frame| *frame == CALLED_BY));
    for (i, stack) in calls.enumerate() {
        let first = frames.len() as u32;
        for (n, frame) in stack.iter().enumerate() {
            let mut parts = frame.split('|');
            let mut string = || {
                strings.push(parts.next().filter(|t| !t.is_empty())?.to_owned());
                Some(strings.len() as u32 - 1)
            };
            let (function, file) = (string(), string());
            let line = parts.next().and_then(|l| l.parse().ok());
            frames.push(SymbolFrame { function, file, line, inlined: n + 1 < stack.len() });
        }
        addresses.push((16 * (i as u64 + 1) - 1, first..frames.len() as u32));
    }
    Symbols { strings, frames, images: vec![ImageSymbols { path, build_id: String::new(), addresses }] }
}

/// The functions that are shown as places, sorted, each once.
fn places(analysis: &Analysis) -> Vec<String> {
    let places = analysis.sites().iter().map(|site| {
        let stack = analysis.stack(site);
        stack[site.user_frame.expect("a place")].function.unwrap_or("?").to_owned()
    });
    let mut places: Vec<String> = places.collect();
    places.sort();
    places.dedup();
    places
}

const OBTAIN: &str = "obtain|/home/u/mem.c|10";

#[test]
fn a_function_whose_callers_decide_on_the_size_is_a_wrapper() {
    let wrapper = analysis(&[
        (&[OBTAIN, "parse|/home/u/a.c|1", "main|/home/u/a.c|90"], &[24, 24, 24]),
        (&[OBTAIN, "sort|/home/u/a.c|2", "main|/home/u/a.c|91"], &[80, 80]),
        (&[OBTAIN, "print|/home/u/a.c|3", "main|/home/u/a.c|92"], &[256, 256]),
    ]);
    assert_eq!(places(&wrapper), ["parse", "print", "sort"]);
    let owners = |site| wrapper.stack(site).first().map(|frame| frame.owner);
    assert!(wrapper.sites().iter().all(|site| owners(site) == Some(Owner::Wrapper)));
}

#[test]
fn a_wrapper_of_a_wrapper_is_one_as_well() {
    let checked = "checked|/home/u/mem.c|20";
    let nested = analysis(&[
        (&[OBTAIN, checked, "parse|/home/u/a.c|1"], &[24, 24, 24]),
        (&[OBTAIN, checked, "sort|/home/u/a.c|2"], &[80, 80]),
        (&[OBTAIN, checked, "print|/home/u/a.c|3"], &[256, 256]),
        (&[OBTAIN, "load|/home/u/a.c|4"], &[24, 24]),
        (&[OBTAIN, "store|/home/u/a.c|5"], &[40, 40]),
        (&[OBTAIN, "index|/home/u/a.c|6"], &[48, 48]),
    ]);
    assert_eq!(places(&nested), ["index", "load", "parse", "print", "sort", "store"]);
}

#[test]
fn constructors_and_what_copies_text_are_no_wrappers() {
    let constructor = analysis(&[
        (&[OBTAIN, "parse|/home/u/a.c|1"], &[24, 24, 24]),
        (&[OBTAIN, "sort|/home/u/a.c|2"], &[24, 24]),
        (&[OBTAIN, "print|/home/u/a.c|3"], &[24, 24]),
    ]);
    assert_eq!(places(&constructor), ["obtain"]);
    let text = analysis(&[
        (&[OBTAIN, "parse|/home/u/a.c|1"], &[24, 31, 7]),
        (&[OBTAIN, "sort|/home/u/a.c|2"], &[80, 9]),
        (&[OBTAIN, "print|/home/u/a.c|3"], &[256, 6]),
    ]);
    assert_eq!(places(&text), ["obtain"]);
    // It makes a node of one size itself, and calls what makes others.
    let busy = analysis(&[
        (&[OBTAIN, "parse|/home/u/a.c|1"], &[24, 24, 24]),
        (&[OBTAIN, "sort|/home/u/a.c|2"], &[80, 80]),
        (&[OBTAIN, "print|/home/u/a.c|3"], &[256, 256]),
        (&["grow|/home/u/list.c|7", "obtain|/home/u/mem.c|14", "print|/home/u/a.c|3"], &[64]),
    ]);
    assert_eq!(places(&busy), ["grow", "obtain"]);
}

#[test]
fn a_name_like_malloc_and_two_callers_are_enough() {
    let own = "my_malloc|/home/u/mem.c|10";
    let stacks: [(&[&str], &[u64]); 2] =
        [(&[own, "parse|/home/u/a.c|1"], &[24, 30]), (&[own, "sort|/home/u/a.c|2"], &[24, 8])];
    assert_eq!(places(&analysis(&stacks)), ["parse", "sort"]);
    assert_eq!(
        places(&analysis(&stacks[..1])),
        ["my_malloc"],
        "it may be the only thing that the program does"
    );
}

#[test]
fn a_name_like_malloc_counts_with_a_function_without_a_name_in_between_as_well() {
    let stacks_of = |own| -> Vec<Vec<&str>> {
        let callers = ["pdf_new_array||", "pdf_new_dict||", "fz_new_buffer||"];
        callers.map(|caller| vec!["||", CALLED_BY, own, CALLED_BY, caller]).into()
    };
    let places_of = |own| {
        let stacks = stacks_of(own);
        let sized: Vec<(&[&str], &[u64])> =
            stacks.iter().map(Vec::as_slice).zip([&[24_u64, 24][..], &[80, 80], &[200, 200]]).collect();
        places(&analysis_of("/usr/lib/libmupdf.so.28.5", &sized))
    };
    assert_eq!(places_of("fz_malloc||"), ["fz_new_buffer", "pdf_new_array", "pdf_new_dict"]);
    assert_eq!(places_of("fz_intern||"), ["fz_intern"], "what has no name may decide on the size");
}

/// `boa_string`: strings are made by functions that are called like this.
#[test]
fn what_allocates_by_a_layout_and_is_called_so_is_passed_over() {
    let alloc = "alloc|/rustc/1/library/alloc/src/alloc.rs|95";
    let inner = "try_allocate|/home/u/string.rs|83";
    let outer = "app::Sequence<T>::allocate|/home/u/string.rs|57";
    let places_of = |frames: &[&str]| places(&analysis(&[(frames, &[24, 40])]));
    assert_eq!(places_of(&[alloc, inner, outer, "app::join|/home/u/a.rs|9"]), ["app::join"]);
    assert_eq!(places_of(&[alloc, outer, "app::join|/home/u/a.rs|9"]), ["app::join"]);
    // Of this name as well, but it puts things into a container.
    let push = "push|/rustc/1/library/alloc/src/vec/mod.rs|1900";
    let plan = "app::registers::allocate|/home/u/registers.rs|7";
    assert_eq!(places_of(&[alloc, push, plan, "app::join|/home/u/a.rs|9"]), ["app::registers::allocate"]);
    // What the compiler makes of `vec![]` is in the same file.
    let boxes = "alloc::alloc::exchange_malloc|/rustc/1/library/alloc/src/alloc.rs|340";
    assert_eq!(places_of(&[boxes, plan, "app::join|/home/u/a.rs|9"]), ["app::registers::allocate"]);
    // Without lines, it is not known what was inlined in between.
    assert_eq!(
        places_of(&["__rust_alloc||", plan, "app::join|/home/u/a.rs|9"]),
        ["app::registers::allocate"]
    );
    assert_eq!(places_of(&["__rust_alloc||", alloc, outer, "app::join|/home/u/a.rs|9"]), ["app::join"]);
    let callers = ["app::join|/home/u/a.rs|9", "app::split|/home/u/a.rs|19", "app::trim|/home/u/a.rs|29"];
    let places_of = |own, sizes: [&[u64]; 3]| {
        let stacks = callers.map(|caller| [alloc, own, caller]);
        let stacks: Vec<(&[&str], &[u64])> = stacks.iter().map(<[_; 3]>::as_slice).zip(sizes).collect();
        places(&analysis(&stacks))
    };
    let different: [&[u64]; 3] = [&[24, 24], &[80, 80], &[256, 256]];
    assert_eq!(places_of("app::node|/home/u/a.rs|3", different), ["app::node"], "it is called otherwise");
    assert_eq!(places_of("app::Pool::alloc|/home/u/a.rs|3", [&[4096; 2]; 3]), ["app::Pool::alloc"], "a pool");
}

#[test]
fn a_program_that_cargo_fetched_is_no_dependency_of_itself() {
    let alloc = "alloc|/rustc/1/library/alloc/src/alloc.rs|95";
    let of = "/home/u/.cargo/registry/src/index-1";
    let walk = format!("ignore::walk::Work::run|{of}/ignore-0.4.23/src/walk.rs|1500");
    let search = format!("rg::search|{of}/ripgrep-14.1.1/crates/core/main.rs|130");
    let main = format!("rg::main|{of}/ripgrep-14.1.1/crates/core/main.rs|44");
    let analysis = analysis(&[
        (&[alloc, &walk, &search, &main], &[24]),
        (&[alloc, &walk, "std::thread::spawn|/rustc/1/library/std/src/thread/mod.rs|9"], &[32]),
    ]);
    assert_eq!(places(&analysis), ["ignore::walk::Work::run", "rg::search"]);
}

#[test]
fn object_files_without_lines_are_named_with_what_is_known() {
    let analysis = analysis(&[
        (&["alloc::alloc::alloc||", "app::parse||"], &[24, 24]),
        (&["sort|/home/u/a.c|2"], &[80]),
    ]);
    let files = analysis.without_lines();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!((file.allocations, file.is_rust, file.has_names), (2, true, true));
    assert_eq!(file.image.path, "/home/u/target/release/app");
    let of = |named: &[u64], bare: &[u64]| {
        let other = crate::places::analysis(&[(&["app::parse||"], named), (&["||"], bare)]);
        other.without_lines().iter().map(|file| file.has_names).collect::<Vec<_>>()
    };
    assert_eq!((of(&[24, 24], &[8]), of(&[24], &[8, 8])), (vec![true], vec![false]), "names of most count");
}

#[test]
fn what_the_loader_calls_is_a_constructor_where_it_has_no_name() {
    let stacks: [(&[&str], &[u64]); 3] = [
        (&["||", CALLED_BY, "call_init||", CALLED_BY, "_dl_init||"], &[72_704]),
        (&["init_cacheinfo||", CALLED_BY, "call_init||", CALLED_BY, "_dl_init||"], &[16]),
        (&["||", CALLED_BY, "_dl_init||"], &[8]),
    ];
    let loader = analysis_of("/lib64/ld-linux-x86-64.so.2", &stacks);
    assert_eq!(places(&loader), ["?", "constructor", "init_cacheinfo"]);
    assert_eq!(places(&analysis(&stacks[..1])), ["?"], "that of a program may be anything");
}
