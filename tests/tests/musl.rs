//! Dynamic programs of musl: the same library is preloaded into them, and what musl asks itself for is no request of the program.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run;
use std::process::{Command, Stdio};

/// Functions of musl that call others of its own allocator, each a number of times; then a library that is loaded late.
const PROGRAM: &str = r#"
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *blocks[1000];
static void release(void) { for (int i = 0; i < 1000; i++) free(blocks[i]); }
int main(int count, char **arguments) {
    for (int i = 0; i < 1000; i++) blocks[i] = calloc(10, 50);
    for (int i = 0; i < 1000; i++) blocks[i] = realloc(blocks[i], 5000);
    release();
    for (int i = 0; i < 1000; i++) blocks[i] = aligned_alloc(256, 512);
    release();
    for (int i = 0; i < 500; i++) {
        void *block;
        posix_memalign(&block, 64, 100);
        free(block);
    }
    for (int i = 0; i < 100; i++) closedir(opendir("/"));
    void *library = dlopen(arguments[1], RTLD_NOW);
    void *(*late)(int) = (void *(*)(int))dlsym(library, "late");
    for (int i = 0; i < 70; i++) free(late(i));
    puts("done");
    return 3;
}
"#;

const LIBRARY: &str = r#"
#include <stdlib.h>
void *late(int size) {
    void *volatile block = malloc(size + 1);
    return block;
}
"#;

/// How a shell starts a program: in its own place, in a child, and without the variables.
const STARTS: [&str; 3] = [r#"exec "$0" "$@""#, r#""$0" "$@"; exit $?"#, r#"env -i "$0" "$@"; exit $?"#];

#[test]
fn what_the_program_asks_for_is_recorded_once_whoever_starts_it() {
    if Command::new("musl-gcc").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("SKIPPED: no musl-gcc: install musl-tools");
        return;
    }
    let folder = run::private_folder();
    let compile = |flags, source, name| compile_text("musl-gcc", flags, source, folder.path(), name);
    // Debian's wrapper has the table of frames left out, which compilers for musl have made.
    let (program, library) = (
        compile(&["-Wl,--eh-frame-hdr"], PROGRAM, "program"),
        compile(&["-Wl,--eh-frame-hdr", "-shared", "-fPIC"], LIBRARY, "late.so"),
    );
    let [program, library] = [&program, &library].map(|path| path.to_str().expect("a path"));
    for start in STARTS {
        let recorded = Recording::new(folder.path()).verify(7).record("sh", &["-c", start, program, library]);
        assert_is_whole(&recorded, start);
    }
    let recorded = Recording::new(folder.path()).verify(7).record(program, &[library]);
    assert_is_whole(&recorded, "alone");
    let report = recorded.report();
    assert_eq!(report.interception.mode, "preload");
    assert!(report.interception.allocator.contains("musl"), "{:?}", report.interception);
    // What musl asks itself for would be more than that.
    assert_eq!((report.totals.allocations, report.totals.reallocations), (2670, 1000));
    assert_eq!(report.totals.live_at_exit_bytes, 0);
}

/// All blocks of the program are there, at their functions, and all are freed.
fn assert_is_whole(recorded: &Recorded, how: &str) {
    let what = format!("{how}: {}", recorded.outcome.stderr);
    assert_eq!((recorded.outcome.code(), recorded.outcome.text().as_str()), (3, "done\n"), "{what}");
    let [allocations, reallocations, _] = recorded.below("main");
    // Without those of `opendir`, which has no unwind table.
    assert_eq!((allocations, reallocations), (2570, 1000), "{what}");
    assert_eq!(recorded.below("late")[0], 70, "{what}");
    let opened = recorded.below("opendir")[0];
    assert!(opened >= 100, "{opened} {what}");
    let report = recorded.report();
    let (verified, failed) = (report.stacks.verified, report.stacks.verify_failed);
    assert!(verified > 400 && failed == 0, "{verified} stacks, of which {failed} differ: {what}");
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{what}");
    assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
}
