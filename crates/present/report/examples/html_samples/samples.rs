//! The samples: one with everything that a page can show, one with names that attack the page, one that is large, and
//! one whose stacks are deep.

use crate::program::{Function, Program, Said, Work};
use heapwise_analysis::{
    Accounting, AllocatorInside, AllocatorNumber, Analysis, Breakdown, Bytes, Nanos, OfAllocator, PageMap,
    PageRegion, Parts, Pinned,
};
use heapwise_diagnosis::{Certainty, Diagnosis, Estimate, Finding, Severity, Verdict, VerdictKind};
use heapwise_report::{Absence, Freed, SourceFile, Sources, ThreadMatrix};

use std::collections::HashSet;

/// What a page is made from.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) analysis: Analysis,
    pub(crate) diagnosis: Diagnosis,
    pub(crate) matrix: Option<ThreadMatrix>,
    pub(crate) times: Option<Vec<Nanos>>,
    pub(crate) source: Source,
}

/// The one text of all source files.
#[derive(Debug, Default)]
pub(crate) struct Source {
    text: String,
    changed: bool,
}

impl Sources for Source {
    fn find(&self, path: &str, _: Option<&str>) -> Result<SourceFile, Absence> {
        match path.contains("/src/") {
            true if !self.text.is_empty() => {
                Ok(SourceFile { text: self.text.clone(), changed: self.changed })
            }
            _ => Err(Absence::NotFound),
        }
    }
}

/// Numbers that look random and are the same each time.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn function(name: &str, file: &str, line: u32) -> Function {
    Function { name: name.into(), file: file.into(), line }
}

fn plain(program: &Program) -> Sample {
    let (diagnosis, source) = (Diagnosis::default(), Source::default());
    Sample { analysis: program.analysis(), diagnosis, matrix: None, times: None, source }
}

/// Marks and spans of a program: phases, requests in them, and moments. Names are all different.
fn sayings(names: [&str; 8]) -> Vec<Said> {
    let span = |name: &str, thread, from, to| Said { name: name.into(), thread, from, to: Some(to) };
    let point = |name: &str, from| Said { name: name.into(), thread: 0, from, to: None };
    let mut all = vec![
        span("start up", 0, 2, Some(22)),
        span("load the cache", 0, 22, Some(81)),
        span("serve", 0, 81, Some(194)),
        span("connection that stays", 2, 60, None),
        point("configuration was read", 9),
        point("the cache is full", 79),
        point("ready", 81),
        point("reload", 83),
        point("asked to stop", 193),
        span(names[4], 1, 100, Some(120)),
        point(names[5], 140),
    ];
    all.extend((0..12).map(|i| span("request", 3, 85 + i * 9, Some(90 + i * 9))));
    all
}

/// Everything, with names as they are given.
fn everything(names: [&str; 8], command: &str, said: &str, source: &str) -> Sample {
    let std = "/rustc/0123/library/alloc/src/vec/mod.rs";
    let registry = "/home/user/.cargo/registry/src/index-1/serde_json-1.0.0/src/de.rs";
    let functions = vec![
        function(names[0], "/home/user/app/src/main.rs", 12),
        function(names[1], "/home/user/app/src/server.rs", 48),
        function(names[2], "/home/user/app/src/cache.rs", 5),
        function(names[3], registry, 220),
        function("alloc::vec::Vec<T,A>::push", std, 77),
        function(names[4], "/home/user/app/src/session.rs", 9),
        function("<alloc::string::String as core::clone::Clone>::clone", std, 2200),
        function(names[5], "/home/user/app/src/log.rs", 31),
    ];
    let work = |stack: &[usize], thread, blocks, size, kept| Work {
        stack: stack.into(),
        thread,
        blocks,
        size,
        kept,
    };
    let program = Program {
        command: command.into(),
        functions,
        threads: [names[6], names[7], "worker-2", "worker-3"].map(String::from).to_vec(),
        work: vec![
            work(&[0, 1, 2, 6], 0, 40_000, 48, 0),
            work(&[0, 1, 2, 4], 0, 2_000, 4096, 1_500),
            work(&[0, 1, 5, 3, 4], 1, 9_000, 512, 3_000),
            work(&[0, 1, 5, 6], 1, 12_000, 32, 602),
            work(&[0, 7, 4], 2, 5_000, 128, 0),
            work(&[0, 7, 6], 3, 700, 1024, 700),
            work(&[0, 4], 0, 12, 65_536, 6),
        ],
        said: sayings(names),
        resident: (0..200u64)
            .map(|i| (4 << 20) + (i.min(90) * 220_000) - i.saturating_sub(150) * 20_000)
            .collect(),
    };
    let mut analysis = program.analysis();
    analysis.accounting = accounting(&analysis);
    analysis.allocators = allocators(names[6]);
    let n = analysis.sites().len();
    let times = (0..n).map(|i| Nanos(90_000_000 / (i as u64 + 1))).collect();
    let pair = |(allocated_by, freed_by, blocks)| Freed { allocated_by, freed_by, blocks };
    let pairs =
        [(0, 0, 52_000), (0, 1, 18), (1, 1, 8_100), (1, 2, 9_300), (1, 3, 3_600), (2, 2, 5_000), (3, 0, 40)];
    Sample {
        diagnosis: diagnosis(&analysis, names, said),
        analysis,
        matrix: Some(ThreadMatrix { freed: pairs.map(pair).into() }),
        times: Some(times),
        source: Source { text: source.into(), changed: !said.is_empty() },
    }
}

/// Two, one of them in a library with this name.
fn allocators(name: &str) -> Vec<OfAllocator> {
    let of = |number, mib: u64| OfAllocator {
        number: AllocatorNumber(number),
        allocations: 700 * mib,
        peak_live_bytes: Bytes(mib << 20),
        at_peak: Parts { live: Bytes(mib << 20), free_pages: Bytes(3 << 20), ..Parts::default() },
        at_end: Parts { live: Bytes(1 << 20), ..Parts::default() },
        ..OfAllocator::default()
    };
    let (allocator, file) = ("jemalloc".to_owned(), format!("lib{name}.so"));
    let inside = AllocatorInside { allocator, file, functions: 30, number: 1 };
    vec![of(0, 2), OfAllocator { inside: Some(inside), ..of(1, 8) }]
}

fn accounting(analysis: &Analysis) -> Accounting {
    let kib = |n: u64| Bytes(n << 10);
    let at = |ms: u64, live, internal_fragmentation, external_fragmentation, free_pages| {
        let (metadata, not_heap, unaccounted) = (kib(310), kib(4_100), kib(140));
        let fragmentation = [internal_fragmentation, external_fragmentation];
        let parts = [live, free_pages, metadata, not_heap, unaccounted];
        Breakdown {
            time: Nanos(ms * 1_000_000),
            rss: parts.into_iter().chain(fragmentation).sum(),
            live,
            internal_fragmentation,
            external_fragmentation,
            free_pages,
            metadata,
            not_heap,
            unaccounted,
            live_not_resident: kib(64),
            ..Breakdown::default()
        }
    };
    let mut state = 88_172_645_463_325_252;
    let mut region = |address, cells: usize, dense: usize| {
        let cell = |i: usize| match (i / 37) % 5 {
            _ if i < dense => 200 + (next(&mut state) % 55) as u8,
            0 => 255,
            1 | 2 => 0,
            _ => (next(&mut state) % 90) as u8,
        };
        PageRegion { address, cells: (0..cells).map(cell).collect() }
    };
    let regions = vec![
        region(0x5581_2a3c_4000, 1_400, 900),
        region(0x7f31_d400_0000, 3_300, 260),
        region(0x7f31_dc00_0000, 90, 40),
    ];
    let pins = analysis.sites().iter().filter(|site| site.live_at_exit_blocks > 0).map(|site| {
        let blocks = site.live_at_exit_blocks;
        // The smaller a block that stays, the more of its page is pinned.
        let bytes = Bytes(blocks * 14_800 / (1 + site.largest_bytes.0 / 64));
        Pinned { site: site.id, bytes, blocks, pages: blocks }
    });
    let mut pins: Vec<Pinned> = pins.collect();
    pins.sort_by_key(|pin| std::cmp::Reverse(pin.bytes));
    Accounting {
        knows_block_sizes: true,
        at_peak: Some(at(900, kib(9_300), kib(420), kib(10_650), kib(1_500))),
        at_end: Some(at(1_990, kib(9_150), kib(400), kib(10_300), kib(1_200))),
        snapshots: Vec::new(),
        page_map: Some(PageMap { time: Nanos(1_990_000_000), cell: Bytes(4096), regions }),
        pinned: pins,
        ..Accounting::default()
    }
}

fn diagnosis(analysis: &Analysis, names: [&str; 8], said: &str) -> Diagnosis {
    let site_of = |name: &str| {
        let found = analysis.sites().iter().find(|site| {
            let stack = analysis.stack(site);
            site.user_frame.and_then(|i| stack[i].function).is_some_and(|f| f == name)
        });
        found.map(|site| site.id)
    };
    let estimate = |[allocations, reallocations]: [u64; 2], bytes, peak, ms: u64| Estimate {
        allocations,
        reallocations,
        allocated_bytes: Bytes(bytes),
        peak_bytes: Bytes(peak),
        time: Nanos(ms * 1_000_000),
    };
    let finding =
        |id, severity, certainty, title: &str, name: &str, evidence: &[&str], estimate, remedy: &str| {
            Finding {
                id,
                severity,
                certainty,
                title: format!("{title}{said}"),
                site: site_of(name),
                sites: site_of(name).into_iter().collect(),
                evidence: evidence.iter().map(|e| format!("{e}{said}")).collect(),
                estimate,
                remedy: format!("{remedy}{said}"),
            }
        };
    let findings = vec![
        finding(
            "pinning",
            Severity::High,
            Certainty::Certain,
            "602 small blocks of `open_session` keep 8.5 MiB of mostly empty pages resident",
            names[4],
            &[
                "602 blocks of 32 bytes live to the end, amid 20,398 that were freed within a millisecond",
                "without them 2,175 pages would be free altogether",
            ],
            estimate([0, 0], 0, 8_908_800, 0),
            "Allocate what lives long before what lives briefly, or keep sessions in a separate slab:\n`let mut sessions: slab::Slab<Session> = slab::Slab::with_capacity(1024);`",
        ),
        finding(
            "clone-of-owned",
            Severity::High,
            Certainty::Likely,
            "`lookup` clones a String for each access and drops it at once",
            names[2],
            &["40,000 blocks of 48 bytes, all freed before the next allocation", "58 % of all allocations"],
            estimate([40_000, 0], 1_920_000, 0, 41),
            "Borrow the key: `map.get(key.as_str())` takes a `&str`, since `String: Borrow<str>`.",
        ),
        finding(
            "growth",
            Severity::Medium,
            Certainty::Hint,
            "A Vec in `write_line` grows step by step",
            names[5],
            &["5,000 blocks, 99 % of them end at 128 bytes or less"],
            estimate([0, 3_800], 420_000, 0, 4),
            "`Vec::with_capacity(128)`",
        ),
    ];
    let verdict = Verdict {
        kind: VerdictKind::ExternalFragmentation,
        sentence: format!(
            "External fragmentation: of 25.8 MiB resident, 10.4 MiB are free in pages with live blocks, more than the 9.08 MiB of live data.{said}"
        ),
        remedy: format!(
            "602 long-lived blocks of `open_session` (session.rs:9) pin most of these pages: give them a separate arena.{said}"
        ),
    };
    Diagnosis { findings, verdict: Some(verdict), ..Diagnosis::default() }
}

const SOURCE: &str = "\
use std::collections::HashMap;

impl Cache {
    fn lookup(&self, key: &Key) -> Option<&Entry> {
        let owned = key.name.clone();
        self.entries.get(&owned)
    }
    fn open_session(&mut self, id: u64) -> &Session {
        self.sessions.entry(id).or_insert_with(|| Box::new(Session::new(id)))
    }
}
fn main() {}
";

/// Everything that a page can show.
pub(crate) fn full() -> Sample {
    let names = [
        "app::main",
        "app::server::serve",
        "app::cache::Cache::lookup",
        "serde_json::de::from_str",
        "app::session::open_session",
        "app::log::write_line",
        "app",
        "worker-1",
    ];
    everything(names, "target/release/app --port 8080", "", SOURCE)
}

/// Names, texts and source lines that would be markup, script or a change of direction if they could.
pub(crate) fn hostile() -> Sample {
    let names = [
        "</script><script>window.attacked=1;alert(1)</script>",
        "<img src=x onerror=\"window.attacked=2\">",
        "a\"b'c`d${window.attacked=3}\\u003cscript\\u003e",
        "line\none\r\ntwo\u{2028}three\u{2029}four\u{0}five",
        "\u{202e}gnp.exe\u{202c} \u{2066}isolated\u{2069}",
        "<svg/onload=window.attacked=4>--></style><style>body{display:none}</style><!--",
        "<b onclick=alert(1)>thread</b>",
        "{{constructor.constructor('window.attacked=5')()}}",
    ];
    let source = "<script>window.attacked=6</script>\n".repeat(60);
    everything(
        names,
        "</title><script>window.attacked=7</script> --x=\"<b>\"",
        " <i onmouseover=window.attacked=8>x</i> & </script>",
        &source,
    )
}

/// A hundred thousand stacks.
pub(crate) fn large() -> Sample {
    const STACKS: usize = 100_000;
    let mut state = 88_172_645_463_325_252;
    let mut functions = Vec::new();
    for i in 0..4_000u32 {
        let (name, file) = match i % 4 {
            0 => (
                format!("app::module_{}::function_{i}", i % 97),
                format!("/home/user/app/src/module_{}.rs", i % 97),
            ),
            1 => (
                format!("<dep::Type_{i}<T> as dep::Trait>::call"),
                "/home/user/.cargo/registry/src/i/dep-1.0.0/src/lib.rs".into(),
            ),
            2 => {
                (format!("core::iter::adapter_{i}::fold"), "/rustc/0123/library/core/src/iter/mod.rs".into())
            }
            _ => (format!("app::handlers::handle_{i}"), format!("/home/user/app/src/handlers_{}.rs", i % 53)),
        };
        functions.push(Function { name, file, line: 10 + i % 900 });
    }
    let mut stacks: Vec<Vec<usize>> = vec![vec![0]];
    let mut known = HashSet::new();
    while stacks.len() < STACKS {
        // A stack often continues one that occurred before, as those of real programs do.
        let base = (next(&mut state) as usize) % stacks.len();
        let keep = 1 + (next(&mut state) as usize) % stacks[base].len();
        let mut stack = stacks[base][..keep].to_vec();
        for _ in 0..1 + next(&mut state) % 6 {
            stack.push((next(&mut state) % 4_000) as usize);
        }
        if known.insert(stack.clone()) {
            stacks.push(stack);
        }
    }
    let mut work = Vec::new();
    for stack in stacks {
        let (blocks, size) = (1 + next(&mut state) % 12, 8 + next(&mut state) % 4_000);
        work.push(Work { stack, thread: 0, blocks, size, kept: next(&mut state) % 2 });
    }
    plain(&Program {
        command: "large".into(),
        functions,
        threads: vec!["main".into()],
        work,
        said: Vec::new(),
        resident: (0..200).map(|i| (i + 1) << 20).collect(),
    })
}

/// Recursion, twelve thousand frames deep, with a block at each depth.
pub(crate) fn deep() -> Sample {
    const DEPTH: usize = 12_000;
    let functions = vec![
        function("main", "/home/user/app/src/main.c", 3),
        function("descend", "/home/user/app/src/main.c", 9),
        function("ascend", "/home/user/app/src/main.c", 14),
    ];
    let chain: Vec<usize> = (0..DEPTH).map(|i| if i == 0 { 0 } else { 1 + i % 2 }).collect();
    let work = |depth: usize| Work {
        stack: chain[..depth].to_vec(),
        thread: 0,
        blocks: 1,
        size: 64 + depth as u64,
        kept: 1,
    };
    plain(&Program {
        command: "deep".into(),
        functions,
        threads: vec!["main".into()],
        work: (1..=DEPTH).map(work).collect(),
        said: Vec::new(),
        resident: vec![1 << 20, 2 << 20],
    })
}
