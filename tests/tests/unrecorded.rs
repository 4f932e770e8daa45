//! What is not recorded is said, named, and never taken for something else.

use heapwise_allocators::GLIBC;
use heapwise_tests::build::{FlagSet, build, compile_text};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::{Breakdown, Report};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use std::path::{Path, PathBuf};

fn victim(name: &str, flags: FlagSet) -> PathBuf {
    build(&Victim::named(name), flags)
}

fn at_peak(report: &Report) -> Breakdown {
    let peak = report.memory.at_peak.expect("pages were looked at");
    assert_eq!(peak.sum(), peak.rss_bytes, "the parts add up: {peak:?}");
    peak
}

/// The report for people, from the file.
fn text(recorded: &Recorded, folder: &Path) -> String {
    let mut command = run::command(tool::heapwise(), folder);
    let outcome = run::finish(command.arg("report").arg(&recorded.file), folder, "report");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    outcome.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that nothing was judged without what is missing.
fn withheld(report: &Report) {
    let verdict = report.memory.verdict.as_ref().expect("the reason stands in its place");
    assert_eq!(verdict.kind, "unrecorded", "{verdict:?}");
    assert!(!verdict.remedy.is_empty());
    assert!(
        report.withheld.iter().any(|w| w.what == "verdict" && !w.reason.is_empty()),
        "{:?}",
        report.withheld
    );
}

#[test]
fn memory_that_a_program_maps_itself_is_unrecorded() {
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(victim("own_mmap_arena", FlagSet::Release), &[]);
    let report = recorded.report();
    let peak = at_peak(report);
    assert!((24 << 20..25 << 20).contains(&peak.unrecorded_bytes), "{peak:?}");
    assert!(peak.not_heap_bytes < 8 << 20, "{peak:?}");
    withheld(report);
    let text = text(&recorded, folder.path());
    assert!(
        text.contains("resident at the peak are unrecorded: memory that the program maps itself"),
        "{text}"
    );
    assert!(!text.contains("mostly not heap") && !text.contains("is not heap"), "{text}");
}

#[test]
fn a_program_that_hardly_allocates_is_told_so_and_no_counts() {
    let folder = run::private_folder();
    let script = "find /usr/share -maxdepth 2 >/dev/null; sleep 1";
    let recorded = Recording::new(folder.path()).record("/bin/sh", &["-c", script]);
    let text = text(&recorded, folder.path());
    assert!(text.contains("there is little time to gain: calls of the allocator take "), "{text}");
    assert!(!text.contains("of all allocations"), "{text}");
    assert!(text.contains(&format!("sh -c '{script}'")), "the command is quoted: {text}");
}

#[test]
fn a_program_that_maps_nothing_itself_has_next_to_nothing_unrecorded() {
    for name in ["leak_known", "threads_random", "threads_short_lived", "fork_shares_pages", "rust_hash_map"]
    {
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path()).record(victim(name, FlagSet::Release), &[]);
        let peak = at_peak(recorded.report());
        eprintln!("{name}: {peak:?}");
        assert!(peak.unrecorded_bytes < 256 << 10, "{name}: {peak:?}");
        assert_eq!(recorded.report().withheld, [], "{name}");
    }
}

#[test]
fn an_allocator_inside_a_program_is_named_before_and_after_with_and_without_symbols() {
    for (flags, evidence) in [(FlagSet::Release, "symbol je_malloc"), (FlagSet::Stripped, "<jemalloc>: ")] {
        let folder = run::private_folder();
        let program = victim("allocator_inside", flags);
        let recorded = Recording::new(folder.path()).record(&program, &[]);
        let before = &recorded.outcome.stderr;
        assert!(before.contains("jemalloc") && before.contains(evidence), "{before}");
        let report = recorded.report();
        let spots: Vec<_> =
            report.interception.blind_spots.iter().filter(|s| s.allocator.is_some()).collect();
        assert_eq!(spots.len(), 1, "it is named once: {spots:?}");
        assert_eq!(
            (spots[0].id.as_str(), spots[0].allocator.as_deref()),
            ("own-allocator", Some("jemalloc"))
        );
        let peak = at_peak(report);
        assert!((12 << 20..13 << 20).contains(&peak.unrecorded_bytes), "{peak:?}");
        withheld(report);
        let text = text(&recorded, folder.path());
        let inside = format!(
            "jemalloc inside {} is not recorded: 12.",
            program.canonicalize().expect("a path").display()
        );
        assert!(text.contains(&inside), "{text}");
        assert!(!text.contains("mostly not heap"), "{text}");
    }
}

#[test]
fn an_allocator_inside_a_library_is_named_after_the_run() {
    let folder = run::private_folder();
    let at = folder.path();
    // The same allocator without symbols, in a library that is loaded on the way.
    let source = Victim::named("allocator_inside").source;
    let library = at.join("libengine.so");
    let mut compiler = run::command("cc", at);
    compiler.args(["-O2", "-s", "-shared", "-fPIC", "-Dmain=work"]).arg(source).arg("-o").arg(&library);
    assert_eq!(run::finish(&mut compiler, at, "cc").code(), 0);
    let program = at.join("program");
    let code = "#include <dlfcn.h>\nint main(int n, char **a) { void *l = dlopen(a[1], RTLD_NOW); \
                return l ? ((int (*)(void))dlsym(l, \"work\"))() : 1; }";
    std::fs::write(at.join("program.c"), code).expect("a file");
    let mut compiler = run::command("cc", at);
    compiler.args(["-O2", "program.c", "-ldl", "-o"]).arg(&program);
    assert_eq!(run::finish(&mut compiler, at, "cc").code(), 0);
    let path = library.to_string_lossy().into_owned();
    let recorded = Recording::new(at).record(&program, &[&path]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    let spot = report.interception.blind_spots.iter().find(|s| s.id == "library-allocator").expect("a note");
    assert_eq!(spot.allocator.as_deref(), Some("jemalloc"));
    assert!(spot.file.as_deref().is_some_and(|file| file.ends_with("libengine.so")), "{spot:?}");
    withheld(report);
    assert!(text(&recorded, at).contains("libengine.so is not recorded"));
}

#[test]
fn the_objects_of_python_are_named_unless_it_uses_malloc_for_them() {
    let Some(python) = programs::python() else { return };
    // It waits with all of it, so that its pages are looked at meanwhile.
    let work = "import time; x = [{str(i): (i, i + 1)} for i in range(60000)]; time.sleep(0.3)";
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&python, &["-c", work]);
    let report = recorded.report();
    let peak = at_peak(report);
    assert!(peak.unrecorded_bytes > 8 << 20, "{peak:?}");
    withheld(report);
    let shown = text(&recorded, folder.path());
    assert!(shown.contains("pymalloc inside") && shown.contains("PYTHONMALLOC=malloc"), "{shown}");
    let recording = Recording::new(folder.path()).variable("PYTHONMALLOC", "malloc");
    let recorded = recording.record(&python, &["-c", work]);
    let peak = at_peak(recorded.report());
    assert!(peak.unrecorded_bytes < 1 << 20 && peak.live_bytes > 8 << 20, "{peak:?}");
    assert_eq!(recorded.report().withheld, []);
    assert!(!text(&recorded, folder.path()).contains("pymalloc inside"));
}

#[test]
fn a_static_program_with_the_heap_of_a_runtime_has_the_remedy_of_that() {
    let folder = run::private_folder();
    let shown = |arguments: &[&str]| {
        let program = victim("static_runtime", FlagSet::Release);
        text(&Recording::new(folder.path()).record(program, arguments), folder.path())
    };
    let used = shown(&[]);
    assert!(used.contains("Go runtime inside") && used.contains("runtime/pprof"), "{used}");
    assert!(!used.contains("crt-static"), "{used}");
    // None of its pages is there.
    let unused = shown(&["unused"]);
    assert!(!unused.contains("Go runtime") && !unused.contains("runtime/pprof"), "{unused}");
}

#[test]
fn children_without_the_variables_get_them_unless_they_are_not_wanted() {
    let folder = run::private_folder();
    let bare = |recorded: &Recorded| {
        let spots = recorded.report().interception.blind_spots.clone();
        spots.into_iter().find(|spot| spot.id == "bare-child").map(|spot| spot.what)
    };
    let script = "env -i /usr/bin/sort --version > a; LD_PRELOAD= /usr/bin/wc --version > b; /usr/bin/cut --version > c";
    let recorded = Recording::new(folder.path()).record("sh", &["-c", script]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(bare(&recorded), None);
    let programs = |recorded: &Recorded| -> Vec<String> {
        recorded.report().processes.iter().map(|process| process.command[0].clone()).collect()
    };
    let all = programs(&recorded);
    for program in ["/usr/bin/cut", "env", "/usr/bin/sort", "/usr/bin/wc"] {
        assert!(all.iter().any(|name| name == program), "{program}: {all:?}");
    }
    // An empty session says that a program is to be left alone.
    let script = "LD_PRELOAD= HEAPWISE_SESSION= /usr/bin/sort --version > a; /usr/bin/cut --version > c";
    let recorded = Recording::new(folder.path()).record("sh", &["-c", script]);
    assert_eq!(bare(&recorded), None);
    let all = programs(&recorded);
    assert!(
        all.iter().any(|name| name == "/usr/bin/cut") && !all.iter().any(|name| name.contains("sort")),
        "{all:?}"
    );
    // More libraries beside heapwise's are no reason.
    let script = "LD_PRELOAD=\"$LD_PRELOAD:/usr/lib/x86_64-linux-gnu/libm.so.6\" /usr/bin/sort --version > a; exec /usr/bin/wc --version > b";
    assert_eq!(bare(&Recording::new(folder.path()).record("sh", &["-c", script])), None);
    let script = "env -i /usr/bin/sort --version > a";
    let recorded = Recording::new(folder.path()).with(&["--no-follow"]).record("sh", &["-c", script]);
    assert_eq!(bare(&recorded), None, "no child is wanted");
}

#[test]
fn what_processes_left_one_after_the_other_is_not_more_than_there_ever_was() {
    let folder = run::private_folder();
    let program = victim("leak_known", FlagSet::Release);
    let script = format!("for i in 1 2 3 4 5 6; do {0} > out; done", program.display());
    let recorded = Recording::new(folder.path()).record("sh", &["-c", &script]);
    let totals = recorded.report().totals;
    assert!(totals.live_at_exit_bytes <= totals.peak_live_bytes, "{totals:?}");
    assert!(totals.never_freed_bytes > totals.peak_live_bytes, "{totals:?}");
    let sites: u64 = recorded.report().sites.iter().map(|site| site.live_at_exit_bytes).sum();
    assert_eq!(sites, totals.never_freed_bytes);
}

#[test]
fn a_replay_of_a_part_judges_nothing() {
    let folder = run::private_folder();
    let at = folder.path();
    let recorded = Recording::new(at).record(victim("own_mmap_arena", FlagSet::Release), &[]);
    let mut command = run::command(tool::heapwise(), at);
    command.arg("replay").arg(&recorded.file).args(["--with", GLIBC, "--runs", "1"]);
    let outcome = run::finish(&mut command, at, "replay");
    let text = outcome.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The effect of another allocator is not judged"), "{text}");
    assert!(!text.contains("stay with"), "{text}");
}

/// Executes a program as runtimes do that make their system calls themselves: the C library, and the recorder in it, do not know of it.
const PAST_THE_C_LIBRARY: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments) {
    free(malloc(100));
    if (fork() == 0) {
        char *const command[] = {arguments[1], "1", NULL}, *const nothing[] = {NULL};
        long result;
        __asm__ volatile("syscall" : "=a"(result) : "a"(59L), "D"(arguments[1]), "S"(command), "d"(nothing) : "rcx", "r11", "memory");
        _exit(1);
    }
    int status;
    wait(&status);
    return status != 0;
}"#;

#[test]
fn a_child_that_the_recorder_does_not_know_of_is_named() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], PAST_THE_C_LIBRARY, folder.path(), "past");
    let sleep = Path::new("/usr/bin/sleep").canonicalize().expect("each system has it");
    let sleep = sleep.to_str().expect("a path");
    let strays = |recorded: &Recorded| -> Vec<String> {
        let spots = recorded.report().interception.blind_spots.iter();
        spots.filter(|spot| spot.id == "stray-child").map(|spot| spot.what.clone()).collect()
    };
    let recorded = Recording::new(folder.path()).record(&program, &[sleep]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let expected =
        format!("{sleep} is not recorded: a recorded process started it, and heapwise is not in it");
    assert_eq!(strays(&recorded), [expected]);
    // Children that are recorded, and such as are not wanted, are none.
    let recorded = Recording::new(folder.path()).record("sh", &["-c", "sleep 0.6; sleep 0.6 & wait"]);
    assert!(strays(&recorded).is_empty(), "{:?}", strays(&recorded));
    let recorded = Recording::new(folder.path()).with(&["--no-follow"]).record(&program, &[sleep]);
    assert!(strays(&recorded).is_empty(), "{:?}", strays(&recorded));
}
