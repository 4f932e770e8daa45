//! `heapwise attach`: processes that run already are recorded, and go on as they were.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run::{self, Outcome, PATIENCE, Running};
use heapwise_tests::{programs, tool};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Waits for `SIGUSR1`, does its work in threads and in a fork, says so, and waits for its end (`SIGTERM`). Each
/// thread does `BLOCKS` calls of `malloc` in `work`, and looks after its blocks.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *before[1000];
__attribute__((noinline, noipa)) static void *work(void *argument) {
    char *blocks[64] = {0};
    for (long i = 0; i < (long)argument; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(16 + i % 500);
        memset(blocks[i % 64], (int)i, 16);
        for (int j = 0; j < 64; j += 7)
            if (blocks[j] && (unsigned char)blocks[j][0] != (unsigned char)blocks[j][15]) abort();
    }
    for (int i = 0; i < 64; i++) blocks[i] = realloc(blocks[i], 0);
    return 0;
}
static void threads(long blocks) {
    pthread_t all[8];
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, work, (void *)blocks);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
}
int main(int count, char **arguments) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, 0);
    for (int i = 0; i < 1000; i++) before[i] = memset(malloc(3000), 1, 3000);
    threads(1000);
    printf("ready\n");
    fflush(stdout);
    for (int signal, round = 0; !sigwait(&wanted, &signal) && signal == SIGUSR1; round++) {
        threads(2000);
        pid_t child = fork();
        if (child == 0) {
            work((void *)1000L);
            _exit(7);
        }
        int status;
        waitpid(child, &status, 0);
        work((void *)500L);
        for (int i = 0; i < 100; i++) free(before[i + 100 * (round % 10)]), before[i + 100 * (round % 10)] = 0;
        printf("done %d %d\n", round, WEXITSTATUS(status));
        fflush(stdout);
    }
    return 5;
}
"#;
const WORK_BLOCKS: u64 = 8 * 2000 + 1000 + 500;
const BEFORE_BYTES: u64 = 900 * 3000;

/// Threads that never rest, until `SIGTERM`; each of them checks its blocks. Says at the end how many calls they made.
const BUSY: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t ends;
static void end(int signal) { ends = 1; }
static void *work(void *argument) {
    long own = (long)argument, calls = 0;
    unsigned char *blocks[32] = {0};
    while (!ends) {
        int at = calls++ % 32;
        if (blocks[at] && (blocks[at][0] != own || blocks[at][15] != own)) abort();
        if (calls % 5 == 0) blocks[at] = realloc(blocks[at], 16 + calls % 300);
        else {
            free(blocks[at]);
            blocks[at] = calls % 3 ? malloc(16 + calls % 700) : aligned_alloc(64, 64 + calls % 64 * 64);
        }
        memset(blocks[at], own, 16);
        if (calls % 512 == 0) usleep(500);
    }
    for (int i = 0; i < 32; i++) free(blocks[i]);
    return (void *)calls;
}
int main(int count, char **arguments) {
    long threads = atol(arguments[1]), calls = 0;
    pthread_t all[64];
    signal(SIGTERM, end);
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, work, (void *)(i + 1));
    printf("ready\n");
    fflush(stdout);
    for (long i = 0; i < threads; i++) {
        void *own;
        pthread_join(all[i], &own);
        calls += (long)own;
    }
    printf("calls %ld\n", calls);
    return 5;
}
"#;

/// What programs begin with that wait for signals: `ready` says that a first one may come.
const SIGNALS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static sigset_t wanted;
static void ready(void) {
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, 0);
    printf("ready\n");
    fflush(stdout);
}
"#;

/// Has 40 MB of blocks when `SIGUSR1` has come, and then waits in a frame with much room that it never writes to: whatever was on the stack
/// there stays.
const IDLE: &str = r#"
static void *blocks[400];
__attribute__((noinline, noipa)) static void *block(void) { return memset(malloc(100000), 1, 100000); }
__attribute__((noinline, noipa)) static void touch(char *room) { (void)room; }
__attribute__((noinline, noipa)) static int wait_with_room(void) {
    char room[1 << 16];
    int signal = 0;
    touch(room);
    printf("waits\n");
    fflush(stdout);
    sigwait(&wanted, &signal);
    touch(room);
    return signal;
}
int main(void) {
    int signal;
    ready();
    sigwait(&wanted, &signal);
    for (int i = 0; i < 400; i++) blocks[i] = block();
    return wait_with_room() == SIGTERM ? 5 : 6;
}
"#;

/// Starts a program, and waits until it says that it is ready.
fn started(program: &Path, arguments: &[&str], folder: &Path) -> Running {
    let mut running = run::start(run::command(program, folder).args(arguments), folder, "program");
    running.wait_for("ready");
    running
}

/// Brightens a picture of 48 MiB by steps when `SIGUSR1` has come, each into a new block of which glibc returned the pages.
const PICTURE: &str = r#"
#define BYTES (48 << 20)
__attribute__((noinline, noipa)) static char *brighter(const char *picture) {
    char *result = malloc(BYTES);
    for (int i = 0; i < BYTES; i += 8) memset(result + i, picture[i] + 1, 8);
    return result;
}
int main(void) {
    int signal;
    ready();
    sigwait(&wanted, &signal);
    char *picture = calloc(1, BYTES);
    for (int i = 0; i < 7; i++) {
        char *result = brighter(picture);
        free(picture);
        picture = result;
    }
    printf("done %d\n", picture[BYTES / 2]);
    fflush(stdout);
    sigwait(&wanted, &signal);
    return 5;
}
"#;

#[test]
fn time_in_the_kernel_is_that_since_it_was_attached_to() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-O1"], &format!("{SIGNALS}{PICTURE}"), folder.path(), "picture");
    let mut running = run::start(&mut run::command(&program, folder.path()), folder.path(), "picture");
    running.wait_for("ready");
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("done 7");
    let recorded = detached(&recording, attached);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    // Without that time nothing is said of new pages.
    let found = recorded.report().findings.iter().find(|finding| finding.id == "new-pages");
    let place = found.and_then(|finding| finding.evidence.first()).cloned().unwrap_or_default();
    assert!(place.starts_with("brighter"), "{:?}", recorded.report().findings);
    assert_eq!(ended(running).code(), 5);
}

/// Interrupts a recording, and waits for its end.
fn detached(recording: &Recording, attached: Running) -> Recorded {
    attached.signal(libc::SIGINT);
    recording.wait(attached)
}

fn ended(program: Running) -> Outcome {
    program.signal(libc::SIGTERM);
    program.wait(PATIENCE)
}

/// Blocks that were handed out in `work`.
fn of_work(recorded: &Recorded) -> u64 {
    let report = recorded.report();
    let is_work = |site: &&_| report.stack(site).any(|frame| frame.function.as_deref() == Some("work"));
    report.sites.iter().filter(is_work).map(|site| site.allocations).sum()
}

/// What a process has mapped that is the recorder's: its memory and its code, which are in no file.
fn left_behind(pid: i32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let is_its =
        |line: &&str| line.contains("memfd:heapwise") || line.contains("r-xp") && !line.contains(['/', '[']);
    maps.lines().filter(is_its).map(str::to_owned).collect()
}

/// The code that a process has mapped, of each file.
fn code(pid: i32) -> BTreeMap<String, u64> {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("it is ours");
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let mut code: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // A page that was changed is a line of its own ever after.
    for line in maps.lines().filter(|line| line.contains("r-xp") && line.contains('/')) {
        let (start, end) =
            line.split_once(' ').and_then(|(range, _)| range.split_once('-')).expect("a range");
        let number = |digits| u64::from_str_radix(digits, 16).expect("a number");
        let mut bytes = vec![0; (number(end) - number(start)) as usize];
        memory.read_exact_at(&mut bytes, number(start)).expect("it is mapped");
        let file = &line[line.find('/').expect("a file")..];
        code.entry(file.to_owned()).or_default().extend(bytes);
    }
    let sum = |bytes: Vec<u8>| {
        let mut hasher = std::hash::DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    code.into_iter().map(|(file, bytes)| (file, sum(bytes))).collect()
}

/// Programs in C, dynamic and static.
fn kinds() -> Vec<(&'static str, &'static [&'static str], &'static str)> {
    let mut kinds: Vec<(_, &[&str], _)> = vec![
        ("cc", &[], "libc.so.6"),
        ("cc", &["-static"], "glibc"),
        ("cc", &["-static-pie", "-fPIE"], "glibc"),
    ];
    if Command::new("musl-gcc").arg("--version").stdout(Stdio::null()).status().is_ok() {
        kinds.push(("musl-gcc", &["-static"], "musl"));
    } else {
        eprintln!("SKIPPED: no musl-gcc: install musl-tools");
    }
    kinds
}

#[test]
fn what_a_process_does_meanwhile_is_recorded_and_it_is_afterwards_as_before() {
    let folder = run::private_folder();
    for (at, (compiler, flags, allocator)) in kinds().into_iter().enumerate() {
        let program = compile_text(compiler, flags, PROGRAM, folder.path(), &format!("program{at}"));
        let mut running = started(&program, &[], folder.path());
        let before = code(running.pid());
        for round in 0..3 {
            let recording = Recording::new(folder.path()).verify(20);
            let attached = recording.attach(running.pid());
            running.signal(libc::SIGUSR1);
            running.wait_for(&format!("done {round} 7"));
            let recorded = detached(&recording, attached);
            let what = format!("{compiler} {flags:?}, round {round}: {}", recorded.outcome.stderr);
            assert_eq!(recorded.outcome.code(), 0, "{what}");
            let report = recorded.report();
            assert_eq!(of_work(&recorded), WORK_BLOCKS, "{what}");
            assert_eq!((report.processes.len(), report.totals.lost_events), (2, 0), "{what}");
            let (verified, failed) = (report.stacks.verified, report.stacks.verify_failed);
            assert!(verified > 500 && failed == 0, "{verified} stacks, of which {failed} differ: {what}");
            let mode = report.interception.mode.as_str();
            assert_eq!(mode, "attach", "{what}");
            assert!(report.interception.allocator.ends_with(allocator), "{:?} {what}", report.interception);
            assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
            let end = report.memory.at_end.as_ref().expect("pages were looked at");
            let least = BEFORE_BYTES - 300_000 * (round + 1);
            assert!(end.before_bytes > least, "{end:?} {what}");
            assert_eq!(end.sum(), end.rss_bytes, "{what}");
            assert_eq!(code(running.pid()), before, "its code is its own again: {what}");
            assert_eq!(left_behind(running.pid()), [""; 0], "{what}");
        }
        assert_eq!(ended(running).code(), 5, "{compiler} {flags:?}");
    }
}

#[test]
fn rust_programs_with_an_allocator_inside_count_what_is_recorded() {
    for allocator in ["jemalloc", "mimalloc", "snmalloc"] {
        for profile in ["dev", "release"] {
            let program = tool::victim_wrapped(&format!("inside_{allocator}"), profile);
            let folder = run::private_folder();
            let mut running = started(&program, &["wait"], folder.path());
            let recording = Recording::new(folder.path()).verify(20);
            let attached = recording.attach(running.pid());
            running.signal(libc::SIGUSR1);
            running.wait_for("expect ");
            let recorded = detached(&recording, attached);
            let outcome = ended(running);
            assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
            let what = format!("{allocator}, {profile}: {}", recorded.outcome.stderr);
            let counted = outcome.counted();
            assert!(counted[0] > 5_000 && counted[1] > 500, "{what}");
            assert_eq!(recorded.of_program(&program), counted, "recorded (left) and counted: {what}");
            let report = recorded.report();
            assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0), "{what}");
            assert_eq!(report.interception.allocator, allocator, "{what}");
        }
    }
}

/// How often a process is attached to, and how often heapwise is killed then. 1,000 and 200 take ten minutes.
const CYCLES: &str = "HEAPWISE_TEST_CYCLES";
const KILLS: &str = "HEAPWISE_TEST_KILLS";

fn times(variable: &str, usually: u64) -> u64 {
    std::env::var(variable).map_or(usually, |times| times.parse().expect("a number"))
}

#[test]
fn a_process_under_load_survives_many_recordings() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["6"], folder.path());
    let before = code(running.pid());
    for cycle in 0..times(CYCLES, 25) {
        let recording = Recording::new(folder.path()).with(&["--duration", "20ms"]);
        let recorded = recording.wait(run::start(
            &mut recording.attach_command(running.pid()),
            folder.path(),
            "attached",
        ));
        let what = format!("cycle {cycle}: {}", recorded.outcome.stderr);
        assert_eq!(recorded.outcome.code(), 0, "{what}");
        assert!(recorded.report().totals.allocations > 100, "{what}");
        assert_eq!(recorded.report().totals.lost_events, 0, "{what}");
    }
    assert_eq!((code(running.pid()), left_behind(running.pid())), (before, vec![]));
    let outcome = ended(running);
    assert_eq!(outcome.code(), 5, "{}", outcome.stderr);
    assert!(outcome.text().contains("calls "), "{}", outcome.text());
}

#[test]
fn a_process_goes_on_when_heapwise_is_killed() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["4"], folder.path());
    for n in 0..times(KILLS, 30) {
        let recording = Recording::new(folder.path()).with(&["--duration", "30ms", "--no-report"]);
        let attached = run::start(&mut recording.attach_command(running.pid()), folder.path(), "attached");
        // From its start on until it has ended.
        std::thread::sleep(Duration::from_micros(n * 7919 % 220_000));
        attached.signal(libc::SIGKILL);
        attached.wait(PATIENCE);
    }
    // What was left is no obstacle.
    let recording = Recording::new(folder.path()).with(&["--duration", "100ms"]);
    let recorded =
        recording.wait(run::start(&mut recording.attach_command(running.pid()), folder.path(), "attached"));
    assert!(recorded.report().totals.allocations > 1000, "{}", recorded.outcome.stderr);
    let outcome = ended(running);
    assert_eq!(outcome.code(), 5, "{}", outcome.stderr);
}

/// A thread that has worked for heapwise sleeps until it is put back. If heapwise is killed just then, the next one sends it back.
#[test]
fn a_thread_that_was_left_asleep_goes_on_with_the_next_recording() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["1"], folder.path());
    let pid = running.pid();
    // The first thread waits for the other one; `pselect6` is the sleep.
    let sleeps = || {
        let call = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
        call.is_ok_and(|call| call.starts_with(&format!("{} ", libc::SYS_pselect6)))
    };
    let recording = Recording::new(folder.path()).with(&["--duration", "30ms", "--no-report"]);
    let was_left_asleep = (0..200).any(|_| {
        let attached = run::start(&mut recording.attach_command(pid), folder.path(), "attached");
        let until = Instant::now() + Duration::from_secs(2);
        while !sleeps() && Instant::now() < until {}
        attached.signal(libc::SIGKILL);
        attached.wait(PATIENCE);
        sleeps()
    });
    assert!(was_left_asleep, "no moment was met in which the thread sleeps");
    let recorded = recording.wait(run::start(&mut recording.attach_command(pid), folder.path(), "attached"));
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert!(!sleeps(), "it went on with the program");
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn what_was_on_a_stack_earlier_keeps_nothing_in_the_process() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], &format!("{SIGNALS}{IDLE}"), folder.path(), "idle");
    let mut running = started(&program, &[], folder.path());
    let before = code(running.pid());
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("waits");
    let recorded = detached(&recording, attached);
    let said = &recorded.outcome.stderr;
    assert_eq!((code(running.pid()), left_behind(running.pid())), (before, vec![]), "{said}");
    assert!(!said.contains("keep the recorder's memory"), "{said}");
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn a_look_that_was_asked_for_is_not_what_was_there_before() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], &format!("{SIGNALS}{IDLE}"), folder.path(), "idle");
    let mut running = started(&program, &[], folder.path());
    let recording = Recording::new(folder.path()).with(&["--snapshot-every", "100ms"]);
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("waits");
    std::thread::sleep(Duration::from_secs(1));
    let recorded = detached(&recording, attached);
    let memory = &recorded.report().memory;
    assert!(memory.snapshots.len() >= 3, "{}", memory.snapshots.len());
    let last = memory.snapshots.last().expect("there are some");
    let end = memory.at_end.expect("pages were looked at");
    for look in [last, &end] {
        assert!(look.live_bytes >= 39_000_000 && look.before_bytes < 1 << 20, "{look:?}");
    }
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn a_stopped_process_stays_stopped() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["2"], folder.path());
    running.signal(libc::SIGSTOP);
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).expect("it is there");
        stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('T'))
    };
    while state() != Some(true) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    assert_eq!(state(), Some(true));
    running.signal(libc::SIGCONT);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(50));
    let recorded = detached(&recording, attached);
    assert!(recorded.report().totals.allocations > 100, "{}", recorded.outcome.stderr);
    assert_eq!(state(), Some(true));
    running.signal(libc::SIGCONT);
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn a_process_that_ends_meanwhile_is_recorded_to_its_end() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], PROGRAM, folder.path(), "program");
    let mut running = started(&program, &[], folder.path());
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("done 0 7");
    assert_eq!(ended(running).code(), 5);
    let recorded = recording.wait(attached);
    assert_eq!(
        (recorded.outcome.code(), of_work(&recorded)),
        (0, WORK_BLOCKS),
        "{}",
        recorded.outcome.stderr
    );
}

/// What heapwise says that does not attach.
fn refused(pid: i32, folder: &Path) -> String {
    let recording = Recording::new(folder);
    let outcome = run::finish(&mut recording.attach_command(pid), folder, "refused");
    assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(!recording.file().exists(), "nothing is left of it");
    outcome.stderr
}

/// Begins a filter of system calls that ends the program at one of them, and waits.
const FILTERED: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(arguments[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 9;
    printf("ready\n");
    fflush(stdout);
    for (void *volatile block;; usleep(1000)) block = malloc(100), free(block);
}
"#;

#[test]
fn each_refusal_says_why_and_the_process_goes_on() {
    let folder = run::private_folder();
    assert!(refused(i32::MAX - 1, folder.path()).contains("there is no such process"));
    assert!(refused(std::process::id() as i32, folder.path()).contains("have started it"));
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    // Recorded by another one.
    let running = started(&program, &["1"], folder.path());
    let other = run::private_folder();
    let recording = Recording::new(other.path());
    let attached = recording.attach(running.pid());
    assert!(refused(running.pid(), folder.path()).contains("records it already"));
    detached(&recording, attached);
    assert_eq!(ended(running).code(), 5);
    if !programs::is_root() {
        eprintln!("SKIPPED: only root reads filters of system calls");
        return;
    }
    let filtered = compile_text("cc", &[], FILTERED, folder.path(), "filtered");
    let forbidden = libc::SYS_mremap.to_string();
    let running = started(&filtered, &[&forbidden], folder.path());
    assert!(refused(running.pid(), folder.path()).contains("does not allow mremap"));
    assert_eq!(ended(running).code(), 128 + libc::SIGTERM);
    // It sleeps for a millisecond at a time, and does not sleep longer for having been stopped.
    let harmless = libc::SYS_ptrace.to_string();
    let running = started(&filtered, &[&harmless], folder.path());
    let recording = Recording::new(folder.path()).with(&["--duration", "100ms"]);
    let recorded = recording.wait(recording.attach(running.pid()));
    assert!(recorded.report().totals.allocations > 10, "{}", recorded.outcome.stderr);
    assert_eq!(ended(running).code(), 128 + libc::SIGTERM);
}

#[test]
fn a_process_in_other_namespaces_is_recorded() {
    if !programs::is_root() || programs::find("unshare").is_none() {
        eprintln!("SKIPPED: only root makes namespaces, with unshare");
        return;
    }
    let folder = run::private_folder();
    let program = compile_text("cc", &[], PROGRAM, folder.path(), "program");
    let mut command = run::command("unshare", folder.path());
    command
        .args(["--mount", "--net", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(&program);
    let mut around = run::start(&mut command, folder.path(), "program");
    around.wait_for("ready");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", around.pid()));
    let pid: i32 = children.expect("it has a child").trim().parse().expect("one");
    let recording = Recording::new(folder.path()).verify(20);
    let attached = recording.attach(pid);
    run::signal_to(pid, libc::SIGUSR1);
    around.wait_for("done 0 7");
    let recorded = detached(&recording, attached);
    let report = recorded.report();
    let seen = (of_work(&recorded), report.totals.lost_events, report.stacks.verify_failed);
    assert_eq!(seen, (WORK_BLOCKS, 0, 0), "{}", recorded.outcome.stderr);
    assert_eq!(report.processes.iter().filter(|process| process.pid == pid as u32).count(), 1);
    run::signal_to(pid, libc::SIGTERM);
    assert_eq!(around.wait(PATIENCE).code(), 5);
}
