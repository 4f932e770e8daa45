//! Days in little time: a file every moment, and a heapwise that is killed again and again.
//!
//! `HEAPWISE_SOAK=1800 cargo test -p heapwise-tests --test soak -- --nocapture` takes half an hour for each, and prints by how much memory
//! grows. Without it they take some seconds, in which only losses are found, no slow growth.

use heapwise_tests::build::compile_text;
use heapwise_tests::report::Report;
use heapwise_tests::{run, tool};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Four threads that free each other's blocks, for some seconds or until SIGTERM, with a table of constant size.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define PLACES 2048
static _Atomic(char *) places[PLACES];
static atomic_ulong allocations, reallocations, bytes;
static time_t until;
static volatile sig_atomic_t is_over;
static void end(int signal) { is_over = signal; }
__attribute__((noinline, noipa)) static char *small(size_t n) { return malloc(n); }
__attribute__((noinline, noipa)) static char *large(size_t n) { return calloc(1, n); }
__attribute__((noinline, noipa)) static char *grown(char *block, size_t n) { return realloc(block, n); }
static void *work(void *argument) {
    unsigned x = 2 * (unsigned)(long)argument + 1;
    for (long i = 1; !is_over && time(0) < until; i++) {
        x = x * 1664525u + 1013904223u;
        size_t size = x >> 31 ? 16 + (x >> 20) % 400 : 2000 + (x >> 16) % 3000;
        char *block = x >> 31 ? small(size) : large(size);
        allocations++;
        bytes += size;
        if (i % 16 == 0) { block = grown(block, 2 * size); reallocations++; bytes += 2 * size; }
        free(atomic_exchange(&places[(x >> 3) % PLACES], block));
        if (i % 64 == 0) usleep(3000);
    }
    return 0;
}
int main(int argc, char **arguments) {
    until = time(0) + atol(arguments[1]);
    signal(SIGTERM, end);
    pthread_t all[4];
    for (long i = 0; i < 4; i++) pthread_create(&all[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
    for (int i = 0; i < PLACES; i++) free(atomic_exchange(&places[i], 0));
    printf("expect %lu %lu %lu\n", (unsigned long)allocations, (unsigned long)reallocations, (unsigned long)bytes);
    return 0;
}
"#;

/// From here on a slope says something.
const LONG: u64 = 600;
/// A recorder for days must not grow by more, in KiB a minute: a gigabyte in a month is 24.
const MOST_GROWTH: f64 = 24.0;

/// How many seconds a soak takes.
fn seconds() -> u64 {
    std::env::var("HEAPWISE_SOAK")
        .map_or(6, |text| text.parse().expect("HEAPWISE_SOAK is a number of seconds"))
}

/// What is resident of a process, in KiB, while time goes on.
#[derive(Default)]
struct Memory {
    /// Minutes and KiB.
    seen: Vec<(f64, f64)>,
}

impl Memory {
    fn look(&mut self, since: Instant, pid: i32) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        if let Some(kib) = line.and_then(|line| line.trim().split(' ').next()?.parse().ok()) {
            self.seen.push((since.elapsed().as_secs_f64() / 60.0, kib));
        }
    }

    /// KiB a minute, with the standard error, by least squares; of the last two thirds, for at first all programs grow.
    fn slope(&self) -> Option<(f64, f64)> {
        let seen = &self.seen[self.seen.len() / 3..];
        let n = seen.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| seen.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|at| at.0), mean(|at| at.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| seen.iter().map(|at| of(at.0 - x, at.1 - y)).sum::<f64>();
        let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
        let slope = xy / xx;
        let rest = sum(&|x, y| (y - slope * x).powi(2));
        (seen.len() > 2 && xx > 0.0).then(|| (slope, (rest / (n - 2.0) / xx).sqrt()))
    }

    /// After a long time, says how it grew, which is bounded.
    fn check(&self, what: &str) {
        let Some((slope, error)) = self.slope().filter(|_| seconds() >= LONG) else { return };
        println!("soak: {what} grows by {slope:.1} ± {error:.1} KiB a minute, {} looks", self.seen.len());
        assert!(slope - 2.0 * error <= MOST_GROWTH, "{what} grows by {slope} ± {error} KiB a minute");
    }
}

/// The numbered files, in their order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "hw"));
    files.sort();
    files
}

fn report(folder: &Path, file: &Path) -> Report {
    let mut command = run::command(tool::heapwise(), folder);
    let outcome = run::finish(command.args(["report", "--format", "json"]).arg(file), folder, "report");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    Report::parse(&outcome.text()).expect("a report")
}

#[test]
fn nothing_is_lost_from_file_to_file_and_memory_stays() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-pthread"], PROGRAM, folder.path(), "soaked");
    let every = if seconds() < 60 { "200ms" } else { "1s" };
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args([
        "run",
        "--no-report",
        "-o",
        "part.hw",
        "--sample=4KiB",
        "--rotate",
        every,
        "--keep",
        "100000",
    ]);
    command.arg("--").arg(&program).arg(seconds().to_string());
    let (since, running) = (Instant::now(), run::start(&mut command, folder.path(), "soak"));
    let [mut ours, mut theirs] = <[Memory; 2]>::default();
    while since.elapsed() < Duration::from_secs(seconds().saturating_sub(2)) {
        std::thread::sleep(Duration::from_millis(if seconds() < 60 { 200 } else { 1000 }));
        ours.look(since, running.pid());
        let children = format!("/proc/{0}/task/{0}/children", running.pid());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        children.split_whitespace().for_each(|pid| theirs.look(since, pid.parse().expect("a number")));
    }
    let outcome = running.wait(Duration::from_secs(60));
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let [allocations, reallocations, bytes] = outcome.counted();
    let files = parts(folder.path());
    assert!(10 * files.len() as u64 > 8 * seconds(), "{} files", files.len());
    let (mut requests, mut requested, mut squares) = (0, 0, [0.0; 2]);
    let mut before: Option<[u64; 2]> = None;
    for (at, file) in files.iter().enumerate() {
        let report = report(folder.path(), file);
        let (part, sampling) = (report.part.expect("one of several"), report.sampling.expect("a sample"));
        assert_eq!((part.number as usize, part.goes_on), (at + 1, at + 1 < files.len()));
        assert_eq!((report.totals.lost_events, report.order.implicit_frees), (0, 0), "file {at}");
        if let Some(before) = before {
            // Each thread may be within a reallocation.
            let here = [part.live_at_start_blocks, part.live_at_start_bytes];
            let differs = |i: usize, most: u64| before[i].abs_diff(here[i]) > most;
            assert!(!differs(0, 200) && !differs(1, 200_000), "file {at}: {before:?}, then {here:?}");
        }
        let live =
            report.processes.iter().filter(|process| process.still_running).fold([0, 0], |sum, process| {
                let totals = &process.totals;
                [sum[0] + totals.live_at_exit_blocks, sum[1] + totals.live_at_exit_bytes]
            });
        before = Some(live);
        requests += report.totals.allocations + report.totals.reallocations;
        requested += report.totals.allocated_bytes;
        squares[0] += (sampling.requests_error as f64).powi(2);
        squares[1] += (sampling.allocated_bytes_error as f64).powi(2);
    }
    for (what, found, truth, squares) in [
        ("requests", requests, allocations + reallocations, squares[0]),
        ("bytes", requested, bytes, squares[1]),
    ] {
        let error = squares.sqrt();
        println!("soak: {what}: {found} ± {error:.0} for {truth}, {} files", files.len());
        // The C library allocates for threads, too.
        assert!(
            found.abs_diff(truth) as f64 <= 5.0 * error + 20_000.0,
            "{what}: {found} ± {error} for {truth}"
        );
    }
    ours.check("heapwise");
    theirs.check("the program");
}

#[test]
fn a_recorder_that_is_killed_comes_back_and_the_program_notices_nothing() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-pthread"], PROGRAM, folder.path(), "soaked");
    let since = Instant::now();
    // Of the time of each recorder, some is for its beginning.
    let kills = (seconds() / 2).clamp(3, 50);
    let span = Duration::from_secs(seconds()) / (kills as u32 + 1);
    let mut command = run::command(&program, folder.path());
    // It ends when it is asked to: how long a busy machine takes for a beginning is not known.
    let running = run::start(command.arg((20 * seconds() + 600).to_string()), folder.path(), "soaked");
    let mut memory = Memory::default();
    for _ in 0..kills {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.args(["attach", "--no-report", "-o", "part.hw", "--sample=4KiB", "--rotate", "1s"]);
        let mut attached = run::start(command.arg(running.pid().to_string()), folder.path(), "attached");
        attached.wait_for_complaint("stood still");
        std::thread::sleep(span.saturating_sub(Duration::from_millis(500)).max(Duration::from_millis(500)));
        memory.look(since, running.pid());
        attached.signal(libc::SIGKILL);
        let _ = attached.wait(run::PATIENCE);
    }
    running.signal(libc::SIGTERM);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(outcome.text().starts_with("expect "), "{}", outcome.text());
    let seen: u64 =
        parts(folder.path()).iter().map(|file| report(folder.path(), file).totals.allocations).sum();
    assert!(parts(folder.path()).len() as u64 >= kills && seen > 0);
    println!("soak: {kills} kills");
    memory.check("the program");
}
