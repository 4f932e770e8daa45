//! Candidates that are wrong, or fail on the way.

use super::command::{candidate, caveats, number, parsed, record, replay, small};
use heapwise_tests::run::private_folder;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A library in C, which stands between the program and glibc.
fn library(folder: &Path, name: &str, code: &str) -> String {
    let source = folder.join(format!("{name}.c"));
    let text = format!(
        "#include <stdlib.h>\n#include <unistd.h>\n#include <errno.h>\n#include <string.h>\n#include <stdint.h>\n\
         extern void *__libc_malloc(size_t); extern void __libc_free(void *);\n\
         extern void *__libc_realloc(void *, size_t); extern void *__libc_calloc(size_t, size_t);\n\
         extern void *__libc_memalign(size_t, size_t);\n\
         static unsigned long calls;\n\
         static int is_worker(void) {{\n\
           static int known = -1;\n\
           if (known < 0) {{\n\
             extern char **environ; (void)environ;\n\
             char line[4096]; int fd = 0; ssize_t n = 0;\n\
             fd = __open_cmdline();\n\
             n = read(fd, line, sizeof line); close(fd);\n\
             known = n > 0 && memmem(line, n, \"replay-worker\", 13) != 0;\n\
           }}\n\
           return known;\n\
         }}\n{code}\n\
         void free(void *p) {{ __libc_free(p); }}\n\
         void *realloc(void *p, size_t n) {{ before(n); return __libc_realloc(p, n); }}\n\
         void *calloc(size_t a, size_t b) {{ return __libc_calloc(a, b); }}\n\
         void *memalign(size_t a, size_t n) {{ return __libc_memalign(a, n); }}\n\
         void *aligned_alloc(size_t a, size_t n) {{ return __libc_memalign(a, n); }}\n\
         int posix_memalign(void **p, size_t a, size_t n) {{ *p = __libc_memalign(a, n); return *p ? 0 : ENOMEM; }}\n"
    )
    .replace("#include <stdlib.h>", "#define _GNU_SOURCE\n#include <stdlib.h>\n#include <fcntl.h>")
    .replace("__open_cmdline()", "open(\"/proc/self/cmdline\", O_RDONLY)");
    fs::write(&source, text).expect("a source");
    let file = folder.join(format!("{name}.so"));
    let status =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&file).arg(&source).status();
    assert!(status.expect("cc can be started").success(), "{name} does not compile");
    file.display().to_string()
}

/// One that does something instead of the call with a number.
pub(super) fn misbehaving(folder: &Path, name: &str, what: &str) -> String {
    let code = format!(
        "static int wrong(void) {{ return is_worker() && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) > 500; }}\n\
         static void before(size_t n) {{}}\n\
         void *malloc(size_t n) {{ if (wrong()) {{ {what} }} return __libc_malloc(n); }}"
    );
    library(folder, name, &code)
}

#[test]
fn wrong_candidates_are_refused_before_anything_is_done() {
    let folder = private_folder();
    let file = small(folder.path());
    for (list, word) in [
        ("jemaloc", "jemalloc"),
        ("jemalloc:dirty_decay=5", "dirty_decay"),
        ("jemalloc:dirty_decay_ms=often", "often"),
    ] {
        let outcome = replay(&file, folder.path(), &["--with", list]);
        assert_eq!(outcome.code(), 2, "{list}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
    }
}

/// Candidates that cannot be used, or fail on the way, are reported, and the others are measured.
#[test]
fn an_allocator_that_fails_does_not_keep_others_from_being_measured() {
    let folder = private_folder();
    let folder = folder.path();
    let file = record("temporary_pairs", folder).file;
    let text = folder.join("text.so");
    fs::write(&text, "no library").expect("a file");
    let empty = {
        let source = folder.join("empty.c");
        fs::write(&source, "int nothing;").expect("a source");
        let library = folder.join("empty.so");
        let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(status.expect("cc can be started").success());
        library
    };
    let crashes = misbehaving(folder, "crashes", "abort();");
    let leaves = misbehaving(folder, "leaves", "_exit(7);");
    let hangs = misbehaving(folder, "hangs", "for (;;) sleep(1);");
    let refuses = misbehaving(folder, "refuses", "errno = ENOMEM; return 0;");
    let well = library(
        folder,
        "well",
        "static void before(size_t n) {} void *malloc(size_t n) { return __libc_malloc(n); }",
    );
    let (text, empty) = (text.display().to_string(), empty.display().to_string());
    let list =
        ["glibc", "/no/such.so", &text, &empty, &crashes, &leaves, &hangs, &refuses, &well, "jemalloc"];
    let outcome = replay(&file, folder, &["--with", &list.join(","), "--runs", "1", "--stall-timeout", "2s"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let all = parsed(&outcome);
    let of = |name: &str| candidate(&all, name)["outcome"].as_str().expect("an outcome").to_owned();
    let trouble = |name: &str| candidate(&all, name)["trouble"].as_str().unwrap_or_default().to_owned();
    for good in ["glibc", "jemalloc", &well] {
        assert_eq!(of(good), "complete", "{good}: {}", trouble(good));
        assert!(number(candidate(&all, good), "peak_rss_bytes") > 0);
    }
    for there_is_none in ["/no/such.so", &text, &empty] {
        assert_eq!(of(there_is_none), "unavailable", "{}", trouble(there_is_none));
    }
    for (name, outcome, word) in [
        (&crashes, "killed", "signal 6"),
        (&leaves, "exited", "code 7"),
        (&hangs, "hung", "no further"),
        (&refuses, "out-of-memory", "out of memory"),
    ] {
        assert_eq!(of(name), outcome, "{}", trouble(name));
        assert!(trouble(name).contains(word), "{}", trouble(name));
        assert!(caveats(&all).iter().any(|caveat| caveat.contains(name.as_str())), "{:?}", caveats(&all));
    }
}
