//! Exports: the programs that they are made for read them, and find the numbers of the report in them.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::export::firefox::Profile;
use heapwise_tests::export::{dh_view, export, exported, hostile, pprof};
use heapwise_tests::recording::{Recorded, Recording, report_on};
use heapwise_tests::report::Totals;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use std::path::{Path, PathBuf};

/// Several processes, threads and languages, reallocations, leaks.
const VICTIMS: &[&str] =
    &["all_allocation_functions", "fork_child_allocates", "leak_known", "growth_by_realloc", "rust_hash_map"];

/// Records each victim and has it looked at.
fn for_each_victim(look: impl Fn(&Recorded, &Totals, &Path)) {
    for name in VICTIMS {
        let executable = build(&Victim::named(name), FlagSet::Debug);
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path()).record(&executable, &[]);
        let totals = recorded.report().totals;
        assert!(totals.allocations > 0, "{name}: {}", recorded.outcome.stderr);
        look(&recorded, &totals, folder.path());
    }
}

/// Sum of the numbers at the ends of the lines.
fn sum_of_lines(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).expect("folded stacks are text");
    text.lines()
        .map(|line| line.rsplit_once(' ').expect("a number").1.parse::<u64>().expect("a number"))
        .sum()
}

#[test]
fn pprof_finds_the_numbers_of_the_report() {
    for_each_victim(|recorded, totals, folder| {
        let file = exported(&recorded.file, &["--to", "pprof"], folder);
        let Some(profile) = pprof::read(&file, folder) else { return };
        let all = [totals.allocations, totals.allocated_bytes];
        let peak = [totals.peak_live_blocks, totals.peak_live_bytes];
        assert_eq!(profile.sums, [all, peak].concat()[..]);
        assert!(profile.comments.iter().any(|c| c.contains("when the live bytes were highest")));
        let file = exported(&recorded.file, &["--to", "pprof", "--at", "exit"], folder);
        let profile = pprof::read(&file, folder).expect("pprof is there");
        let exit = [totals.never_freed_blocks, totals.never_freed_bytes];
        assert_eq!(profile.sums, [all, exit].concat()[..]);
    });
}

#[test]
fn pprof_finds_functions_lines_object_files_and_builds() {
    let executable = build(&Victim::named("rust_hash_map"), FlagSet::Release);
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&executable, &[]);
    let file = exported(&recorded.file, &["--to", "pprof"], folder.path());
    let Some(profile) = pprof::read(&file, folder.path()) else { return };
    let all: Vec<&String> = profile.locations.values().flatten().collect();
    assert!(all.iter().any(|l| l.contains("main") && l.contains("rust_hash_map.rs:")), "{all:#?}");
    assert!(profile.locations.values().any(|lines| lines.len() > 1), "nothing was inlined");
    // The program comes first, and each line ends with a build id where the file has one.
    assert!(profile.mappings[0].contains(&*executable.to_string_lossy()), "{:?}", profile.mappings);
    let libc = profile.mappings.iter().find(|m| m.contains("libc.so.6")).expect("libc is in each stack");
    let build_id = libc.split_whitespace().nth(3).expect("a build id");
    assert!(build_id.len() == 40 && build_id.bytes().all(|b| b.is_ascii_hexdigit()), "{libc}");
    for kind in ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] {
        let top = pprof::pprof(&file, &["-top", &format!("-sample_index={kind}")], folder.path());
        assert!(top.expect("pprof is there").contains(&format!("Type: {kind}")));
    }
}

#[test]
fn pprof_finds_the_instructions_of_the_program() {
    let executable = build(&Victim::named("leak_known"), FlagSet::Debug);
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&executable, &[]);
    let file = exported(&recorded.file, &["--to", "pprof"], folder.path());
    // Addresses are right if the call of malloc is at the address that has the bytes.
    let arguments = ["-disasm=main", "-sample_index=alloc_space", &*executable.to_string_lossy()];
    let Some(text) = pprof::pprof(&file, &arguments, folder.path()) else { return };
    let call = text.lines().find(|line| line.contains("leak_half")).unwrap_or_else(|| panic!("{text}"));
    assert!(call.to_lowercase().contains("call") && call.contains("97.66kB"), "{text}");
}

#[test]
fn folded_stacks_have_the_numbers_of_the_report() {
    for_each_victim(|recorded, totals, folder| {
        let measures = [
            ("allocations", totals.allocations),
            ("reallocations", totals.reallocations),
            ("allocated_bytes", totals.allocated_bytes),
            ("peak_bytes", totals.peak_live_bytes),
            ("peak_blocks", totals.peak_live_blocks),
            ("live_at_exit_bytes", totals.never_freed_bytes),
            ("live_at_exit_blocks", totals.never_freed_blocks),
            ("temporary_allocations", totals.temporary_allocations),
        ];
        for (measure, total) in measures {
            let file = exported(&recorded.file, &["--to", "folded", "--measure", measure], folder);
            assert_eq!(sum_of_lines(&file), total, "{measure}");
        }
        let default = exported(&recorded.file, &["--to", "folded"], folder);
        assert_eq!(sum_of_lines(&default), totals.allocated_bytes);
    });
}

/// Has inferno draw a flame graph.
fn flame_graph(folded: &Path) -> String {
    let text = std::fs::read_to_string(folded).expect("folded stacks are text");
    let mut options = inferno::flamegraph::Options::default();
    options.min_width = 0.0;
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, text.lines(), &mut svg).expect("inferno reads every line");
    String::from_utf8(svg).expect("a drawing is text")
}

#[test]
fn inferno_draws_folded_stacks() {
    for_each_victim(|recorded, totals, folder| {
        let svg = flame_graph(&exported(&recorded.file, &["--to", "folded"], folder));
        let digits: String = svg.chars().filter(|&c| c != ',').collect();
        assert!(
            digits.contains(&format!("({} samples", totals.allocated_bytes)),
            "the sum is not in the drawing"
        );
        assert!(svg.contains("<title>main"), "main is not in the drawing");
    });
}

#[test]
fn the_viewer_of_dhat_finds_the_numbers_of_the_report() {
    for_each_victim(|recorded, totals, folder| {
        let file = exported(&recorded.file, &["--to", "dhat"], folder);
        let Some(viewed) = dh_view::view(&file, folder) else { return };
        assert_eq!(viewed.total_blocks, totals.requests());
        assert_eq!(viewed.total_bytes, totals.allocated_bytes);
        assert_eq!(
            (viewed.peak_bytes, viewed.peak_blocks),
            (totals.peak_live_bytes, totals.peak_live_blocks)
        );
        assert_eq!(
            (viewed.end_bytes, viewed.end_blocks),
            (totals.never_freed_bytes, totals.never_freed_blocks)
        );
        assert!(
            viewed.shown.contains("Allocated at {") && viewed.shown.contains("main ("),
            "{}",
            viewed.shown
        );
    });
}

#[test]
fn dhat_files_agree_with_valgrinds() {
    let Some(valgrind) = programs::find("valgrind") else { return };
    let executable = build(&Victim::named("growth_by_realloc"), FlagSet::Debug);
    let folder = run::private_folder();
    let theirs = folder.path().join("valgrind.dhat");
    let mut command = run::command(valgrind, folder.path());
    // Otherwise libc frees its own blocks at the end, which it does for valgrind alone.
    command
        .args(["--tool=dhat", "--run-libc-freeres=no", &format!("--dhat-out-file={}", theirs.display())])
        .arg(&executable);
    assert!(run::finish(&mut command, folder.path(), "valgrind").status.success());
    let recorded = Recording::new(folder.path()).record(&executable, &[]);
    let ours = exported(&recorded.file, &["--to", "dhat"], folder.path());
    let Some(theirs) = dh_view::view(&theirs, folder.path()) else { return };
    let ours = dh_view::view(&ours, folder.path()).expect("the viewer is there");
    let of = |v: &dh_view::Viewed| {
        (v.total_blocks, v.total_bytes, v.peak_bytes, v.peak_blocks, v.end_bytes, v.end_blocks)
    };
    assert_eq!(of(&ours), of(&theirs));
}

#[test]
fn the_firefox_profiler_finds_the_numbers_of_the_report() {
    for_each_victim(|recorded, totals, folder| {
        let profile = Profile::read(&exported(&recorded.file, &["--to", "firefox"], folder));
        let sums = profile.sums();
        assert_eq!(sums["Live at the peak (bytes)"], totals.peak_live_bytes);
        assert_eq!(sums["Allocated (bytes)"], totals.allocated_bytes);
        assert_eq!(sums["Allocations (blocks)"], totals.allocations);
        assert_eq!(sums["Temporary allocations (blocks)"], totals.temporary_allocations);
        assert_eq!(sums["Live at the exit (bytes)"], totals.never_freed_bytes);
        let stacks = profile.stacks("Allocated (bytes)");
        assert!(stacks.iter().flatten().any(|frame| frame.starts_with("main (")), "{stacks:?}");
        let highest = profile.levels("live").into_iter().max();
        assert_eq!(highest, Some(totals.peak_live_bytes as i64), "the curve has the peak");
    });
}

#[test]
fn deep_recursion_stays_small() {
    let executable = build(&Victim::named("deep_recursion"), FlagSet::Debug);
    let folder = run::private_folder();
    let at = folder.path();
    let recording = Recording::new(at).with(&["--no-report"]);
    let recorded = recording.record(&executable, &["4000"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    for (format, most_bytes) in
        [("pprof", 100_000), ("folded", 4_000_000), ("dhat", 4_000_000), ("firefox", 1_000_000)]
    {
        let file = exported(&recorded.file, &["--to", format], folder.path());
        let bytes = std::fs::metadata(&file).expect("an export").len();
        assert!(bytes < most_bytes, "{format}: {bytes} bytes");
    }
    let folded = exported(&recorded.file, &["--to", "folded", "--measure", "allocations"], folder.path());
    let allocations = sum_of_lines(&folded);
    assert!((4000..4100).contains(&allocations), "{allocations}");
    let firefox = Profile::read(&exported(&recorded.file, &["--to", "firefox"], at));
    assert_eq!(firefox.sums()["Allocations (blocks)"], allocations);
    if let Some(profile) = pprof::read(&exported(&recorded.file, &["--to", "pprof"], at), at) {
        assert_eq!(profile.sums[0], allocations);
    }
    if let Some(viewed) = dh_view::view(&exported(&recorded.file, &["--to", "dhat"], at), at) {
        assert_eq!(viewed.total_blocks, allocations);
    }
    let text = std::fs::read_to_string(&folded).expect("text");
    assert_eq!(
        text.lines().filter(|line| line.contains(";[frames omitted];")).count(),
        1,
        "all deep ones look the same"
    );
}

/// The recording with hostile names, in a file.
fn hostile_recording(folder: &Path) -> PathBuf {
    let path = folder.join("hostile.hw");
    std::fs::write(&path, hostile::recording()).expect("a file can be written");
    let (outcome, report) = report_on(&path, folder);
    let totals = report.unwrap_or_else(|e| panic!("{e}: {}", outcome.stderr)).totals;
    assert_eq!(
        (totals.allocations, totals.allocated_bytes),
        (hostile::BLOCKS + 1, hostile::BLOCKS * 100 + 7)
    );
    path
}

/// Nothing that a terminal obeys, or that turns the direction of writing.
fn harmless(text: &str) {
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(bad), "{:?}", text.chars().find(|&c| bad(c)));
}

#[test]
fn hostile_names_do_no_harm_to_pprof() {
    let folder = run::private_folder();
    let recording = hostile_recording(folder.path());
    let file = exported(&recording, &["--to", "pprof"], folder.path());
    let Some(profile) = pprof::read(&file, folder.path()) else { return };
    assert_eq!(profile.sums[..2], [hostile::BLOCKS + 1, hostile::BLOCKS * 100 + 7]);
    harmless(&profile.text);
    assert!(
        profile.text.contains("line\\nbreak 77") && profile.text.contains("semi;colon"),
        "{}",
        profile.text
    );
    assert!(profile.text.contains("[cut stack]"), "{}", profile.text);
    assert!(profile.text.len() < 100_000, "a long name is cut");
    for report in ["-top", "-traces", "-tree", "-dot", "-topproto"] {
        pprof::pprof(&file, &[report, "-output", "out"], folder.path());
    }
}

#[test]
fn hostile_names_do_no_harm_to_folded_stacks() {
    let folder = run::private_folder();
    let recording = hostile_recording(folder.path());
    let file = exported(&recording, &["--to", "folded", "--measure", "allocations"], folder.path());
    let text = std::fs::read_to_string(&file).expect("folded stacks are text");
    harmless(&text);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.len());
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], "[cut stack];0x7fff00000000 1");
    assert!(lines[1].ends_with(" 3"), "{text}");
    // The outermost frame has no name; the others are the names, none split in two.
    assert_eq!(lines[1].split(';').count(), hostile::names().len() + 1, "{text}");
    assert!(lines[1].contains(";line\\nbreak 77 3") && lines[1].contains("semi,colon <[u8, 4]"), "{text}");
    let svg = flame_graph(&file);
    assert!(!svg.contains("<script>alert"), "a name became markup");
}

#[test]
fn hostile_names_do_no_harm_to_the_viewer_of_dhat() {
    let folder = run::private_folder();
    let recording = hostile_recording(folder.path());
    let file = exported(&recording, &["--to", "dhat"], folder.path());
    harmless(&std::fs::read_to_string(&file).expect("JSON is text"));
    let Some(viewed) = dh_view::view(&file, folder.path()) else { return };
    assert_eq!((viewed.total_blocks, viewed.total_bytes), (hostile::BLOCKS + 1, hostile::BLOCKS * 100 + 7));
    harmless(&viewed.shown);
    assert!(viewed.shown.contains("line\\nbreak 77 (line\\nbreak 77:1)"), "{}", viewed.shown);
}

#[test]
fn hostile_names_do_no_harm_to_the_firefox_profiler() {
    let folder = run::private_folder();
    let recording = hostile_recording(folder.path());
    let file = exported(&recording, &["--to", "firefox"], folder.path());
    harmless(&std::fs::read_to_string(&file).expect("JSON is text"));
    let profile = Profile::read(&file);
    assert_eq!(profile.sums()["Allocations (blocks)"], hostile::BLOCKS + 1);
    let stacks = profile.stacks("Allocations (blocks)");
    let whole = stacks.iter().max_by_key(|stack| stack.len()).expect("a stack");
    assert_eq!(whole.len(), hostile::names().len() + 1);
    assert_eq!(whole.last().map(String::as_str), Some("+line\\nbreak 77 (line\\nbreak 77:1)"));
}

/// What `heapwise export` says when it does not work: one line.
fn refused(recording: &Path, arguments: &[&str], folder: &Path, code: i32) -> String {
    let outcome = export(recording, arguments, folder);
    assert_eq!((outcome.code(), outcome.stdout.len()), (code, 0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    outcome.stderr
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let folder = run::private_folder();
    let at = folder.path();
    let recording = hostile_recording(at);
    let said = refused(&at.join("missing.hw"), &["--to", "dhat"], at, 4);
    assert!(said.contains("missing.hw"), "{said}");
    std::fs::write(at.join("kept"), "kept").expect("a file can be written");
    refused(Path::new("/dev/null"), &["--to", "dhat", "--force", "-o", "kept"], at, 4);
    assert_eq!(std::fs::read(at.join("kept")).expect("it is there"), b"kept", "it was emptied for nothing");
    let said = refused(&recording, &["--to", "dhat", "-o", "no/such/folder"], at, 1);
    assert!(said.contains("no/such/folder"), "{said}");
    let said = refused(&recording, &["--to", "pprof", "--measure", "peak_bytes"], at, 2);
    assert!(said.contains("--measure"), "{said}");
    let said = refused(&recording, &["--to", "folded", "--at", "exit"], at, 2);
    assert!(said.contains("--at"), "{said}");
    let said = refused(&recording, &["--to", "page-map"], at, 1);
    assert!(said.contains("has no page-map: "), "{said}");
    let full = refused(&recording, &["--to", "firefox", "-o", "/dev/full"], at, 1);
    assert!(full.contains("/dev/full"), "{full}");
    // clap's own refusals have more lines, and the same code.
    assert_eq!(export(&recording, &["--to", "massif"], at).code(), 2);
}

#[test]
fn standard_output_does_as_well_and_a_terminal_is_spared() {
    let folder = run::private_folder();
    let at = folder.path();
    let recording = hostile_recording(at);
    for format in ["pprof", "folded", "dhat", "firefox"] {
        let file = std::fs::read(exported(&recording, &["--to", format], at)).expect("an export");
        let outcome = export(&recording, &["--to", format], at);
        assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
        assert!(outcome.stdout == file, "{format}: standard output differs from the file");
    }
    let Some(script) = programs::find("script") else { return };
    let line =
        |format| format!("{} export {} --to {format}", tool::heapwise().display(), recording.display());
    let on_terminal = |format| {
        let mut command = run::command(&script, at);
        run::finish(command.args(["-q", "-e", "-c", &line(format), "/dev/null"]), at, "script")
    };
    let outcome = on_terminal("pprof");
    assert_eq!(outcome.code(), 2, "{}", outcome.text());
    assert!(
        outcome.text().contains("binary format") && outcome.text().lines().count() == 1,
        "{}",
        outcome.text()
    );
    assert_eq!(on_terminal("folded").code(), 0);
}

/// Large blocks are gone and their small neighbours stay: each page of glibc's heap has one, and not one is empty or full.
#[test]
fn a_page_map_shows_what_pins_the_pages() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path());
    let recorded = recording.record(tool::optimised_lab_worker(), &["alternating", "10000", "1", "300"]);
    let file = exported(&recorded.file, &["--to", "page-map"], folder.path());
    let drawn = std::fs::read_to_string(file).expect("a picture");
    // A square of 4 units and the gap of 1 behind it; neighbours of one colour are one rectangle.
    let pages = |class: &str| -> usize {
        let start = format!("<path class=\"{class}\" d=\"");
        // The first one is the key.
        let paths = drawn.lines().filter_map(|line| line.strip_prefix(&start)).skip(1);
        // `M0 60h799v4h-799z`
        let rectangles = paths.flat_map(|path| path.split('z')).filter_map(|one| one.split_once('h'));
        let width = |of: &str| of.split('v').next().and_then(|width| width.parse::<usize>().ok());
        rectangles.filter_map(|(_, rest)| width(rest)).map(|width| width.div_ceil(5)).sum()
    };
    let [empty, sparse, more] = ["a", "b", "e"].map(pages);
    // 5,000 blocks of 4 KiB have left a page each.
    assert!((4_900..5_400).contains(&sparse), "{sparse} of a quarter: {drawn}");
    // What the program has beside that, and what it has freed at its start.
    assert!(empty < 200 && more < 200, "{empty} empty and {more} full ones");
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n") && !drawn.contains("<script"));
}
