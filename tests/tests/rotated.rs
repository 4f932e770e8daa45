//! `--rotate`: every call is in exactly one file, blocks that are live go on into the next one, and only the last files are kept.

use heapwise_tests::build::compile_text;
use heapwise_tests::report::Report;
use heapwise_tests::{run, tool};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Works for so many rounds in four threads, each of which frees what another one has allocated, with a short thread and a fork now and
/// then. What `keep` has is never freed.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACES 512
static _Atomic(char *) places[PLACES];
static atomic_ulong allocations, reallocations, bytes, kept, holds;
static long rounds;
static int is_child;
__attribute__((noinline, noipa)) static char *small(size_t n) { return malloc(n); }
__attribute__((noinline, noipa)) static char *large(size_t n) { return calloc(1, n); }
__attribute__((noinline, noipa)) static char *grown(char *block, size_t n) { return realloc(block, n); }
__attribute__((noinline, noipa)) static char *keep(size_t n) { return malloc(n); }
static void count(size_t n) { allocations++; bytes += n; }
static void say(void) { printf("expect %lu %lu %lu\n", (unsigned long)allocations, (unsigned long)reallocations, (unsigned long)bytes); fflush(stdout); }
static void hold(size_t n) { char *block = keep(n); block[0] = 1; count(n); kept += n; holds++; }
static void *work(void *argument) {
    unsigned x = 2 * (unsigned)(long)argument + 1;
    for (long i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u;
        size_t size = x >> 31 ? 16 + (x >> 20) % 400 : 2000 + (x >> 16) % 3000;
        char *block = x >> 31 ? small(size) : large(size);
        count(size);
        if (i % 16 == 0) { block = grown(block, 2 * size); reallocations++; bytes += 2 * size; }
        free(atomic_exchange(&places[(x >> 3) % PLACES], block));
        if (i % 64 == 0) { if (!is_child) hold(100); usleep(300); }
    }
    return 0;
}
static void *brief(void *unused) { hold(3000); return unused; }
static void clear(void) { for (int i = 0; i < PLACES; i++) free(atomic_exchange(&places[i], 0)); }
int main(int argc, char **arguments) {
    rounds = atol(arguments[1]);
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (int turn = 0; turn < 3; turn++) {
        pthread_t all[4], one;
        for (long i = 0; i < 4; i++) pthread_create(&all[i], 0, work, (void *)i);
        pthread_create(&one, 0, brief, 0);
        pthread_join(one, 0);
        for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            is_child = 1;
            allocations = reallocations = bytes = 0;
            work((void *)9L);
            clear();
            say();
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
    }
    clear();
    printf("kept %lu\nholds %lu\n", (unsigned long)kept, (unsigned long)holds);
    say();
    return 0;
}
"#;

/// The numbered files of a recording, in their order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part.0")));
    files.sort();
    files
}

fn report(folder: &Path, file: &Path) -> Report {
    let mut command = run::command(tool::heapwise(), folder);
    command.args(["report", "--format", "json"]).arg(file);
    let outcome = run::finish(&mut command, folder, "report");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    Report::parse(&outcome.text()).expect("a report")
}

fn reports(folder: &Path) -> Vec<Report> {
    parts(folder).iter().map(|file| report(folder, file)).collect()
}

fn recording(folder: &Path, options: &[&str]) -> Command {
    let mut command = run::command(tool::heapwise(), folder);
    command.args(["run", "--no-report", "-o", "part.hw"]).args(options).arg("--");
    command
}

/// How many recordings have shared memory in a process.
fn sessions_in(pid: u32) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let ours = maps.lines().filter(|line| line.ends_with("/memfd:heapwise-session (deleted)"));
    let inodes = ours.filter_map(|line| line.split_whitespace().nth(4));
    inodes.collect::<std::collections::BTreeSet<_>>().len()
}

fn live(report: &Report, function: &str) -> u64 {
    report.sum(|names| names.contains(&function)).live_bytes
}

/// What a program says behind a word.
fn said(output: &str, word: &str) -> u64 {
    let line = output.lines().find_map(|line| line.strip_prefix(word)).expect("the program says so");
    line.trim().parse().expect("a number")
}

#[test]
fn every_call_is_in_one_file_and_what_is_live_goes_on() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder.path(), "rotated");
    let options = ["--sample=1", "--rotate", "100ms", "--keep", "1000"];
    let mut command = recording(folder.path(), &options);
    let outcome = run::finish(command.arg(&program).arg("20000"), folder.path(), "run");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let all = reports(folder.path());
    assert!(all.len() > 5, "{} files", all.len());
    let [allocations, reallocations, bytes] = outcome.counted();
    let sum = |of: fn(&Report) -> u64| all.iter().map(of).sum::<u64>();
    // The C library allocates for threads, too, and for its buffers.
    let found = sum(|report| report.totals.allocations);
    assert!((allocations..allocations + 100).contains(&found), "{found} of {allocations}");
    assert_eq!(sum(|report| report.totals.reallocations), reallocations);
    let kept = said(&outcome.text(), "kept");
    let of = |function: &str| all.iter().map(|r| r.sum(|names| names.contains(&function)).bytes).sum::<u64>();
    let requested = ["small", "large", "grown", "keep"].map(of).iter().sum::<u64>();
    assert_eq!(requested, bytes);
    assert_eq!(sum(|report| report.totals.lost_events), 0);
    for (i, report) in all.iter().enumerate() {
        let part = report.part.expect("one of several");
        assert_eq!((part.number as usize, part.goes_on), (i + 1, i + 1 < all.len()));
        // A fork frees what it has of its parent.
        let alone = report.processes.iter().filter(|process| !process.forked);
        assert!(alone.count() > 0 && report.order.implicit_frees == 0, "file {i}: {:?}", report.order);
        assert!(!report.warnings.iter().any(|w| w.id == "still-running" || w.id == "uncertain-order"));
        if let Some(before) = i.checked_sub(1).map(|before| &all[before]) {
            let goes_on = before.processes.iter().filter(|process| process.still_running);
            let [blocks, bytes] = goes_on.fold([0, 0], |[blocks, bytes], process| {
                let t = &process.totals;
                [blocks + t.live_at_exit_blocks, bytes + t.live_at_exit_bytes]
            });
            // Each thread may be within a reallocation.
            assert!(blocks.abs_diff(part.live_at_start_blocks) <= 5, "file {i}: {blocks}, {part:?}");
            assert!(bytes.abs_diff(part.live_at_start_bytes) <= 5 * 10_000, "file {i}: {bytes}, {part:?}");
        }
    }
    let last = all.last().expect("a last one");
    // Of what several threads do within a millisecond with one address, the order is not known: a block of `small` may be taken for the
    // one of `keep` that had its place before.
    let ours = ["small", "large", "grown", "keep"].map(|function| last.sum(|n| n.contains(&function)).live);
    assert_eq!(ours.iter().sum::<u64>(), said(&outcome.text(), "holds"));
    assert!(live(last, "keep").abs_diff(kept) <= kept / 50, "{} of {kept}", live(last, "keep"));
}

#[test]
fn a_sample_goes_on_as_well() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder.path(), "rotated");
    let mut command = recording(folder.path(), &["--sample=2KiB", "--rotate", "100ms", "--verify", "1"]);
    let outcome = run::finish(command.arg(&program).arg("20000"), folder.path(), "run");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let all = reports(folder.path());
    let [allocations, reallocations, bytes] = outcome.counted();
    let near = |what: &str, found: u64, truth: u64, squares: f64| {
        assert!(
            found.abs_diff(truth) as f64 <= 5.0 * squares.sqrt() + 20_000.0,
            "{what}: {found} for {truth}"
        );
    };
    let sum = |of: fn(&Report) -> u64| all.iter().map(of).sum::<u64>();
    let errors = |of: fn(&Report) -> u64| all.iter().map(|report| (of(report) as f64).powi(2)).sum::<f64>();
    near(
        "requests",
        sum(|report| report.totals.allocations + report.totals.reallocations),
        allocations + reallocations,
        errors(|report| report.sampling.map_or(0, |s| s.requests_error)),
    );
    near(
        "bytes",
        sum(|report| report.totals.allocated_bytes),
        bytes,
        errors(|report| report.sampling.map_or(0, |s| s.allocated_bytes_error)),
    );
    let last = all.last().expect("a last one");
    let kept = said(&outcome.text(), "kept");
    let site = last
        .sites
        .iter()
        .filter(|site| last.stack(site).any(|frame| frame.function.as_deref() == Some("keep")));
    let squares = site.map(|site| {
        let [low, high] = site.intervals.expect("an estimate").live_at_exit_bytes;
        ((high - low) as f64 / 4.0).powi(2)
    });
    near("kept", live(last, "keep"), kept, squares.sum());
    let left = ["small", "large", "grown"].map(|function| live(last, function));
    assert!(left.iter().sum::<u64>() < kept / 10, "{left:?}");
    let verified: u64 = all.iter().map(|report| report.stacks.verified).sum();
    let failed: u64 = all.iter().map(|report| report.stacks.verify_failed).sum();
    assert!(verified > 1000 && failed == 0, "{failed} of {verified}");
}

#[test]
fn the_last_files_are_kept_with_names_and_numbers_go_on() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder.path(), "rotated");
    std::fs::write(folder.path().join("part.000007.hw"), "of an earlier recording").expect("a file");
    let mut command = recording(folder.path(), &["--sample=4KiB", "--rotate", "100ms", "--keep", "3"]);
    let outcome = run::finish(command.arg(&program).arg("20000"), folder.path(), "run");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let files = parts(folder.path());
    assert_eq!(files.len(), 3, "{files:?}");
    let name = files[0].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(*name > *"part.000010.hw", "{files:?}");
    assert!(outcome.stderr.contains(&files[2].file_name().expect("a name").to_string_lossy().into_owned()));
    // The names are in them, whatever becomes of the program.
    std::fs::remove_file(&program).expect("the program");
    for report in reports(folder.path()) {
        let calls = report.sum(|names| names.contains(&"small") || names.contains(&"large")).blocks;
        assert!(calls > 0 || report.totals.allocations == 0, "{:?}", report.totals);
    }
}

#[test]
fn a_signal_ends_a_file_and_a_killed_recorder_is_followed_by_the_next_one() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder.path(), "rotated");
    let mut running = Command::new(&program)
        .arg("10000000")
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it can be started");
    let attach = || {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.args(["attach", "--no-report", "-o", "part.hw", "--sample=4KiB", "--rotate", "1h"]);
        let mut attached = run::start(command.arg(running.id().to_string()), folder.path(), "attached");
        attached.wait_for_complaint("stood still");
        attached
    };
    let wait_for_parts = |n: usize| {
        let until = Instant::now() + Duration::from_secs(20);
        while parts(folder.path()).len() < n {
            assert!(Instant::now() < until, "{:?}", parts(folder.path()));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let first = attach();
    std::thread::sleep(Duration::from_millis(500));
    let look = || {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.args(["snapshot", "--format", "json"]).arg(running.id().to_string());
        run::finish(&mut command, folder.path(), "look")
    };
    let looked = look();
    assert_eq!(looked.code(), 0, "{}", looked.stderr);
    assert_eq!(Report::parse(&looked.text()).expect("a report").part.map(|part| part.number), Some(1));
    wait_for_parts(2);
    std::thread::sleep(Duration::from_millis(500));
    first.signal(libc::SIGKILL);
    let _ = first.wait(run::PATIENCE);
    let looked = look();
    assert_eq!(looked.code(), 125, "{}", looked.stderr);
    assert!(looked.stderr.contains("heapwise attach"), "{}", looked.stderr);
    assert_eq!(sessions_in(running.id()), 1, "the first one has left its memory");
    let second = attach();
    assert_eq!(sessions_in(running.id()), 1, "the second one has returned it");
    std::thread::sleep(Duration::from_millis(500));
    second.signal(libc::SIGUSR2);
    wait_for_parts(4);
    std::thread::sleep(Duration::from_millis(300));
    second.signal(libc::SIGINT);
    let outcome = second.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(running.try_wait().expect("a child").is_none(), "it goes on");
    assert_eq!(sessions_in(running.id()), 0);
    running.kill().expect("it runs");
    running.wait().expect("it has ended");
    let all = reports(folder.path());
    let numbers: Vec<u32> = all.iter().map(|report| report.part.expect("one of several").number).collect();
    assert_eq!(numbers, [1, 2, 1, 2]);
    // What the first one could not end is cut off, and readable.
    assert!(all[1].mentions("no-end"), "{:?}", all[1].warnings);
    for report in &all {
        assert!(report.sum(|names| names.contains(&"small")).blocks > 0, "{:?}", report.totals);
    }
    assert!(all[1].part.expect("one of several").live_at_start_blocks > 0);
    assert!(live(&all[1], "keep") > live(&all[0], "keep"), "what was kept before is kept");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = run::private_folder();
    let said = |options: &[&str]| {
        let mut command = recording(folder.path(), options);
        let outcome = run::finish(command.arg("true"), folder.path(), "refused");
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        outcome.stderr
    };
    assert!(said(&["--rotate", "1m"]).contains("--sample"));
    assert!(said(&["--sample", "--rotate", "1m", "--max-size", "1MiB"]).contains("cannot be used with"));
    assert!(said(&["--sample", "--keep", "3"]).contains("--rotate"));
    assert!(said(&["--sample", "--rotate", "10ms"]).contains("100ms at least"));
    assert!(parts(folder.path()).is_empty());
}

#[test]
fn a_program_that_records_itself_is_not_asked_by_a_signal_that_ends_it() {
    // It has the same open: shared memory of that name, and a recording.
    const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    memfd_create("heapwise-session", 0);
    open("own.hw", O_CREAT | O_RDWR, 0600);
    puts("there");
    fflush(stdout);
    pause();
    return 0;
}
"#;
    let folder = run::private_folder();
    let program = compile_text("gcc", &[], PROGRAM, folder.path(), "own");
    let mut running = run::start(&mut run::command(&program, folder.path()), folder.path(), "own");
    running.wait_for("there");
    let mut command = run::command(tool::heapwise(), folder.path());
    let looked = run::finish(command.arg("snapshot").arg(running.pid().to_string()), folder.path(), "look");
    assert_eq!(looked.code(), 125, "{}", looked.stderr);
    assert!(
        looked.stderr.contains("records itself") && looked.stderr.contains("own.hw"),
        "{}",
        looked.stderr
    );
    running.signal(libc::SIGKILL);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 128 + libc::SIGKILL, "it ran until here");
}

/// Starts one short child after the other for some seconds.
const CHILDREN: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline, noipa)) static char *of_child(size_t n) { return malloc(n); }
int main(int argc, char **arguments) {
    time_t until = time(0) + atol(arguments[1]);
    while (time(0) < until) {
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 500; i++) free(of_child(100 + i));
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
    }
    return 0;
}
"#;

#[test]
fn what_a_process_does_last_is_in_the_file_that_says_how_it_ended() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-optimize-sibling-calls"], CHILDREN, folder.path(), "children");
    let mut command = recording(folder.path(), &["--sample=64", "--rotate", "100ms", "--keep", "100"]);
    let outcome = run::finish(command.arg(&program).arg("3"), folder.path(), "run");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let reports = reports(folder.path());
    assert!(reports.len() > 4, "{}", reports.len());
    for report in &reports {
        // Of a process that a file knows nothing of, not even the id is known.
        let unknown = report.processes.iter().filter(|process| process.pid == 0).count();
        let named = report.sum(|names| names.contains(&"of_child")).blocks;
        assert_eq!((unknown, named), (0, report.totals.allocations), "{:?}", report.totals);
    }
    assert!(reports.iter().map(|report| report.totals.allocations).sum::<u64>() > 10_000);
}
