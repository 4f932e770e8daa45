//! `heapwise replay`: what real programs did, done again with each allocator. No test looks at a time.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use heapwise_allocators::bundled;
use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::programs;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::Process;
use heapwise_tests::run::{self, Outcome, private_folder};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::ClockReadings;
use heapwise_trace::file::{Reader, Section, Writer};
use heapwise_trace::live::words;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Those that heapwise carries.
fn allocators() -> Vec<&'static str> {
    bundled().map(|allocator| allocator.name()).collect()
}

fn replay_command(file: &Path, folder: &Path, options: &[&str]) -> Command {
    let mut command = run::command(heapwise(), folder);
    command.arg("replay").arg(file).args(["--format", "json"]).args(options);
    command
}

fn replay(file: &Path, folder: &Path, options: &[&str]) -> Outcome {
    run::finish(&mut replay_command(file, folder, options), folder, "replay")
}

fn parsed(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.text())
        .unwrap_or_else(|e| panic!("no JSON: {e}\n{}\n{}", outcome.text(), outcome.stderr))
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {value}"))
}

fn candidates(all: &Value) -> &[Value] {
    all["candidates"].as_array().expect("candidates")
}

fn candidate<'a>(all: &'a Value, name: &str) -> &'a Value {
    let found = candidates(all).iter().find(|c| c["candidate"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {all}"))
}

fn caveats(all: &Value) -> Vec<&str> {
    all["caveats"].as_array().expect("caveats").iter().filter_map(Value::as_str).collect()
}

/// The parts of a moment are all of it.
fn check_parts(moment: &Value) {
    let parts = [
        "live",
        "internal_fragmentation",
        "external_fragmentation",
        "free_pages",
        "metadata",
        "not_heap",
        "unaccounted",
    ];
    let sum: u64 = parts.iter().map(|part| number(moment, &format!("{part}_bytes"))).sum();
    assert_eq!(sum, number(moment, "rss_bytes"), "{moment}");
}

/// All allocators do all of it, and end with the live blocks that the report tells.
fn check_all(recorded: &Recorded, folder: &Path, options: &[&str]) -> Value {
    let with = allocators().join(",");
    let mut all_options = vec!["--with", &with];
    all_options.extend(options);
    let outcome = replay(&recorded.file, folder, &all_options);
    assert_eq!(outcome.code(), 0, "{}\n{}", outcome.text(), outcome.stderr);
    let all = parsed(&outcome);
    let own = process(recorded, &all);
    let at_exit = (own.totals.live_at_exit_bytes, own.totals.live_at_exit_blocks);
    let script = &all["script"];
    assert_eq!((number(script, "live_at_end_bytes"), number(script, "live_at_end_blocks")), at_exit);
    assert_eq!(candidates(&all).len(), allocators().len());
    for candidate in candidates(&all) {
        assert_eq!(candidate["outcome"], "complete", "{candidate}");
        assert_eq!(number(candidate, "refused"), 0);
        check_parts(&candidate["at_peak"]);
        check_parts(&candidate["at_end"]);
        // Of all rounds: those with threads differ. The kernel counts pages of each thread in portions.
        let peak = candidate["peak_rss_spread_bytes"]["high"].as_f64().expect("a peak") as u64 + (1 << 18);
        assert!(peak >= number(candidate, "rss_at_end_bytes"), "{candidate}");
        assert!(peak >= number(&candidate["at_peak"], "live_bytes"), "{candidate}");
        let on_pages = number(&candidate["at_end"], "live_bytes");
        assert!(on_pages <= at_exit.0, "{on_pages} of {} live at the end: {candidate}", at_exit.0);
    }
    all
}

/// The report's process that was replayed.
fn process<'a>(recorded: &'a Recorded, all: &Value) -> &'a Process {
    let pid = number(&all["process"], "pid");
    let found = recorded.report().processes.iter().find(|p| u64::from(p.pid) == pid);
    found.expect("the process is in the report")
}

/// `glibc`'s replay has what was live on its pages at the peak.
fn check_live_at_peak(all: &Value) {
    let live = number(&all["script"], "peak_live_bytes") as f64;
    let seen = number(&candidate(all, "glibc")["at_peak"], "live_bytes") as f64;
    assert!((0.99..=1.0).contains(&(seen / live)), "{seen} live on pages of {live}");
}

/// And it needs about as much for its heap as the recorded program did, which has to stay at its peak for a moment, so that its
/// pages are examined there.
fn check_peak(all: &Value, recorded: &Recorded) {
    check_live_at_peak(all);
    let live = number(&all["script"], "peak_live_bytes");
    let real = recorded.report().memory.at_peak.expect("pages were examined");
    let looked_at = real.live_bytes;
    assert!(
        looked_at as f64 >= live as f64 * 0.97,
        "the program was not examined at its peak: {looked_at} of {live} were live"
    );
    let moment = &candidate(all, "glibc")["at_peak"];
    let replayed = (number(moment, "rss_bytes") - number(moment, "not_heap_bytes")) as f64;
    let real = (real.rss_bytes - real.not_heap_bytes) as f64;
    assert!((0.85..=1.15).contains(&(replayed / real)), "{replayed} instead of {real}");
}

fn record(victim: &str, folder: &Path) -> Recorded {
    let program = build(&Victim::named(victim), FlagSet::Release);
    Recording::new(folder).record(program, &[])
}

/// A recording that is quickly replayed.
fn small(folder: &Path) -> PathBuf {
    record("growth_by_realloc", folder).file
}

/// A library in C, which stands between the program and glibc.
fn library(folder: &Path, name: &str, code: &str) -> String {
    let source = folder.join(format!("{name}.c"));
    let text = format!(
        "#include <stdlib.h>\n#include <unistd.h>\n#include <errno.h>\n#include <string.h>\n#include <stdint.h>\n\
         extern void *__libc_malloc(size_t); extern void __libc_free(void *);\n\
         extern void *__libc_realloc(void *, size_t); extern void *__libc_calloc(size_t, size_t);\n\
         extern void *__libc_memalign(size_t, size_t);\n\
         static unsigned long calls;\n\
         static int is_worker(void) {{\n\
           static int known = -1;\n\
           if (known < 0) {{\n\
             extern char **environ; (void)environ;\n\
             char line[4096]; int fd = 0; ssize_t n = 0;\n\
             fd = __open_cmdline();\n\
             n = read(fd, line, sizeof line); close(fd);\n\
             known = n > 0 && memmem(line, n, \"replay-worker\", 13) != 0;\n\
           }}\n\
           return known;\n\
         }}\n{code}\n\
         void free(void *p) {{ __libc_free(p); }}\n\
         void *realloc(void *p, size_t n) {{ before(n); return __libc_realloc(p, n); }}\n\
         void *calloc(size_t a, size_t b) {{ return __libc_calloc(a, b); }}\n\
         void *memalign(size_t a, size_t n) {{ return __libc_memalign(a, n); }}\n\
         void *aligned_alloc(size_t a, size_t n) {{ return __libc_memalign(a, n); }}\n\
         int posix_memalign(void **p, size_t a, size_t n) {{ *p = __libc_memalign(a, n); return *p ? 0 : ENOMEM; }}\n"
    )
    .replace("#include <stdlib.h>", "#define _GNU_SOURCE\n#include <stdlib.h>\n#include <fcntl.h>")
    .replace("__open_cmdline()", "open(\"/proc/self/cmdline\", O_RDONLY)");
    fs::write(&source, text).expect("a source");
    let file = folder.join(format!("{name}.so"));
    let status =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&file).arg(&source).status();
    assert!(status.expect("cc can be started").success(), "{name} does not compile");
    file.display().to_string()
}

/// One that does something instead of the call with a number.
fn misbehaving(folder: &Path, name: &str, what: &str) -> String {
    let code = format!(
        "static int wrong(void) {{ return is_worker() && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) > 500; }}\n\
         static void before(size_t n) {{}}\n\
         void *malloc(size_t n) {{ if (wrong()) {{ {what} }} return __libc_malloc(n); }}"
    );
    library(folder, name, &code)
}

#[test]
fn python_does_again_what_it_did_with_every_allocator() {
    let Some(python) = programs::python() else { return };
    let folder = private_folder();
    let code = "import json\nd = [json.loads(json.dumps({'k%d' % i: [i] * 20})) for i in range(6000)]\nprint(len(d))\n\
                import time\ntime.sleep(1)";
    let recording = Recording::new(folder.path()).variable("PYTHONMALLOC", "malloc");
    let recorded = recording.record(python, &["-c", code]);
    let all = check_all(&recorded, folder.path(), &["--runs", "1"]);
    check_peak(&all, &recorded);
    assert_eq!(all["schema"], "heapwise.replay/1");
    assert!(caveats(&all).is_empty(), "{:?}", caveats(&all));
    let glibc = candidate(&all, "glibc");
    assert!(glibc["latency_ns"]["allocate"]["timed"].as_u64() > Some(100_000));
    assert!(!glibc["slowest"].as_array().expect("slowest calls").is_empty());
    assert!(all["machine"]["cores"].as_u64() >= Some(1), "{}", all["machine"]);
}

/// Two that know nothing of each other count the same: we by looking at blocks and pages, the allocator by what it handed out.
#[test]
fn what_allocators_say_of_themselves_agrees_with_the_accounts() {
    let Some(python) = programs::python() else { return };
    let folder = private_folder();
    let code = "import os\nd = [{'k%d' % i: [i] * 20} for i in range(60000)]\nos._exit(0)";
    let recording = Recording::new(folder.path()).variable("PYTHONMALLOC", "malloc");
    let recorded = recording.record(python, &["-c", code]);
    let all = check_all(&recorded, folder.path(), &["--runs", "0"]);
    let live = number(&all["script"], "live_at_end_bytes");
    assert!(live > 10 << 20, "{live} is too little to compare");
    for name in ["glibc", "jemalloc"] {
        let (own, end) = (&candidate(&all, name)["own_statistics"], &candidate(&all, name)["at_end"]);
        // glibc counts the header of each block with it.
        let headers = if name == "glibc" { number(end, "metadata_bytes") } else { 0 };
        let ours = (live + number(end, "internal_fragmentation_bytes") + headers) as f64;
        let theirs = number(own, "allocated_bytes") as f64;
        // What lies in the caches of threads, and what the replaying process itself has.
        assert!((0.99..=1.03).contains(&(theirs / ours)), "{name}: {theirs} instead of {ours}: {own}");
    }
    for name in ["mimalloc", "mimalloc2", "snmalloc"] {
        let (own, end) = (&candidate(&all, name)["own_statistics"], &candidate(&all, name)["at_end"]);
        assert!(number(own, "mapped_bytes") >= live, "{name}: {own} for {live}, {end}");
        assert!(own["allocated_bytes"].is_null(), "{name} does not tell");
    }
}

#[test]
fn a_database_does_again_what_it_did_with_every_allocator() {
    let Some(sqlite) = programs::find("sqlite3") else { return };
    let folder = private_folder();
    let sql = "create table t(a integer, b text);\
               insert into t select value, hex(randomblob(20)) from generate_series(1, 60000);\
               create index i on t(b); select count(*) from t;";
    let recorded = Recording::new(folder.path()).record(sqlite, &[":memory:", sql]);
    let all = check_all(&recorded, folder.path(), &["--runs", "0"]);
    // Its peak is a moment while it sorts, at which the program itself may not have been examined.
    check_live_at_peak(&all);
    assert!(caveats(&all).is_empty(), "{:?}", caveats(&all));
    assert!(candidate(&all, "glibc")["cpu_ns"].is_null(), "no rounds, no times");
}

/// Debian's redis links libjemalloc: that is what it would stay with.
#[test]
fn what_the_program_had_is_what_others_are_compared_with() {
    let Some(redis) = programs::find("redis-server") else { return };
    let folder = private_folder();
    let recorded = Recording::new(folder.path()).record(redis, &["--version"]);
    let all = parsed(&replay(&recorded.file, folder.path(), &["--runs", "0"]));
    let now = all["process"]["allocator"].as_str().expect("a path").to_owned();
    if !now.contains("libjemalloc") {
        eprintln!("SKIPPED: this redis does not link jemalloc");
        return;
    }
    let first = &candidates(&all)[0];
    assert_eq!((first["candidate"].as_str(), &first["outcome"]), (Some(now.as_str()), &"complete".into()));
    assert!(first["version"].as_str().is_some_and(|v| v.starts_with("5.")), "{first}");
    let conclusion = all["conclusion"].to_string();
    assert!(conclusion.contains("libjemalloc") && !conclusion.contains("stay with glibc"), "{conclusion}");
    let all = parsed(&replay(&recorded.file, folder.path(), &["--runs", "0", "--with", "mimalloc,default"]));
    assert_eq!(candidate(&all, &now)["outcome"], "complete");
    let all = parsed(&replay(&recorded.file, folder.path(), &["--runs", "0", "--with", "mimalloc,glibc"]));
    assert!(caveats(&all).iter().any(|caveat| caveat.contains("was not replayed")), "{:?}", caveats(&all));
    assert!(!all["conclusion"].to_string().contains("stay with"), "{}", all["conclusion"]);
}

#[test]
fn threads_are_started_and_ended_as_they_were() {
    for victim in ["threads_producer_consumer", "threads_random", "threads_detached"] {
        let folder = private_folder();
        let recorded = record(victim, folder.path());
        let all = check_all(&recorded, folder.path(), &["--runs", "1"]);
        assert!(number(&all["script"], "threads") > 1, "{victim}");
        assert_eq!(number(&all["script"], "skipped"), 0, "{victim}");
        assert!(caveats(&all).is_empty(), "{victim}: {:?}", caveats(&all));
    }
}

/// Two thousand threads, never more than a few at a time: if they all began at once, that would be seen in their stacks.
#[test]
fn threads_that_come_and_go_are_not_there_all_at_once() {
    let folder = private_folder();
    let recorded = record("threads_short_lived", folder.path());
    let outcome = replay(&recorded.file, folder.path(), &["--with", "glibc", "--runs", "0"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let all = parsed(&outcome);
    assert_eq!(number(&all["script"], "threads"), 2001);
    assert!(number(candidate(&all, "glibc"), "peak_rss_bytes") < 8 << 20, "{}", candidate(&all, "glibc"));
}

#[test]
fn each_process_can_be_replayed() {
    let folder = private_folder();
    let recorded = record("fork_child_allocates", folder.path());
    let mut replayed = 0;
    for process in recorded.report().processes.iter().filter(|p| p.totals.allocations > 0) {
        let pid = process.pid.to_string();
        let outcome =
            replay(&recorded.file, folder.path(), &["--with", "glibc", "--runs", "0", "--pid", &pid]);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.text(), outcome.stderr);
        let all = parsed(&outcome);
        assert_eq!(all["process"]["pid"].to_string(), pid);
        assert_eq!(candidate(&all, "glibc")["outcome"], "complete");
        replayed += 1;
    }
    assert!(replayed > 1, "a parent and a child");
    let outcome = replay(&recorded.file, folder.path(), &["--pid", "1"]);
    assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no process 1"), "{}", outcome.stderr);
}

#[test]
fn memory_after_the_load_is_measured_with_the_pauses() {
    let folder = private_folder();
    let recorded = record("free_pages_burst", folder.path());
    let options = ["--with", "glibc,jemalloc:dirty_decay_ms=0", "--runs", "0", "--timed", "--settle", "1s"];
    let outcome = replay(&recorded.file, folder.path(), &options);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let all = parsed(&outcome);
    assert_eq!(all["timed"]["settle_ns"], 1_000_000_000);
    let duration = number(&all["script"], "duration_ns");
    assert!(duration > 400_000_000, "the program rests forty times for ten milliseconds: {duration}");
    for candidate in candidates(&all) {
        let timeline = candidate["timeline"].as_array().expect("a timeline");
        let end = timeline.last().and_then(|level| level[0].as_u64()).expect("a time");
        // Without pauses it takes a few milliseconds.
        assert!(end as f64 > (duration + 1_000_000_000) as f64 * 0.9, "{end} of {duration} and a second");
    }
    let left = |name: &str| {
        let of = |what: &str| number(candidate(&all, name), what) as f64;
        of("rss_after_bytes") / of("peak_rss_bytes")
    };
    let (kept, returned) = (left("glibc"), left("jemalloc:dirty_decay_ms=0"));
    assert!(kept > 0.9, "the last block is on top of glibc's heap, and {kept} of the peak is left");
    assert!(returned < 0.5, "{returned} of the peak is left where each free page is returned at once");
}

#[test]
fn a_recording_that_was_cut_off_is_replayed_as_far_as_it_goes() {
    let folder = private_folder();
    let recorded = record("threads_producer_consumer", folder.path());
    let whole = fs::read(&recorded.file).expect("the recording");
    let cut = folder.path().join("cut.hw");
    // Anywhere, and at places at which calls were recorded already: how far the file has come by then is a matter of time.
    let calls_end = end_of_the_first_calls(&whole);
    let anywhere = [0, 3, 30, 50, 70, 90].map(|part| (whole.len() * part / 100, false));
    let sure = [calls_end, calls_end + 5, whole.len() - 1].map(|at| (at, true));
    for (at, is_sure) in anywhere.into_iter().chain(sure) {
        fs::write(&cut, &whole[..at]).expect("a copy");
        let outcome = replay(&cut, folder.path(), &["--with", "glibc", "--runs", "0"]);
        assert!([0, 4].contains(&outcome.code()), "{at}: {}", outcome.stderr);
        if outcome.code() == 4 {
            assert_eq!(outcome.stderr.trim().lines().count(), 1, "{at}: {}", outcome.stderr);
            assert!(!is_sure, "{at}: {}", outcome.stderr);
            continue;
        }
        let all = parsed(&outcome);
        assert_eq!(candidate(&all, "glibc")["outcome"], "complete", "{at}");
        assert!(!caveats(&all).is_empty(), "{at} bytes are not the whole recording");
    }
}

/// Where the first section with calls ends.
fn end_of_the_first_calls(whole: &[u8]) -> usize {
    let mut reader = Reader::new(whole).expect("a recording");
    while let Some(section) = reader.next_section().expect("whole sections") {
        if matches!(section, Section::Events(_)) {
            return reader.offset() as usize;
        }
    }
    panic!("nothing was recorded");
}

/// As a recorder writes it that does not look at what was touched.
fn recording_without_touching(file: &Path, peak_rss_bytes: u64) {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
    writer.thread(&ThreadInfo { process, handle: 1, ..ThreadInfo::default() }).expect("memory");
    let mut events = vec![Event::Epoch(Epoch(1))];
    for address in (1..=20u64).map(|n| BlockAddress(n << 24)) {
        let (function, stack) = (AllocFunction::Malloc, StackId(0));
        events.push(Event::Alloc {
            address,
            size: 1 << 20,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function,
            stack,
        });
        events.extend((address.0 < 11 << 24).then_some(Event::Free { address, touched: None }));
    }
    let encoded = events.iter().map(|&event| words::encode(event));
    let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
    let mut encoder = EventsEncoder::default();
    encoder.add_block(ThreadIndex(0), Epoch(0), &words);
    writer.events(&encoder.finish(Epoch(2))).expect("memory");
    writer.clock(&ClockReadings(vec![(Epoch(2), 1_000_000)])).expect("memory");
    let end = ProcessEnd { index: process, epoch: Epoch(2), ..ProcessEnd::default() };
    writer.process_end(&end).expect("memory");
    writer.run_end(&RunEnd { peak_rss_bytes, ..RunEnd::default() }).expect("memory");
    fs::write(file, writer.into_inner()).expect("a file");
}

#[test]
fn large_blocks_that_were_not_measured_are_touched_as_a_whole_if_the_program_had_so_much_and_that_is_said() {
    let folder = private_folder();
    let file = folder.path().join("old.hw");
    for (peak, words) in [(100 << 20, "they are touched as a whole"), (0, "they are left untouched")] {
        recording_without_touching(&file, peak);
        let outcome = replay(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let all = parsed(&outcome);
        assert_eq!(number(&all["script"], "large_blocks_with_unknown_touch"), 20);
        let says = |caveat: &&str| caveat.contains("of 20 of 20 large blocks") && caveat.contains(words);
        assert!(caveats(&all).iter().any(says), "{:?}", caveats(&all));
        // Ten of a mebibyte each are live at the end.
        let at_end = number(candidate(&all, "glibc"), "rss_at_end_bytes");
        assert_eq!(at_end >= 10 << 20, peak > 0, "{at_end}");
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = private_folder();
    let foreign = folder.path().join("foreign.hw");
    fs::write(&foreign, "# A text\n").expect("a file");
    for file in [foreign, folder.path().join("missing.hw"), folder.path().to_owned()] {
        let outcome = replay(&file, folder.path(), &[]);
        assert_eq!(outcome.code(), 4, "{}: {}", file.display(), outcome.stderr);
        assert_eq!(outcome.stderr.trim().lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn wrong_candidates_are_refused_before_anything_is_done() {
    let folder = private_folder();
    let file = small(folder.path());
    for (list, word) in [
        ("jemaloc", "jemalloc"),
        ("jemalloc:dirty_decay=5", "dirty_decay"),
        ("jemalloc:dirty_decay_ms=often", "often"),
    ] {
        let outcome = replay(&file, folder.path(), &["--with", list]);
        assert_eq!(outcome.code(), 2, "{list}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
    }
}

/// Candidates that cannot be used, or fail on the way, are reported, and the others are measured.
#[test]
fn an_allocator_that_fails_does_not_keep_others_from_being_measured() {
    let folder = private_folder();
    let folder = folder.path();
    let file = record("temporary_pairs", folder).file;
    let text = folder.join("text.so");
    fs::write(&text, "no library").expect("a file");
    let empty = {
        let source = folder.join("empty.c");
        fs::write(&source, "int nothing;").expect("a source");
        let library = folder.join("empty.so");
        let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(status.expect("cc can be started").success());
        library
    };
    let crashes = misbehaving(folder, "crashes", "abort();");
    let leaves = misbehaving(folder, "leaves", "_exit(7);");
    let hangs = misbehaving(folder, "hangs", "for (;;) sleep(1);");
    let refuses = misbehaving(folder, "refuses", "errno = ENOMEM; return 0;");
    let well = library(
        folder,
        "well",
        "static void before(size_t n) {} void *malloc(size_t n) { return __libc_malloc(n); }",
    );
    let (text, empty) = (text.display().to_string(), empty.display().to_string());
    let list =
        ["glibc", "/no/such.so", &text, &empty, &crashes, &leaves, &hangs, &refuses, &well, "jemalloc"];
    let outcome = replay(&file, folder, &["--with", &list.join(","), "--runs", "1", "--stall-timeout", "2s"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let all = parsed(&outcome);
    let of = |name: &str| candidate(&all, name)["outcome"].as_str().expect("an outcome").to_owned();
    let trouble = |name: &str| candidate(&all, name)["trouble"].as_str().unwrap_or_default().to_owned();
    for good in ["glibc", "jemalloc", &well] {
        assert_eq!(of(good), "complete", "{good}: {}", trouble(good));
        assert!(number(candidate(&all, good), "peak_rss_bytes") > 0);
    }
    for there_is_none in ["/no/such.so", &text, &empty] {
        assert_eq!(of(there_is_none), "unavailable", "{}", trouble(there_is_none));
    }
    for (name, outcome, word) in [
        (&crashes, "killed", "signal 6"),
        (&leaves, "exited", "code 7"),
        (&hangs, "hung", "no further"),
        (&refuses, "out-of-memory", "out of memory"),
    ] {
        assert_eq!(of(name), outcome, "{}", trouble(name));
        assert!(trouble(name).contains(word), "{}", trouble(name));
        assert!(caveats(&all).iter().any(|caveat| caveat.contains(name.as_str())), "{:?}", caveats(&all));
    }
}

/// Limits of the process that replays, as a shell sets them.
fn limited(command: &mut Command, resource: libc::__rlimit_resource_t, bytes: u64) -> &mut Command {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the closure makes a system call with its own structure and nothing else.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    }
}

#[test]
fn a_script_that_finds_no_room_is_an_error_in_one_line() {
    let folder = private_folder();
    let file = small(folder.path());
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
    let outcome = run::finish(limited(&mut command, libc::RLIMIT_FSIZE, 16 << 10), folder.path(), "limited");
    // Root may go beyond the limit for shared memory, but not for the script.
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("TMPDIR"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.trim().lines().count(), 1, "{}", outcome.stderr);
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc", "--runs", "0"]);
    command.env("TMPDIR", folder.path().join("nowhere"));
    let outcome = run::finish(&mut command, folder.path(), "nowhere");
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nowhere"), "{}", outcome.stderr);
}

#[test]
fn too_little_address_space_is_reported_for_each_candidate() {
    let folder = private_folder();
    let file = small(folder.path());
    let mut command = replay_command(&file, folder.path(), &["--with", "glibc,jemalloc", "--runs", "0"]);
    let outcome = run::finish(limited(&mut command, libc::RLIMIT_AS, 2 << 30), folder.path(), "limited");
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let all = parsed(&outcome);
    for candidate in candidates(&all) {
        assert_eq!(candidate["outcome"], "unavailable", "{candidate}");
        assert!(candidate["trouble"].as_str().is_some_and(|t| t.contains("memory")), "{candidate}");
    }
}

#[test]
fn an_interrupt_ends_with_what_was_measured() {
    let folder = private_folder();
    let file = record("temporary_pairs", folder.path()).file;
    // Its first replay goes well, and so does glibc's, for the second round begins behind both. The next one gets stuck, and
    // leaves a sign of that.
    let [first, stuck] = ["first", "stuck"].map(|name| folder.path().join(name));
    let what = format!(
        "static int state; if (!state) {{ state = 1; \
         int fd = open(\"{}\", O_CREAT | O_EXCL | O_WRONLY, 0600); \
         if (fd < 0) {{ state = 2; fd = open(\"{}\", O_CREAT | O_WRONLY, 0600); }} close(fd); }} \
         while (state == 2) sleep(1);",
        first.display(),
        stuck.display()
    );
    let hangs = misbehaving(folder.path(), "hangs", &what);
    let list = format!("glibc,{hangs}");
    let mut command =
        replay_command(&file, folder.path(), &["--with", &list, "--runs", "3", "--stall-timeout", "10m"]);
    let running = run::start(&mut command, folder.path(), "interrupted");
    let began = Instant::now();
    while !stuck.exists() {
        assert!(began.elapsed() < run::PATIENCE, "nothing got stuck");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal_group(libc::SIGINT);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let all = parsed(&outcome);
    assert_eq!(all["is_interrupted"], true);
    for name in ["glibc", &hangs] {
        let candidate = candidate(&all, name);
        assert_eq!(candidate["outcome"], "complete", "it was heapwise that ended it: {candidate}");
        assert!(number(candidate, "peak_rss_bytes") > 0, "{candidate}");
        check_parts(&candidate["at_peak"]);
    }
}

#[test]
fn the_page_for_a_browser_is_one_file_without_scripts() {
    let folder = private_folder();
    let hostile = folder.path().join("<b>&\"x");
    fs::copy(build(&Victim::named("growth_by_realloc"), FlagSet::Release), &hostile).expect("a copy");
    let recorded = Recording::new(folder.path()).record(&hostile, &["<script>alert(1)</script>"]);
    let page = folder.path().join("replay.html");
    let mut command = run::command(heapwise(), folder.path());
    command.arg("replay").arg(&recorded.file).args([
        "--with",
        "glibc,jemalloc",
        "--runs",
        "1",
        "--format",
        "html",
    ]);
    command.arg("-o").arg(&page);
    let outcome = run::finish(&mut command, folder.path(), "html");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.matches("<svg").count() >= 5, "strips, levels, bars");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for never in ["<script", "<b>&", "http://", "https://", "NaN"] {
        assert!(!text.contains(never), "{never}");
    }
}
