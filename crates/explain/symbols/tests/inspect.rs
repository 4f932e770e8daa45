//! What is said about an executable before it is run.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::Bench;
use heapwise_symbols::ErrorKind;
use heapwise_symbols::entry_points;
use heapwise_symbols::inspect::{Class, Evidence, Executable, Libc, Machine, Privileges, Search, inspect};
use heapwise_trace::live::plan::InFront;

fn look(path: &Path) -> Executable {
    inspect(path, None).unwrap()
}

/// The allocators found, and whether each seems to reach the C library.
fn allocators(executable: &Executable) -> Vec<(&str, bool)> {
    executable.own_allocators.iter().map(|found| (found.name, found.reaches_libc)).collect()
}

#[test]
fn a_dynamic_program_of_glibc() {
    let bench = Bench::new();
    let found = look(&bench.c("poem", &[]));
    assert_eq!((found.class, found.machine), (Class::Elf64, Machine::X86_64));
    assert!(found.interpreter.as_deref().unwrap().ends_with("/ld-linux-x86-64.so.2"));
    assert_eq!(found.libc, Libc::Glibc);
    assert!(
        found.is_preloaded_into() && !found.stripped && !found.exports_malloc && found.scripts.is_empty()
    );
    assert_eq!(found.needed, ["libc.so.6"]);
    assert_eq!(found.own_allocators, []);
    assert!(!found.privileges.any());
}

#[test]
fn static_programs_have_no_interpreter() {
    let bench = Bench::new();
    for kind in ["-static", "-static-pie"] {
        let found = look(&bench.c("poem", &[kind]));
        assert_eq!((found.interpreter.as_deref(), found.libc), (None, Libc::Static));
        assert!(!found.is_preloaded_into());
        assert_eq!(allocators(&found), [("static malloc", false)]);
    }
}

#[test]
fn another_c_library_is_recognised_by_its_dynamic_linker() {
    let bench = Bench::new();
    let linker = |name: &str| format!("-Wl,--dynamic-linker={name}");
    let found = look(&bench.c("poem", &[&linker("/lib/ld-musl-x86_64.so.1")]));
    assert_eq!(found.libc, Libc::Musl);
    let found = look(&bench.c("poem", &[&linker("/system/bin/linker64")]));
    assert_eq!(found.libc, Libc::Bionic);
}

#[test]
fn a_stripped_program_says_so() {
    let bench = Bench::new();
    assert!(look(&bench.c("poem", &["-s"])).stripped);
}

#[test]
fn allocators_count_only_where_they_are_defined() {
    let bench = Bench::new();
    bench.write("mi.c", "#include <stdlib.h>\nvoid *mi_malloc(size_t n) { return malloc(n); }");
    bench.write(
        "use.c",
        "#include <stddef.h>\nvoid *mi_malloc(size_t); int main(void) { return !mi_malloc(3); }",
    );
    bench.run("cc", &["-shared", "-fPIC", "mi.c", "-o", "libmi.so"]);
    bench.run("cc", &["use.c", "-L.", "-lmi", "-o", "imports"]);
    let found = look(&bench.path("imports"));
    assert_eq!(allocators(&found), []);
    assert_eq!(found.needed, ["libmi.so", "libc.so.6"]);
    bench.run("cc", &["use.c", "mi.c", "-o", "defines"]);
    let found = look(&bench.path("defines"));
    assert_eq!(allocators(&found), [("mimalloc", false)]);
    assert_eq!(found.own_allocators[0].evidence.symbol(), Some("mi_malloc"));
}

/// What a build of jemalloc leaves of itself in constants, and what a table of names in Rust or C does not look like.
#[test]
fn an_allocator_without_symbols_is_recognised_by_its_messages() {
    let bench = Bench::new();
    bench.write(
        "je.c",
        "#include <stdio.h>\n#include <stdlib.h>\n\
         __attribute__((visibility(\"hidden\"))) void *je_malloc(size_t n) {\n\
           void *p = malloc(n); if (!p) fputs(\"<jemalloc>: Error in mmap()\\n\", stderr); return p; }",
    );
    bench.write(
        "use.c",
        "#include <stddef.h>\nvoid *je_malloc(size_t); void *leads(void) { return je_malloc(3); }",
    );
    bench.write("main.c", "void *leads(void); int main(void) { return !leads(); }");
    bench.run("cc", &["-O1", "main.c", "use.c", "je.c", "-s", "-o", "stripped"]);
    let found = look(&bench.path("stripped"));
    assert_eq!(allocators(&found), [("jemalloc", false)]);
    assert_eq!(found.own_allocators[0].evidence, Evidence::Text("<jemalloc>: "));
    bench.run("cc", &["-O1", "-shared", "-fPIC", "use.c", "je.c", "-s", "-o", "libuse.so"]);
    std::fs::copy(bench.path("libuse.so"), bench.path("libcopy.so")).unwrap();
    let mut search = Search::default();
    for name in ["libuse.so", "libcopy.so"] {
        let inside = search.file(&bench.path(name)).unwrap();
        let names: Vec<_> = inside.allocators.iter().map(|found| found.name).collect();
        assert_eq!((names.as_slice(), inside.exports_malloc), (["jemalloc"].as_slice(), false), "{name}");
    }
    assert!(!search.is_cut());
    bench.write(
        "names.c",
        "#include <stdio.h>\nint main(void) { return puts(\"names: <jemalloc>: mimalloc: error: \") < 0; }",
    );
    bench.run("cc", &["names.c", "-o", "names"]);
    assert_eq!(allocators(&look(&bench.path("names"))), []);
}

#[test]
fn a_malloc_of_its_own_is_exported() {
    let bench = Bench::new();
    bench.write(
        "own.c",
        "#include <stddef.h>\nstatic char arena[4096]; static size_t used;\n\
         void *malloc(size_t n) { used += n; return arena + used - n; } void free(void *p) { (void)p; }\n\
         int main(void) { return !malloc(3); }",
    );
    bench.run("cc", &["own.c", "-o", "own"]);
    let found = look(&bench.path("own"));
    assert!(found.exports_malloc);
    assert_eq!(allocators(&found), [("own malloc", false)]);
    bench.run("strip", &["own"]);
    let found = look(&bench.path("own"));
    assert!(found.exports_malloc && found.stripped, "the dynamic symbol remains");
}

const ALLOCATOR: &str = r#"
use std::alloc::{GlobalAlloc, Layout, System};
struct Own;
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { unsafe { ALLOC } }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) { unsafe { FREE } }
}
#[global_allocator] static GLOBAL: Own = Own;
fn main() { println!("{:?}", std::env::args().collect::<Vec<_>>()); }
"#;

#[test]
fn a_rust_program_with_the_default_allocator_has_none_of_its_own() {
    let bench = Bench::new();
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        assert_eq!(allocators(&look(&bench.rust("poem", &[level]))), []);
    }
    // Link-time optimisation leaves no symbol that shows it.
    let found = look(&bench.rust("poem", &["-O", "-Clto=fat"]));
    assert!(found.own_allocators.iter().all(|found| found.reaches_libc), "{found:?}");
}

#[test]
fn a_global_allocator_in_rust_is_found() {
    let bench = Bench::new();
    let on_libc =
        ALLOCATOR.replace("ALLOC", "System.alloc(layout)").replace("FREE", "System.dealloc(block, layout)");
    let arena = ALLOCATOR
        .replace(
            "ALLOC",
            "{ static mut ARENA: [u8; 1 << 20] = [0; 1 << 20]; static mut USED: usize = 0; \
            USED = (USED + layout.align() - 1) & !(layout.align() - 1); USED += layout.size(); \
            (&raw mut ARENA).cast::<u8>().add(USED - layout.size()) }",
        )
        .replace("FREE", "{ let _ = (block, layout, System); }");
    for arguments in [["-Copt-level=0", "-Csymbol-mangling-version=v0"], ["-Copt-level=3", "-Cdebuginfo=0"]] {
        let found = look(&bench.rust_source("on_libc", &on_libc, &arguments));
        assert_eq!(allocators(&found), [("Rust global allocator", true)]);
        let symbol = found.own_allocators[0].evidence.symbol().expect("it has symbols");
        assert!(symbol.ends_with("__rust_alloc"));
        let found = look(&bench.rust_source("arena", &arena, &arguments));
        assert_eq!(allocators(&found), [("Rust global allocator", false)]);
    }
}

#[test]
fn a_script_leads_to_its_interpreter() {
    let bench = Bench::new();
    let path = bench.c("interpreter", &[]);
    let script = bench.write("script", &format!("#! {} -x\nroses\n", path.display()));
    let found = look(&script);
    assert_eq!(
        (found.path.as_path(), found.scripts.as_slice()),
        (path.as_path(), [script.clone()].as_slice())
    );
    assert!(found.is_preloaded_into());

    let outer = bench.write("outer", &format!("#!{}\n", script.display()));
    assert_eq!(look(&outer).scripts, [outer, script]);
}

#[test]
fn env_finds_the_interpreter_in_the_path() {
    let bench = Bench::new();
    let path = bench.c("python9", &[]);
    let search_path = format!("/nowhere:{}", path.parent().unwrap().display());
    for line in ["#!/usr/bin/env python9", "#!/usr/bin/env -S A=b python9 -u", "#! /usr/bin/env\tpython9"] {
        let script = bench.write("script", &format!("{line}\nprint()\n"));
        assert_eq!(inspect(&script, Some(OsStr::new(&search_path))).unwrap().path, path);
        let error = inspect(&script, Some(OsStr::new("/nowhere"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InterpreterNotFound);
        assert!(error.to_string().contains("\"python9\""), "{error}");
    }
}

#[test]
fn scripts_without_end_are_refused() {
    let bench = Bench::new();
    let path = bench.path("ouroboros");
    bench.write("ouroboros", &format!("#!{}\n", path.display()));
    let error = inspect(&path, None).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::TooManyInterpreters, path.as_path()));
    for line in ["#!", "#!   ", "#!/no/such/interpreter", "#!/bin/sh\r"] {
        let script = bench.write("script", &format!("{line}\n"));
        assert_eq!(inspect(&script, None).unwrap_err().kind(), ErrorKind::InterpreterNotFound, "{line:?}");
    }
}

#[test]
fn privileges_are_read_from_the_mode() {
    let bench = Bench::new();
    let path = bench.c("poem", &[]);
    let with_mode = |mode: u32| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        look(&path).privileges
    };
    assert_eq!(with_mode(0o755), Privileges::default());
    assert_eq!(with_mode(0o4755), Privileges { set_uid: true, ..Privileges::default() });
    assert_eq!(with_mode(0o2755), Privileges { set_gid: true, ..Privileges::default() });
    assert_eq!(with_mode(0o2745), Privileges::default());
    // Setting capabilities needs rights and a tool that may be missing.
    with_mode(0o755);
    if bench.try_run("setcap", &["cap_net_raw+ep", "poem"]) {
        assert!(look(&path).privileges.file_capabilities);
    }
}

#[test]
fn an_object_file_is_no_executable() {
    let bench = Bench::new();
    bench.write("poem.c", common::C);
    bench.run("cc", &["-c", "poem.c"]);
    let error = inspect(&bench.path("poem.o"), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("expected an executable"), "{error}");
}

#[test]
fn a_malloc_that_has_another_name_as_well_is_entered() {
    let bench = Bench::new();
    let text = "#include <stddef.h>
static char room[1 << 20];
static size_t used;
void *tc_malloc(size_t n) { size_t at = used; used += (n + 63) & -64; return room + at; }
void tc_free(void *p) { (void)p; }
";
    let aliases = "void *malloc(size_t) __attribute__((alias(\"tc_malloc\")));
void free(void *) __attribute__((alias(\"tc_free\")));
";
    let main = "int main(void) { return !tc_malloc(3); }";
    for (aliases, is_entered) in [(aliases, true), ("", false)] {
        bench.write("tc.c", &format!("{text}{aliases}{main}"));
        bench.run("cc", &["-O1", "-fno-builtin", "tc.c", "-o", "tc"]);
        let plan = entry_points::plan(&bench.path("tc"), InFront::Library).unwrap();
        let names: Vec<&str> = plan.planned.iter().map(|planned| planned.name.as_str()).collect();
        assert!(names.contains(&"tc_malloc") && !names.contains(&"malloc"), "one function is one: {names:?}");
        assert_eq!(plan.enters_malloc, is_entered);
    }
}

#[test]
fn where_go_makes_system_calls_is_found_by_what_it_consists_of() {
    let bench = Bench::new();
    let function = |alignment: &str| {
        format!(
            "asm(\".text\\n{alignment}\\nmov %rsi, %r10\\nmov %rdi, %rdx\\nmov %rcx, %rsi\\nmov %rbx, %rdi\\nsyscall\\nret\\n\");\n"
        )
    };
    let aligned = function(".balign 32");
    let sign = "__attribute__((section(\".go.buildinfo\"))) char sign[16] = \"x\";\n";
    let main = "int main(void) { return 0; }\n";
    for (what, text, is_found) in [
        ("once, in a program of Go", format!("{sign}{aligned}"), true),
        ("in no program of Go", aligned.clone(), false),
        ("twice", format!("{sign}{aligned}{aligned}"), false),
        ("in the middle of a function", format!("{sign}{}", function(".balign 32; nop")), false),
        ("not at all", sign.to_owned(), false),
    ] {
        bench.write("go.c", &format!("{text}{main}"));
        bench.run("cc", &["-O1", "-s", "go.c", "-o", "go"]);
        let plan = entry_points::plan(&bench.path("go"), InFront::Library).unwrap();
        let names: Vec<&str> = plan.planned.iter().map(|planned| planned.name.as_str()).collect();
        assert_eq!(names.contains(&"Syscall6"), is_found, "{what}: {names:?}");
    }
}
