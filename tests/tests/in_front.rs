//! Scripts that change `LD_PRELOAD`. A library before heapwise's has functions that are found by their names before those, and are
//! recorded all the same. A program that is started without heapwise's gets it back.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::{run, tool};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `COUNT` blocks by four functions, of which each third is resized, and all are freed.
const WORK: &str = r#"
#include <stdlib.h>
#define COUNT 3000
__attribute__((noinline)) void work(void) {
    static void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0) blocks[i] = malloc(100);
        else if (i % 3 == 1) blocks[i] = calloc(2, 100);
        else if (posix_memalign(&blocks[i], 64, 300)) abort();
    }
    for (int i = 0; i < COUNT; i += 3) blocks[i] = realloc(blocks[i], 1000);
    for (int i = 0; i < COUNT; i++) free(blocks[i]);
}
int main() { work(); return 0; }
"#;

/// What `work` has requested: calls of allocation functions, reallocations, and bytes of both.
const OF_WORK: [u64; 3] = [3000, 1000, 1000 * (100 + 200 + 300) + 1000 * 1000];

/// Passes on to whatever comes behind it, as a library does that counts or limits.
const WRAPPER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static unsigned long calls;
#define NEXT(name) static __typeof__(name) *next; calls++; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
void *malloc(size_t n) { NEXT(malloc); return next(n); }
void *realloc(void *old, size_t n) { NEXT(realloc); return next(old, n); }
void free(void *block) { NEXT(free); next(block); }
"#;

/// Makes a script.
fn script(folder: &Path, text: &str) -> PathBuf {
    let script = folder.join("start.sh");
    fs::write(&script, format!("#!/bin/sh\n{text}\n")).expect("it can be written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    script
}

/// Starts the program with the library before what is there already.
fn record_behind(library: &Path, program: &Path, folder: &Path) -> Recorded {
    let text = format!("export LD_PRELOAD={}:$LD_PRELOAD\nexec {}", library.display(), program.display());
    Recording::new(folder).verify(5).record(script(folder, &text), &[])
}

#[test]
fn an_allocator_in_front_is_recorded_as_the_programs() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    for allocator in ["jemalloc", "mimalloc", "snmalloc"] {
        let library: PathBuf = tool::allocator(allocator);
        let recorded = record_behind(&library, &program, folder.path());
        assert_eq!(recorded.outcome.code(), 0, "{allocator}: {}", recorded.outcome.stderr);
        // In its first call snmalloc asks the C library for a function at the end of the thread, which that notes in a block.
        let noted = if allocator == "snmalloc" { [1, 0, 32] } else { [0; 3] };
        let expected: [u64; 3] = std::array::from_fn(|i| OF_WORK[i] + noted[i]);
        assert_eq!(recorded.below("work"), expected, "{allocator}: {}", recorded.outcome.stderr);
        let report = recorded.report();
        let process = report.processes.iter().find(|process| process.command[0] == program.to_string_lossy());
        let of = &process.expect("it is recorded").allocator;
        assert!(of.contains(allocator), "{allocator}: {of}");
        // Its own constructor, and the loader, may have had a block before heapwise's library was asked to do anything.
        assert!(report.order.unknown_frees <= 1 && report.order.implicit_frees == 0, "{:?}", report.order);
        assert!(report.stacks.verified > 500 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
        assert_eq!(report.memory.allocators, [], "it is the only one of its process");
    }
}

#[test]
fn a_wrapper_in_front_is_none_and_what_it_passes_on_is_counted_once() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    let flags = ["-shared", "-fPIC", "-fno-builtin"];
    let wrapper = compile_text("cc", &flags, WRAPPER, folder.path(), "wrapper.so");
    let recorded = record_behind(&wrapper, &program, folder.path());
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.below("work"), OF_WORK);
    let report = recorded.report();
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0));
    assert_eq!(report.stacks.verify_failed, 0);
}

/// An allocator that ends the program when it is given a block of another.
const JEALOUS: &str = r#"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
/* heapwise's library, which has this function too, finds out what is behind it. */
__attribute__((constructor)) static void begin(void) { prctl(PR_SET_NAME, "jealous"); }
static char room[64 << 20] __attribute__((aligned(64)));
static size_t used = 64;
static char *own(void *p) {
    if ((char *)p < room || (char *)p >= room + sizeof room) abort();
    return p;
}
void *malloc(size_t n) {
    size_t all = (n + 127) & -64;
    char *p = room + __atomic_fetch_add(&used, all, __ATOMIC_RELAXED) + 64;
    if (p + n > room + sizeof room) abort();
    ((size_t *)p)[-1] = n;
    return p;
}
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void free(void *p) { if (p) own(p); }
void *realloc(void *p, size_t n) {
    if (!p) return malloc(n);
    size_t before = ((size_t *)own(p))[-1];
    return memcpy(malloc(n), p, before < n ? before : n);
}
int posix_memalign(void **out, size_t a, size_t n) { return a > 64 ? 22 : (*out = malloc(n), 0); }
"#;

/// Says at the end who called its `malloc`: code of the executable, or of a library.
const WITNESS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
static unsigned long start, end, by_program, by_libraries;
static int look(struct dl_phdr_info *object, size_t size, void *data) {
    start = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        unsigned long behind = start + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && behind > end) end = behind;
    }
    return 1;
}
__attribute__((constructor)) static void begin(void) { dl_iterate_phdr(look, NULL); }
__attribute__((destructor)) static void finish(void) {
    fprintf(stderr, "by the program %lu, by libraries %lu\n", by_program, by_libraries);
}
void *malloc(size_t n) {
    static __typeof__(malloc) *next;
    unsigned long caller = (unsigned long)__builtin_return_address(0);
    ++*(start <= caller && caller < end ? &by_program : &by_libraries);
    if (!next) next = (__typeof__(malloc) *)dlsym(RTLD_NEXT, "malloc");
    return next(n);
}
"#;

/// A program that records itself need not go through heapwise's library, which would find for each call that there is nothing to do.
#[test]
fn a_program_that_records_itself_calls_what_is_behind_heapwise() {
    let folder = run::private_folder();
    let program = tool::victim_wrapped("wrapped_marks", "dev");
    let witness = compile_text("cc", &["-shared", "-fPIC"], WITNESS, folder.path(), "witness.so");
    let text = format!("export LD_PRELOAD=$LD_PRELOAD:{}\nexec {}", witness.display(), program.display());
    let recorded = Recording::new(folder.path()).record(script(folder.path(), &text), &[]);
    let said = &recorded.outcome.stderr;
    assert_eq!((recorded.outcome.code(), recorded.outcome.text().as_str()), (0, "done\n"), "{said}");
    let count = |of: &str| -> u64 {
        let (_, behind) = said.rsplit_once(of).expect("the library says what it counted");
        behind.split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse().ok()).expect("a number")
    };
    // Five rounds with ten boxes, three with seven, and twenty in a thread.
    assert!(count("by the program ") >= 91, "{said}");
    let report = recorded.report();
    let process = report.processes.iter().find(|process| process.command[0] == program.to_string_lossy());
    assert_eq!(process.expect("it is recorded").allocator, witness.to_string_lossy());
}

/// A program that records itself calls the system's functions behind heapwise's library where it can, and nothing behind another one.
#[test]
fn a_program_that_records_itself_stays_with_the_allocator_in_front() {
    let folder = run::private_folder();
    let program = tool::victim_wrapped("wrapped_marks", "dev");
    let flags = ["-shared", "-fPIC", "-fno-builtin", "-O1"];
    let jealous = compile_text("cc", &flags, JEALOUS, folder.path(), "jealous.so");
    let recorded = record_behind(&jealous, &program, folder.path());
    assert_eq!(
        (recorded.outcome.code(), recorded.outcome.text().as_str()),
        (0, "done\n"),
        "{}",
        recorded.outcome.stderr
    );
    let report = recorded.report();
    let process = report.processes.iter().find(|process| process.command[0] == program.to_string_lossy());
    let process = process.expect("it is recorded");
    assert!(process.totals.allocations > 90 && process.totals.reallocations > 3, "{process:?}");
    assert!(process.allocator.ends_with("jealous.so"), "{}", process.allocator);
    assert_eq!((report.totals.lost_events, report.order.unknown_frees), (0, 0));
}

#[test]
fn a_checking_heap_in_front_is_left_alone_and_named() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    // What is known of such a library is a name that it exports.
    let source = "#include <stddef.h>\nstatic char room[8 << 20]; static size_t used;\nvoid __asan_init(void) {}\n\
                  void *malloc(size_t n) { void *p = room + used; used += (n + 63) & -64; return p; }\n\
                  void *calloc(size_t n, size_t m) { return malloc(n * m); }\n\
                  void *realloc(void *p, size_t n) { return malloc(n); }\n\
                  int posix_memalign(void **out, size_t a, size_t n) { *out = malloc(n); return 0; }\n\
                  void free(void *p) {}\n";
    let flags = ["-shared", "-fPIC", "-fno-builtin"];
    let checking = compile_text("cc", &flags, source, folder.path(), "checking.so");
    let recorded = record_behind(&checking, &program, folder.path());
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.below("work"), [0; 3]);
    let spots = &recorded.report().interception.blind_spots;
    let named = spots.iter().find(|spot| spot.what.contains(&*checking.to_string_lossy()));
    let named = named.unwrap_or_else(|| panic!("{spots:?}"));
    assert!(named.what.starts_with("malloc inside ") && named.what.contains("comes before"), "{named:?}");
    assert!(named.remedy.contains("LD_PRELOAD=$LD_PRELOAD:"), "{named:?}");
}

#[test]
fn a_program_that_is_started_without_the_library_gets_it_back() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    let (name, jemalloc) = (program.display(), tool::allocator("jemalloc"));
    let replaced = format!("exec env LD_PRELOAD={} {name}", jemalloc.display());
    let large =
        "i=0; while [ $i -lt 500 ]; do export V$i=0123456789012345678901234567890123456789; i=$((i+1)); done";
    let scripts = [
        (format!("exec env -i {name}"), 1, "libc.so"),
        (format!("unset LD_PRELOAD HEAPWISE_SESSION; {name}; {name}"), 2, "libc.so"),
        (replaced, 1, "jemalloc"),
        (format!("{large}; unset LD_PRELOAD; exec {name} a b c"), 1, "libc.so"),
    ];
    for (text, times, allocator) in scripts {
        let recorded = Recording::new(folder.path()).verify(5).record(script(folder.path(), &text), &[]);
        assert_eq!(recorded.outcome.code(), 0, "{text}: {}", recorded.outcome.stderr);
        assert_eq!(recorded.below("work"), OF_WORK.map(|n| n * times), "{text}: {}", recorded.outcome.stderr);
        let report = recorded.report();
        let is_it =
            |process: &&heapwise_tests::report::Process| process.command[0] == program.to_string_lossy();
        let of: Vec<_> = report.processes.iter().filter(is_it).map(|process| &process.allocator).collect();
        assert!(of.len() as u64 == times && of.iter().all(|of| of.contains(allocator)), "{text}: {of:?}");
        assert!(report.interception.blind_spots.is_empty(), "{text}: {:?}", report.interception.blind_spots);
        assert_eq!(report.stacks.verify_failed, 0);
    }
}

#[test]
fn what_gains_rights_keeps_them_and_is_named() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("it is ours");
    let text = format!("exec env -i {}", program.display());
    let recorded = Recording::new(folder.path()).record(script(folder.path(), &text), &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.below("work"), [0; 3], "whoever is traced gains nothing, so it is not");
    let spots = &recorded.report().interception.blind_spots;
    assert!(spots.iter().any(|spot| spot.what.contains(&*program.to_string_lossy())), "{spots:?}");
}

#[test]
fn what_an_attached_process_executes_is_recorded() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], WORK, folder.path(), "work");
    let text = format!("read line; {0}; env -i {0}; {0}", program.display());
    let mut shell = Command::new("sh");
    let mut shell = shell.args(["-c", &text]).stdin(Stdio::piped()).spawn().expect("a shell");
    let recording = Recording::new(folder.path()).verify(5);
    let running = recording.attach(shell.id() as i32);
    shell.stdin.take().expect("it reads").write_all(b"go\n").expect("it waits");
    let recorded = recording.wait(running);
    assert!(shell.wait().expect("it ends").success());
    assert_eq!(recorded.below("work"), OF_WORK.map(|n| n * 3), "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
    assert_eq!(report.stacks.verify_failed, 0);
}

#[test]
fn what_an_attached_process_has_executed_goes_on_when_that_is_left() {
    let folder = run::private_folder();
    // It works before and after, and says whether all was well.
    let source = WORK.replace(
        "work(); return 0;",
        "for (int i = 0; i < 20; i++) { work(); usleep(100000); } puts(\"done\"); return 0;",
    );
    let program =
        compile_text("cc", &["-include", "unistd.h", "-include", "stdio.h"], &source, folder.path(), "work");
    let text = format!("read line; {0} & {0}; wait", program.display());
    let mut shell = Command::new("sh");
    let mut shell =
        shell.args(["-c", &text]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let recording = Recording::new(folder.path()).with(&["--duration", "700ms"]);
    let running = recording.attach(shell.id() as i32);
    shell.stdin.take().expect("it reads").write_all(b"go\n").expect("it waits");
    let recorded = recording.wait(running);
    assert!(!recorded.outcome.stderr.contains("could not be left"), "{}", recorded.outcome.stderr);
    let output = shell.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\ndone\n");
    let [allocations, ..] = recorded.below("work");
    assert!(allocations >= 2 * OF_WORK[0] && allocations < 40 * OF_WORK[0], "{allocations}");
}
