//! Programs that are linked statically are recorded as others are, whoever starts them: the recorder is written into them.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::{run, tool};
use std::process::{Command, Stdio};

/// Threads that come and go, a fork that goes on, and one that does not: `WORK_BLOCKS` blocks in `work`.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noipa)) static void *work(void *argument) {
    void *blocks[64] = {0};
    for (long i = 0; i < (long)argument; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(16 + i % 500);
    }
    for (int i = 0; i < 64; i++) blocks[i] = realloc(blocks[i], 0);
    return 0;
}
static void threads(void) {
    for (int round = 0; round < 5; round++) {
        pthread_t all[8];
        for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, work, (void *)2000L);
        for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
    }
}
int main(int count, char **arguments) {
    threads();
    int status;
    pid_t child = fork();
    if (child == 0) {
        work((void *)1000L);
        exit(7);
    }
    waitpid(child, &status, 0);
    child = vfork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    work((void *)500L);
    printf("done %d\n", WEXITSTATUS(status));
    return 5;
}
"#;

const WORK_BLOCKS: u64 = 5 * 8 * 2000 + 1000 + 500;
const THREADS: u64 = 5 * 8 + 2;

/// Starts its arguments, one with `posix_spawn` and the next with `vfork` and `execv`, in turn.
const STARTER: &str = r#"
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        char *own[] = {arguments[i], 0};
        pid_t child;
        if (i % 2) posix_spawn(&child, arguments[i], 0, 0, own, environ);
        else if ((child = vfork()) == 0) {
            execv(arguments[i], own);
            _exit(9);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
    return 0;
}
"#;

/// Compilers and flags of static programs; musl only where it is installed.
fn kinds() -> Vec<(&'static str, &'static [&'static str], &'static str)> {
    let mut kinds: Vec<(_, &[&str], _)> =
        vec![("cc", &["-static"], "glibc"), ("cc", &["-static-pie", "-fPIE"], "glibc")];
    if Command::new("musl-gcc").arg("--version").stdout(Stdio::null()).status().is_ok() {
        kinds.push(("musl-gcc", &["-static"], "musl"));
    } else {
        eprintln!("SKIPPED: no musl-gcc: install musl-tools");
    }
    kinds
}

/// Blocks that were handed out in `work`.
fn of_work(recorded: &Recorded) -> u64 {
    let report = recorded.report();
    let is_work = |site: &&_| report.stack(site).any(|frame| frame.function.as_deref() == Some("work"));
    report.sites.iter().filter(is_work).map(|site| site.allocations).sum()
}

#[test]
fn programs_in_c_are_recorded_in_full_with_their_threads_and_forks() {
    let folder = run::private_folder();
    for (at, (compiler, flags, allocator)) in kinds().into_iter().enumerate() {
        let program = compile_text(compiler, flags, PROGRAM, folder.path(), &format!("program{at}"));
        let recorded = Recording::new(folder.path()).verify(20).record(&program, &[]);
        let what = format!("{compiler} {flags:?}: {}", recorded.outcome.stderr);
        assert_eq!((recorded.outcome.code(), recorded.outcome.text().as_str()), (5, "done 3\n"), "{what}");
        let report = recorded.report();
        assert_eq!(of_work(&recorded), WORK_BLOCKS, "{what}");
        assert_eq!((report.processes.len(), report.totals.lost_events), (2, 0), "{what}");
        assert_eq!(report.threads.len() as u64, THREADS, "{what}");
        assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{what}");
        let (verified, failed) = (report.stacks.verified, report.stacks.verify_failed);
        assert!(verified > 1000 && failed == 0, "{verified} stacks, of which {failed} differ: {what}");
        let interception = &report.interception;
        assert_eq!((interception.mode.as_str(), interception.allocator.as_str()), ("ptrace", allocator));
        assert!(interception.blind_spots.is_empty(), "{:?}", interception.blind_spots);
    }
}

#[test]
fn a_rust_program_counts_what_is_recorded() {
    for target in ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"] {
        if !tool::has_target(target) {
            continue;
        }
        let program = tool::static_victim("inside_system", target);
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path()).verify(20).record(&program, &[]);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        let report = recorded.report();
        // What counts jumps on, so innermost is who called it: Rust's interface of the global allocator. Neither the C library does,
        // nor what the standard library takes from the system at the side.
        let sites = report.sites.iter().filter(|site| {
            let mut files = report.stack(site).map(|frame| frame.file.as_deref().unwrap_or_default());
            files.find(|file| !file.contains("/sys/alloc/")).is_some_and(|file| {
                file.ends_with("alloc/src/alloc.rs") || file.ends_with("victims-wrapped/src/lib.rs")
            })
        });
        let seen = sites.fold([0; 3], |[allocations, reallocations, bytes], site| {
            [allocations + site.allocations, reallocations + site.reallocations, bytes + site.allocated_bytes]
        });
        assert_eq!(seen, recorded.outcome.counted(), "{target}: recorded (left) and counted");
        assert_eq!(report.processes.len(), 2, "{target}: it has started itself once more");
        assert_eq!((report.totals.lost_events, report.order.unknown_frees), (0, 0), "{target}");
        assert!(report.stacks.verified > 1000 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
    }
}

#[test]
fn static_children_are_recorded_whoever_starts_them() {
    let folder = run::private_folder();
    let programs: Vec<_> = { kinds().into_iter().enumerate() }
        .map(|(at, (compiler, flags, _))| {
            compile_text(compiler, flags, PROGRAM, folder.path(), &format!("program{at}"))
        })
        .collect();
    let arguments: Vec<_> =
        programs.iter().chain(&programs).map(|program| program.to_str().expect("a path")).collect();
    let starters = [("cc", &[][..]), ("cc", &["-static"][..])];
    for (at, (compiler, flags)) in starters.into_iter().enumerate() {
        let starter = compile_text(compiler, flags, STARTER, folder.path(), &format!("starter{at}"));
        let recorded = Recording::new(folder.path()).record(&starter, &arguments);
        let what = format!("{flags:?}: {}", recorded.outcome.stderr);
        assert_eq!(recorded.outcome.code(), 0, "{what}");
        let codes = recorded.outcome.text().lines().filter(|line| *line == "5").count();
        assert_eq!(codes, arguments.len(), "{what}");
        assert_eq!(of_work(&recorded), WORK_BLOCKS * arguments.len() as u64, "{what}");
        assert_eq!(recorded.report().processes.len(), 1 + 2 * arguments.len(), "{what}");
        let spots = &recorded.report().interception.blind_spots;
        assert!(spots.is_empty(), "{flags:?}: {spots:?}");
    }
    // A shell executes it in a child, and then in its own place; an empty environment does not matter.
    let script = format!("{0} > one; env -i {0} > two; exec {0}", arguments[0]);
    let recorded = Recording::new(folder.path()).record("sh", &["-c", &script]);
    assert_eq!(recorded.outcome.code(), 5, "{}", recorded.outcome.stderr);
    assert_eq!(of_work(&recorded), WORK_BLOCKS * 3, "{}", recorded.outcome.stderr);
}

#[test]
fn symbols_in_a_debug_file_are_enough() {
    let folder = run::private_folder();
    let program = compile_text("cc", &["-static"], PROGRAM, folder.path(), "stripped");
    let (path, debug) = (program.to_str().expect("a path"), folder.path().join("stripped.debug"));
    let debug = debug.to_str().expect("a path");
    for arguments in [
        &["--only-keep-debug", path, debug][..],
        &["--strip-all", path],
        &[&format!("--add-gnu-debuglink={debug}"), path],
    ] {
        assert!(
            Command::new("objcopy").args(arguments).status().expect("binutils").success(),
            "{arguments:?}"
        );
    }
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(of_work(&recorded), WORK_BLOCKS, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().order.unknown_frees, 0);
}

#[test]
fn a_static_child_without_symbols_is_named_with_the_reason() {
    let folder = run::private_folder();
    let program = compile_text("cc", &["-static", "-s"], PROGRAM, folder.path(), "stripped");
    let name = program.to_string_lossy().into_owned();
    let recorded = Recording::new(folder.path()).record("sh", &["-c", &format!("{name}; {name}; true")]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let spots = &recorded.report().interception.blind_spots;
    let spot = spots.iter().find(|spot| spot.id == "static-child").expect("it is named");
    assert!(spot.what.starts_with(&name) && spot.what.contains("no symbols"), "{spot:?}");
    assert!(!spot.remedy.is_empty());
    let recorded = Recording::new(folder.path()).with(&["--no-follow"]).record("sh", &["-c", &name]);
    let spots = &recorded.report().interception.blind_spots;
    assert!(!spots.iter().any(|spot| spot.id == "static-child"), "no child is wanted: {spots:?}");
}
