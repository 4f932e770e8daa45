//! A recording is analysed while it is written. What the report says is what is said of the whole file.

use heapwise_tests::build::compile_text;
use heapwise_tests::report::Report;
use heapwise_tests::run::{self, private_folder};
use heapwise_tests::tool;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// What is read of each recording.
const HEADER_BYTES: u64 = heapwise_trace::file::HEADER_BYTES as u64;

/// For about two seconds: two threads that keep blocks of each other, a child that is forked in between, and names of its own.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *places[1 << 12];

static void *work(void *arg) {
    unsigned x = (unsigned)(long)arg;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 2000; i++) {
            x = x * 1103515245u + 12345u;
            void *old = __atomic_exchange_n(&places[(x >> 12) % (1 << 12)], malloc(x >> 20 & 1023), __ATOMIC_ACQ_REL);
            free(old);
        }
        usleep(10000);
    }
    return NULL;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, work, (void *)1L);
    if (fork() == 0) {
        for (int i = 0; i < 1000; i++) free(malloc(i));
        _exit(0);
    }
    work((void *)2L);
    pthread_join(other, NULL);
    wait(NULL);
    return 0;
}
"#;

/// Runs heapwise to its end, and returns what it said.
fn heapwise(folder: &Path, arguments: &[&OsStr]) -> String {
    let outcome = run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise");
    assert!(outcome.status.success(), "{arguments:?}: {}", outcome.stderr);
    outcome.stderr
}

/// How many bytes of the recording were read before it had ended, and how many there are.
fn ahead(said: &str) -> (u64, u64) {
    let line = said.lines().find(|line| line.contains(" bytes ahead")).expect("it says so");
    let numbers = line.rsplit_once(", ").expect("they come last").1;
    let mut numbers = numbers.split(' ').filter_map(|word| word.parse().ok());
    (numbers.next().expect("a number"), numbers.next().expect("another one"))
}

/// Runs the program, and says how many bytes were read before it had ended.
fn record(at: &Path, program: &Path) -> u64 {
    let record =
        ["run", "-v", "-o", "a.hw", "--force", "--format", "json", "--report-file", "run.json", "--"];
    let arguments: Vec<&OsStr> = record.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
    let (read, all) = ahead(&heapwise(at, &arguments));
    assert!(read <= all, "{read} of {all}");
    read
}

/// Whether a group has less processor time than it has processors: then nothing is read ahead.
fn has_quota() -> bool {
    let there = Command::new("nproc").output().expect("every system has it");
    let there: usize = String::from_utf8_lossy(&there.stdout).trim().parse().expect("a number");
    std::thread::available_parallelism().expect("it is known").get() < there
}

#[test]
fn the_report_is_that_of_the_whole_recording() {
    let folder = private_folder();
    let at = folder.path();
    let program = compile_text("gcc", &["-O1", "-g", "-fno-builtin", "-pthread"], PROGRAM, at, "two_threads");
    // While other tests have all processors, nothing is read: sometimes they do not.
    let is_any = (0..10).any(|_| record(at, &program) > HEADER_BYTES);
    assert!(is_any || has_quota(), "nothing was read ahead, ten times");
    let report = ["report", "-v", "a.hw", "--format", "json", "-o", "report.json"];
    let (before, _) = ahead(&heapwise(at, &report.map(OsStr::new)));
    assert_eq!(before, HEADER_BYTES, "a file that is there is read from its beginning");
    let [of_run, of_file] = ["run.json", "report.json"]
        .map(|name| std::fs::read_to_string(at.join(name)).expect("it was written"));
    assert!(of_run.contains("\"allocations\"") && of_run == of_file, "{of_run}\n{of_file}");
}

#[test]
fn nothing_is_read_ahead_of_a_sample() {
    let folder = private_folder();
    let program = compile_text(
        "gcc",
        &["-O1", "-g", "-fno-builtin", "-pthread"],
        PROGRAM,
        folder.path(),
        "two_threads",
    );
    let record = ["run", "-v", "-o", "a.hw", "--sample=4KiB", "--"];
    let arguments: Vec<&OsStr> = record.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
    let (read, all) = ahead(&heapwise(folder.path(), &arguments));
    assert!(read == HEADER_BYTES && all > 1000, "{read} of {all}");
}

#[test]
fn without_a_report_names_are_stored_and_events_are_not_gone_through() {
    let folder = private_folder();
    let at = folder.path();
    let program = compile_text("gcc", &["-O1", "-g", "-fno-builtin", "-pthread"], PROGRAM, at, "two_threads");
    let arguments = ["run", "-v", "-o", "unread.hw", "--no-report", "--"].map(OsStr::new);
    let said = heapwise(at, &arguments.into_iter().chain([program.as_os_str()]).collect::<Vec<_>>());
    assert!(said.contains("names of functions") && !said.contains("analysed"), "{said}");
    std::fs::remove_file(&program).expect("it is there");
    heapwise(at, &["report", "unread.hw", "--format", "json", "-o", "unread.json"].map(OsStr::new));
    let report = Report::read(&at.join("unread.json")).expect("a report");
    let named = |name: &str| report.frames.iter().any(|frame| frame.function.as_deref() == Some(name));
    assert!(named("work") && named("main"), "{:?}", report.frames);
    assert!(report.processes.len() == 2 && report.totals.allocations > 801_000, "{:?}", report.totals);
}
