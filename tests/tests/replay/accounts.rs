//! What programs did is done again by each allocator, and the accounts of that agree with the recording.

use super::command::{allocators, candidate, candidates, caveats, number, parsed, record, replay};
use heapwise_tests::programs;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::Process;
use heapwise_tests::run::private_folder;
use serde_json::Value;
use std::path::Path;

/// The parts of a moment are all of it.
pub(super) fn check_parts(moment: &Value) {
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
