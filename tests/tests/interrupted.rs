//! Signals are for the program, limits are for the recording, and whatever ends early leaves a file that can be read.

use heapwise_tests::recording::{Recorded, Recording, report_on};
use heapwise_tests::{programs, run, tool};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// A program that says that it runs, allocates all the time, and ends with 5 at an interrupt, with 6 when terminated.
const SERVER: &str = "\
import signal, sys, time
def end(code):
    # What is sent to a whole group by kill arrives twice: once by itself, once passed on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
signal.signal(signal.SIGINT, lambda *_: end(5))
signal.signal(signal.SIGTERM, lambda *_: end(6))
print('ready', flush=True)
kept = []
while True:
    kept.append(bytearray(700))
    if len(kept) > 1000: kept.clear()
    time.sleep(0.0005)
";
/// One that takes no notice of an interrupt, and of its recorder's end, and says so after a while.
const STUBBORN: &str = "\
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('ready', flush=True)
end = time.time() + 3
while time.time() < end:
    kept = [bytearray(700) for _ in range(100)]
    time.sleep(0.005)
print('done', flush=True)
";
/// One that allocates for about a second, a known number of blocks in each tenth.
const STEADY: &str = "\
import time
for i in range(10):
    kept = [bytearray(777) for _ in range(1000)]
    time.sleep(0.1)
print('done')
";

/// The interpreter itself: a script in its place would start other programs first.
fn python() -> PathBuf {
    programs::python().expect("python3 is needed to test signals")
}

fn started(recording: &Recording, script: &str) -> run::Running {
    let mut running = recording.start(python(), &["-S", "-c", script]);
    running.wait_for("ready");
    // So that there is something to keep.
    std::thread::sleep(Duration::from_millis(700));
    running
}

#[test]
fn an_interrupt_goes_to_the_program_and_the_report_still_comes() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path());
    let running = started(&recording, SERVER);
    running.signal_group(libc::SIGINT);
    let recorded = recording.wait(running);
    assert_eq!(recorded.outcome.code(), 5, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().exit.code, Some(5));
    assert!(recorded.report().totals.requests() > 500);
}

#[test]
fn a_signal_to_heapwise_alone_is_passed_on() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path());
    for (signal, code) in [(libc::SIGTERM, 6), (libc::SIGINT, 5)] {
        let running = started(&recording, SERVER);
        running.signal(signal);
        let recorded = recording.wait(running);
        assert_eq!(recorded.outcome.code(), code, "{}", recorded.outcome.stderr);
        assert_eq!(recorded.report().exit.code, Some(code));
    }
}

#[test]
fn a_second_interrupt_stops_at_once_and_keeps_the_file() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path());
    // It goes on for so long that a busy machine cannot make the one look like the other.
    let program = STUBBORN.replace("+ 3", "+ 30");
    assert_ne!(program, STUBBORN);
    let running = started(&recording, &program);
    running.signal_group(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    running.signal_group(libc::SIGINT);
    let outcome = running.wait(Duration::from_secs(15));
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    readable(&recording.file(), folder.path(), false);
}

#[test]
fn the_program_outlives_a_killed_recorder_and_the_file_can_be_read() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path());
    let mut running = started(&recording, STUBBORN);
    running.signal(libc::SIGKILL);
    let pause = Duration::from_millis(100);
    let said = |running: &run::Running| running.said().contains("done");
    let patience = (0..100).take_while(|_| !said(&running)).map(|_| std::thread::sleep(pause)).count();
    assert!(said(&running), "the program did not end within {patience} tenths of a second");
    running.wait_for("done");
    readable(&recording.file(), folder.path(), true);
}

/// Checks that a file holds events, and warns if it has no end.
fn readable(file: &Path, folder: &Path, cut_off: bool) {
    let (outcome, report) = report_on(file, folder);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let report = report.expect("a report");
    assert!(report.totals.requests() > 100, "{:?}", report.totals);
    assert_eq!(report.mentions("no-end"), cut_off, "{:?}", report.warnings);
}

fn steady(options: &[&str]) -> (Recorded, u64) {
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).with(options).record(python(), &["-S", "-c", STEADY]);
    assert_eq!(recorded.outcome.text(), "done\n", "{}", recorded.outcome.stderr);
    assert_eq!(recorded.outcome.code(), 0);
    // A bytearray of 777 bytes is a separate block of 778, since Python's own allocator ends at 512.
    let report = recorded.report();
    let bytes = report.sum(|stack| stack.iter().any(|f| f.contains("bytearray"))).bytes;
    (recorded, bytes / 778)
}

#[test]
fn a_duration_ends_the_recording_and_is_said() {
    let (recorded, blocks) = steady(&["--duration", "500ms"]);
    assert!(recorded.report().mentions("stopped-early"), "{:?}", recorded.report().warnings);
    assert!(blocks < 9000, "{blocks} of 10000 blocks were recorded");
}

#[test]
fn a_delay_leaves_out_the_beginning() {
    let (_, all) = steady(&[]);
    assert!(all >= 10_000, "{all} of 10000 blocks were recorded");
    let (recorded, blocks) = steady(&["--delay", "500ms"]);
    assert!((1..9000).contains(&blocks), "{blocks} of 10000 blocks were recorded");
    assert_eq!(recorded.report().totals.lost_events, 0, "what was left out on purpose is no loss");
}

#[test]
fn a_largest_size_bounds_the_file_and_is_said() {
    let folder = run::private_folder();
    // Sizes at random pack badly.
    let work = "import random, time\nfor i in range(100):\n  x = [bytearray(600 + random.randrange(9999)) for _ in range(2000)]\n  \
                time.sleep(0.005)\nprint('done')";
    let recorded =
        Recording::new(folder.path()).with(&["--max-size", "100KiB"]).record(python(), &["-S", "-c", work]);
    assert_eq!(recorded.outcome.text(), "done\n", "{}", recorded.outcome.stderr);
    assert!(recorded.report().mentions("stopped-early"), "{:?}", recorded.report().warnings);
    let size = std::fs::metadata(&recorded.file).expect("a recording").len();
    // Sections are written whole, and the names come on top.
    assert!(size < 2 << 20, "{size} bytes");
}

#[test]
fn the_programs_own_exit_code_is_heapwises() {
    let folder = run::private_folder();
    for (script, code) in
        [("exit 0", 0), ("exit 1", 1), ("exit 42", 42), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)]
    {
        let outcome = run::finish(
            run::command(tool::heapwise(), folder.path())
                .args(["run", "--force", "-o", "a.hw", "--", "sh", "-c", script]),
            folder.path(),
            "code",
        );
        assert_eq!(outcome.code(), code, "{script}: {}", outcome.stderr);
    }
}

/// Runs heapwise with its standard error, and perhaps its standard output, where nothing can be written, and says how it ended.
fn unheard(at: &Path, arguments: &[&str], is_quiet: bool) -> Vec<Option<i32>> {
    let broken = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("a device that is full"));
    let mut codes = Vec::new();
    let targets: [(&str, &dyn Fn() -> Stdio); 2] = [("broken", &broken), ("full", &full)];
    for (name, target) in targets {
        let mut command = run::command(tool::heapwise(), at);
        command.args(arguments).stdout(Stdio::null()).stderr(target());
        if is_quiet && name == "broken" {
            command.stdout(target());
        }
        codes.push(command.status().expect("it can be started").code());
    }
    codes
}

#[test]
fn whether_anybody_reads_what_heapwise_says_changes_no_exit_code() {
    let folder = run::private_folder();
    let at = folder.path();
    let five = ["run", "--force", "-o", "a.hw", "--", "sh", "-c", "exit 5"];
    assert_eq!(unheard(at, &five, false), [Some(5); 2]);
    let json = [&five[..1], &["--format", "json"], &five[1..]].concat();
    assert_eq!(unheard(at, &json, false), [Some(5); 2]);
    assert_eq!(unheard(at, &["run", "--", "no-such-program-anywhere"], false), [Some(127); 2]);
    assert_eq!(unheard(at, &["report", "none.hw"], false), [Some(4); 2]);
    assert_eq!(unheard(at, &["export", "a.hw", "--to", "folded"], true), [Some(0); 2]);
    assert_eq!(unheard(at, &["report", "a.hw"], true), [Some(0); 2]);
    let too_many = ["diff", "a.hw", "a.hw", "--fail-on", "allocations>1"];
    assert_eq!(unheard(at, &too_many, true), [Some(3); 2], "what was found out is said by the code");
    let unknown = ["allocators", "/no/such/library.so"];
    assert_eq!(unheard(at, &unknown, true), [Some(3); 2]);
}
