//! `--sample`: estimates are right on average and as exact as they say, whoever frees a block is found, and blocks that are large are
//! all recorded.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::{Report, Site};
use heapwise_tests::{programs, run, tool};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Does so many rounds of work in four threads, each of which frees what another one has allocated, and in a fork, which frees what its
/// parent has. Everything is freed in the end but what `keep` has, in the main thread.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define THREADS 4
#define PLACES 512
static _Atomic(char *) places[PLACES];
static atomic_ulong allocations, reallocations, bytes;
static long rounds;
__attribute__((noinline, noipa)) static char *small(size_t n) { return malloc(n); }
__attribute__((noinline, noipa)) static char *medium(size_t n) { return calloc(1, n); }
__attribute__((noinline, noipa)) static char *large(size_t n) { return aligned_alloc(64, n); }
__attribute__((noinline, noipa)) static char *grown(char *block, size_t n) { return realloc(block, n); }
__attribute__((noinline, noipa)) static char *keep(size_t n) { return malloc(n); }
static void count(size_t n) { allocations++; bytes += n; }
static void *work(void *argument) {
    unsigned x = 2 * (unsigned)(long)argument + 1;
    for (long i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u;
        unsigned what = x >> 24, n = (x >> 8) % 200;
        char *block;
        size_t size;
        if (what < 200) { size = 1 + n; block = small(size); }
        else if (what < 254) { size = 1000 + 40 * n; block = medium(size); }
        else { size = 64 * (4096 + n); block = large(size); }
        count(size);
        if (what % 16 == 0) {
            block = grown(block, 2 * size);
            reallocations++;
            bytes += 2 * size;
        }
        free(atomic_exchange(&places[(x >> 3) % PLACES], block));
    }
    return 0;
}
static void clear(void) { for (int i = 0; i < PLACES; i++) free(atomic_exchange(&places[i], 0)); }
static void say(void) { printf("expect %lu %lu %lu\n", (unsigned long)allocations, (unsigned long)reallocations, (unsigned long)bytes); fflush(stdout); }
int main(int argc, char **arguments) {
    rounds = atol(arguments[1]);
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&all[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        allocations = reallocations = bytes = 0;
        work((void *)9L);
        clear();
        say();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    clear();
    for (int i = 0; i < 40000; i++) { char *block = keep(100); count(100); block[0] = 1; }
    say();
    return status;
}
"#;
const KEPT: u64 = 40_000 * 100;

fn program(folder: &Path) -> PathBuf {
    compile_text("gcc", &["-fno-optimize-sibling-calls"], PROGRAM, folder, "sampled")
}

fn sample(folder: &Path, option: &str) -> Recording {
    Recording::new(folder).with(&[option])
}

/// Requests of a function.
fn requests(report: &Report, function: &str) -> u64 {
    report.sum(|names| names.contains(&function)).blocks
}

/// The functions of a site's stack.
fn names(report: &Report, site: &Site) -> Vec<String> {
    report.stack(site).map(|frame| frame.function.as_deref().unwrap_or("?").to_owned()).collect()
}

/// A mean of estimates, and the truth.
struct Estimates {
    truth: f64,
    all: Vec<(f64, f64)>,
}

impl Estimates {
    fn new(truth: u64) -> Self {
        Self { truth: truth as f64, all: Vec::new() }
    }

    fn add(&mut self, estimate: u64, error: u64) {
        self.all.push((estimate as f64, error as f64));
    }

    /// The mean is within four of its standard errors of the truth, which are less than a hundredth of that; and 95 % of the estimates are
    /// within 1.96 of theirs, as nearly as so many can be.
    fn check(&self, what: &str) {
        let n = self.all.len() as f64;
        let mean = self.all.iter().map(|(estimate, _)| estimate).sum::<f64>() / n;
        let error = self.all.iter().map(|(_, error)| error * error).sum::<f64>().sqrt() / n;
        let is_near = |(estimate, error): &&(f64, f64)| (estimate - self.truth).abs() <= 1.96 * error;
        let covered = self.all.iter().filter(is_near).count() as f64 / n;
        println!(
            "{what}: {mean:.0} ± {error:.0}, the truth is {}; {:.1} % covered",
            self.truth,
            100.0 * covered
        );
        assert!((mean - self.truth).abs() <= 4.0 * error, "{what}: {mean} ± {error} for {}", self.truth);
        assert!(4.0 * error < self.truth / 100.0, "{what}: a weight that is off by 1 % would not be found");
        let tolerance = if n < 1000.0 { 5.5 * (0.95 * 0.05 / n).sqrt() } else { 0.02 };
        assert!((covered - 0.95).abs() <= tolerance, "{what}: {covered}");
    }
}

/// The mean of numbers is within five of its standard errors, by how far they lie apart, of the truth.
fn check_mean(what: &str, numbers: &[u64], truth: u64) {
    assert!(truth > 0, "{what} is not there");
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<u64>() as f64 / n;
    let variance = numbers.iter().map(|&number| (number as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    println!("{what}: {mean:.1} ± {error:.1}, the truth is {truth}");
    assert!((mean - truth as f64).abs() <= 5.0 * error, "{what}: {mean} ± {error} for {truth}");
}

#[test]
fn estimates_are_right_on_average_and_as_exact_as_they_say() {
    let folder = run::private_folder();
    check_estimates(folder.path(), &program(folder.path()));
}

/// Its functions are entered by jumps, and blocks that are none of the sample are freed without the recorder.
#[test]
fn so_are_those_of_a_static_program() {
    let folder = run::private_folder();
    let options = ["-static", "-pthread", "-fno-optimize-sibling-calls"];
    check_estimates(folder.path(), &compile_text("gcc", &options, PROGRAM, folder.path(), "sampled"));
}

fn check_estimates(folder: &Path, program: &Path) {
    // HEAPWISE_RUNS=1000 is what a release is tried with.
    let runs = std::env::var("HEAPWISE_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let exact = Recording::new(folder).record(program, &["40000"]);
    let truth = exact.report().clone();
    let [allocations, reallocations, bytes] = exact.outcome.counted();
    let totals = &truth.totals;
    // The C library allocates for threads, too.
    assert!(totals.allocations - allocations < 20 && totals.reallocations == reallocations, "{totals:?}");
    assert!(totals.allocated_bytes >= bytes && totals.never_freed_bytes >= KEPT);
    let mut all = [
        ("requests", Estimates::new(totals.allocations + totals.reallocations)),
        ("requested bytes", Estimates::new(totals.allocated_bytes)),
        ("live at exit", Estimates::new(KEPT)),
    ];
    let functions = ["small", "medium", "large", "grown", "keep"];
    let mut of_functions = [const { Vec::new() }; 5];
    let mut bytes_of: HashMap<Vec<String>, u64> = HashMap::new();
    for site in &truth.sites {
        *bytes_of.entry(names(&truth, site)).or_default() += site.allocated_bytes;
    }
    let (mut intervals, mut held) = (0, 0u32);
    for _ in 0..runs {
        let recorded = sample(folder, "--sample=1KiB").record(program, &["40000"]);
        let report = recorded.report();
        let sampling = report.sampling.expect("it is a sample");
        assert_eq!((sampling.sample_bytes, report.totals.lost_events), (1 << 10, 0));
        all[0].1.add(report.totals.allocations + report.totals.reallocations, sampling.requests_error);
        all[1].1.add(report.totals.allocated_bytes, sampling.allocated_bytes_error);
        let kept = report.sum(|names| names.contains(&"keep"));
        all[2].1.add(kept.live_bytes, sampling.live_at_exit_bytes_error);
        for (numbers, function) in of_functions.iter_mut().zip(functions) {
            numbers.push(requests(report, function));
        }
        for site in &report.sites {
            let interval = site.intervals.expect("it is an estimate").allocated_bytes;
            let Some(truth) = bytes_of.get(&names(report, site)).filter(|_| interval[0] < interval[1]) else {
                continue;
            };
            intervals += 1;
            held += u32::from((interval[0]..=interval[1]).contains(truth));
        }
    }
    // Those of rarely seen sites are a little wider than they would have to be.
    println!("{held} of {intervals} intervals of sites hold the truth");
    let tolerance = 5.0 * (0.95 * 0.05 / f64::from(intervals)).sqrt();
    let covered = f64::from(held) / f64::from(intervals);
    assert!(intervals >= 5 * runs && (covered - 0.96).abs() <= 0.01 + tolerance, "{held} of {intervals}");
    for (what, estimates) in &all {
        estimates.check(what);
    }
    for (numbers, function) in of_functions.iter().zip(functions) {
        check_mean(function, numbers, requests(&truth, function));
    }
}

#[test]
fn whoever_frees_a_block_is_found() {
    let folder = run::private_folder();
    let program = program(folder.path());
    let recorded = sample(folder.path(), "--sample=4KiB").verify(1).record(&program, &["20000"]);
    let report = recorded.report();
    assert_eq!(report.processes.len(), 2);
    assert!(report.totals.allocations > 50_000 && report.totals.lost_events == 0);
    // Another thread, after a resize, or a forked child: nothing is left but what is kept.
    let left = |name: &str| report.sum(|names| names.contains(&name)).live_bytes;
    assert_eq!(["small", "medium", "large", "grown"].map(left), [0; 4]);
    let kept = left("keep");
    assert!((KEPT - 700_000..KEPT + 700_000).contains(&kept), "{kept}");
    assert!(report.stacks.verified > 1_000 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
    // Which blocks are in which page is not known, nor how long the allocator takes.
    assert!(report.memory.at_peak.is_none() && report.allocator_time.is_none(), "{:?}", report.memory);
    assert!(report.memory.peak_rss_bytes.is_some_and(|rss| rss > 1 << 20));
}

#[test]
fn large_blocks_are_all_recorded() {
    let folder = run::private_folder();
    let program = program(folder.path());
    let exact = Recording::new(folder.path()).record(&program, &["3000"]);
    let large = |recorded: &Recorded| recorded.report().sum(|names| names.contains(&"large"));
    let truth = large(&exact);
    assert!(truth.blocks > 50);
    let sampled = sample(folder.path(), "--sample=256KiB").record(&program, &["3000"]);
    let found = large(&sampled);
    assert_eq!((found.blocks, found.bytes), (truth.blocks, truth.bytes));
    // A sample of everything is everything.
    let all = sample(folder.path(), "--sample=1").record(&program, &["3000"]);
    assert!(all.report().sampling.is_none());
    assert_eq!(all.report().totals.allocations, exact.report().totals.allocations);
}

#[test]
fn an_allocator_inside_and_one_that_is_wrapped_are_sampled_too() {
    for name in ["inside_jemalloc", "inside_mimalloc", "wrapped_jemalloc", "wrapped_system"] {
        let program = tool::victim_wrapped(name, "release");
        let folder = run::private_folder();
        let recorded = sample(folder.path(), "--sample=4KiB").record(&program, &[]);
        let report = recorded.report();
        let [allocations, reallocations, bytes] = recorded.outcome.counted();
        let sampling = report.sampling.expect("it is a sample");
        let near = |found: u64, truth: u64, error: u64| found.abs_diff(truth) <= 5 * error + truth / 50;
        let totals = &report.totals;
        let requests = totals.allocations + totals.reallocations;
        assert!(near(requests, allocations + reallocations, sampling.requests_error), "{name}: {totals:?}");
        assert!(near(totals.allocated_bytes, bytes, sampling.allocated_bytes_error), "{name}: {totals:?}");
        assert_eq!(totals.lost_events, 0);
    }
}

#[test]
fn a_process_that_runs_already_is_sampled() {
    let folder = run::private_folder();
    let program = program(folder.path());
    let mut running = Command::new(&program).arg("100000000000").spawn().expect("it can be started");
    let recording = sample(folder.path(), "--sample=64KiB").with(&["--duration", "1s"]);
    let recorded = recording.wait(recording.attach(running.id() as i32));
    running.kill().expect("it runs");
    running.wait().expect("it has ended");
    let report = recorded.report();
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let sampling = report.sampling.expect("it is a sample");
    assert!(sampling.requests > 100 && report.totals.lost_events == 0, "{sampling:?}");
    // Of so many calls few were recorded.
    assert!(report.totals.allocations > 10 * sampling.requests, "{:?}", report.totals);
    assert!(requests(report, "small") > requests(report, "medium"));
}

#[test]
fn what_is_handed_out_before_the_recording_begins_is_not_in_it() {
    const LATE: &str = r#"
#include <stdlib.h>
#include <unistd.h>
static void *blocks[100];
int main(void) {
    for (int i = 0; i < 100; i++) blocks[i] = malloc(2 << 20);
    usleep(3500000);
    for (int i = 0; i < 50; i++) free(blocks[i]);
    for (int i = 50; i < 100; i++) free(realloc(blocks[i], 4 << 20));
    return 0;
}
"#;
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-fno-builtin"], LATE, folder.path(), "late");
    let recorded = sample(folder.path(), "--sample").with(&["--delay", "2s"]).record(&program, &[]);
    let totals = &recorded.report().totals;
    // The large blocks are recorded whenever something is: those that are resized, at their new sizes.
    assert_eq!([totals.allocations, totals.reallocations, totals.deallocations], [0, 50, 50], "{totals:?}");
}

#[test]
fn a_real_program_is_sampled() {
    let folder = run::private_folder();
    let script = "print(sum(len(str(i) * 20) for i in range(200000)))";
    let python = programs::find("python3").expect("Python");
    let recording = sample(folder.path(), "--sample=16KiB").variable("PYTHONMALLOC", "malloc");
    let exact =
        Recording::new(folder.path()).variable("PYTHONMALLOC", "malloc").record(&python, &["-c", script]);
    let truth = exact.report().totals;
    let recorded = recording.record(&python, &["-c", script]);
    let report = recorded.report();
    let sampling = report.sampling.expect("it is a sample");
    let off = report.totals.allocated_bytes.abs_diff(truth.allocated_bytes);
    assert!(
        off <= 5 * sampling.allocated_bytes_error + truth.allocated_bytes / 100,
        "{truth:?} {:?}",
        report.totals
    );
    assert!(report.totals.allocations > 400_000 && sampling.requests < truth.allocations / 10);
}

#[test]
fn what_cannot_be_in_a_sample_is_refused() {
    let folder = run::private_folder();
    let said = |options: &[&str]| {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.arg("run").args(options).arg("true");
        let outcome = run::finish(&mut command, folder.path(), "refused");
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        outcome.stderr
    };
    assert!(said(&["--sample", "--snapshot-every", "1s"]).contains("cannot be used with"));
    let wrong = said(&["--sample=much"]);
    assert!(wrong.contains("--sample") && wrong.contains("such as 512KiB"), "{wrong}");
}

#[test]
fn tools_find_the_probes_of_opentelemetry() {
    const WAITS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { free(malloc(100)); puts("there"); fflush(stdout); pause(); return 0; }
"#;
    let folder = run::private_folder();
    let program = compile_text("gcc", &[], WAITS, folder.path(), "waits");
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["run", "--no-report", "-o", "waits.hw", "--sample", "--"]).arg(program);
    let mut running = run::start(&mut command, folder.path(), "waits");
    running.wait_for("there");
    // The preload library is a file without a name, which the program has mapped and heapwise has open.
    let files = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).expect("it runs").flatten();
    let is_library = |to: PathBuf| to.to_string_lossy().starts_with("/memfd:heapwise-preload");
    let mut files = files.map(|entry| entry.path());
    let library = files.find(|path| std::fs::read_link(path).is_ok_and(is_library)).expect("it is open");
    let mut command = run::command("readelf", folder.path());
    let notes =
        run::finish(command.args(["--notes", "--wide"]).arg(library), folder.path(), "readelf").text();
    running.signal(libc::SIGTERM);
    let _ = running.wait(run::PATIENCE);
    let probes: Vec<[&str; 3]> = notes
        .split("Provider: ")
        .skip(1)
        .map(|note| {
            let mut lines = note.lines().map(|line| line.trim().rsplit(": ").next().unwrap_or_default());
            let [provider, name] = [(); 2].map(|()| lines.next().expect("two lines"));
            [
                provider,
                name,
                note.lines().find_map(|line| line.trim().strip_prefix("Arguments: ")).expect("arguments"),
            ]
        })
        .collect();
    assert_eq!(probes.len(), 2, "{notes}");
    for (name, arguments) in [("alloc", 3), ("free", 1)] {
        let probe = probes.iter().find(|probe| probe[1] == name).expect("it is there");
        assert_eq!((probe[0], probe[2].split(' ').count()), ("otel_memory", arguments), "{notes}");
    }
}
