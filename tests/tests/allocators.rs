//! The registry of allocators: that each is what it is called, gets the chosen settings, and is what real programs get.

use heapwise_allocators::{Candidate, Kind, Libraries, Origin, Prepared, Setting, bundled};
use heapwise_tests::{programs, run, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The outcome of `heapwise allocators CANDIDATES`, and each candidate's part of it.
fn check(candidates: &str) -> (run::Outcome, BTreeMap<String, Value>) {
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["allocators", candidates, "--format", "json"]);
    let outcome = run::finish(&mut command, folder.path(), "allocators");
    let found: Value = serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{candidates}: {e}: {}{}", outcome.text(), outcome.stderr));
    assert_eq!(found["schema"], "heapwise.allocators/1");
    let checks = found["checks"].as_array().expect("checks").iter();
    let by_name = checks.map(|c| (c["candidate"].as_str().expect("a name").to_owned(), c.clone()));
    let by_name = by_name.collect();
    (outcome, by_name)
}

/// The bundled libraries as heapwise has them, from the same folders.
fn prepare(candidate: &str) -> Prepared {
    static LIBRARIES: OnceLock<Libraries> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        let bytes = |name| &*std::fs::read(tool::allocator(name)).expect("it was built").leak();
        Libraries::new(&bundled().map(|a| (a.name(), bytes(a.name()))).collect::<Vec<_>>())
    });
    libraries.prepare(&Candidate::parse(candidate).expect("a candidate")).expect("it is there")
}

#[test]
fn every_allocator_is_what_it_is_called() {
    let names: Vec<&str> = bundled().map(|allocator| allocator.name()).collect();
    assert!(names.starts_with(&["glibc", "jemalloc", "mimalloc", "mimalloc2", "snmalloc", "rpmalloc"]));
    let (outcome, checks) = check(&format!("default,{}", names.join(",")));
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(checks.len(), 1 + names.len());
    for allocator in bundled() {
        let found = &checks[allocator.name()];
        assert_eq!(found["name"], allocator.name());
        let version = found["version"].as_str().expect("a version");
        assert!(version.starts_with(&allocator.version()), "{found}");
        assert!(found["object"].as_str().is_some_and(|path| path.starts_with("/proc/")), "{found}");
    }
    assert_eq!(checks["default"]["name"], "glibc");
    // What glibc's documentation says, and what size classes of 16 bytes make of it.
    assert_eq!(checks["glibc"]["usable_of_100"], 104);
    assert_eq!(checks["jemalloc"]["usable_of_100"], 112);
    assert!(checks["default"]["object"].as_str().is_some_and(|path| path.contains("libc.so")));
}

#[test]
fn an_installed_tcmalloc_is_found() {
    let Some(_) = programs::library("libtcmalloc_minimal.so.4") else { return };
    let (outcome, checks) = check("tcmalloc:aggressive_decommit=true:release_rate=10");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = checks.values().next().expect("one");
    assert_eq!(found["name"], "tcmalloc");
    assert!(found["version"].as_str().is_some_and(|v| v.starts_with("2.")), "{found}");
    assert_eq!(found["settings"]["aggressive_decommit"], "true");
    // gperftools does not report this one, and so it is not claimed.
    assert_eq!(found["settings"]["release_rate"], Value::Null);
}

/// A value that a setting does not have by itself.
fn another_value(setting: &Setting) -> String {
    if let Some(value) = setting.worth_trying.first() {
        return (*value).to_owned();
    }
    match setting.kind {
        Kind::Switch => if setting.default == "true" { "false" } else { "true" }.to_owned(),
        Kind::Choice(words) => {
            (*words.iter().find(|w| **w != setting.default).expect("two words")).to_owned()
        }
        Kind::Number { least, most, .. } => {
            let default = setting.default.parse().unwrap_or(least);
            let other = if default == least { (least + 64).min(most) } else { least.max(default / 2) };
            other.to_string()
        }
        _ => unreachable!("a kind that this test does not know"),
    }
}

#[test]
fn every_setting_arrives() {
    for allocator in bundled() {
        for setting in allocator.settings() {
            let (name, value) = (setting.name, another_value(setting));
            let spec = format!("{}:{name}={value}", allocator.name());
            let (outcome, checks) = check(&spec);
            assert_eq!(outcome.code(), 0, "{spec}: {}", outcome.stderr);
            assert_eq!(checks[&spec]["settings"][name], value, "{spec}: {}", checks[&spec]);
        }
    }
}

#[test]
fn defaults_are_those_of_the_libraries() {
    let folder = run::private_folder();
    for allocator in bundled().filter(|a| a.origin() != Origin::CLibrary) {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.arg("allocator-identity").args(allocator.settings().iter().map(|s| s.name));
        prepare(allocator.name()).apply(&mut command);
        let outcome = run::finish(&mut command, folder.path(), "identity");
        let answer: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
        for setting in allocator.settings() {
            let what = format!("{}:{}", allocator.name(), setting.name);
            let value =
                answer["settings"][setting.name].as_str().unwrap_or_else(|| panic!("{what} is not reported"));
            // In words where the allocator computes it.
            if setting.accept(setting.default).is_some() {
                assert_eq!(setting.accept(value).as_deref(), Some(setting.default), "{what}");
            }
        }
    }
}

#[test]
fn what_is_no_allocator_is_refused_and_the_others_go_on() {
    let folder = run::private_folder();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library, but longer than a header of one").expect("written");
    let damaged = folder.path().join("damaged.so");
    let whole = std::fs::read(tool::allocator("jemalloc")).expect("it was built");
    std::fs::write(&damaged, &whole[..200]).expect("written");
    let half = folder.path().join("half.so");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("written");
    let empty = folder.path().join("empty.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"]).arg(&empty);
    assert!(cc.status().expect("cc can be started").success());
    let spec = format!(
        "{},{},{},{},/none/such.so,mimalloc:env.MIMALLOC_PURGE_DELAY=soon,jemalloc:env._RJEM_MALLOC_CONF=bogus\\:1,snmalloc",
        text.display(),
        damaged.display(),
        half.display(),
        empty.display()
    );
    let (outcome, checks) = check(&spec);
    assert_eq!(outcome.code(), 3);
    let error = |name: &str| {
        let found = checks.iter().find(|(candidate, _)| candidate.contains(name)).expect("it is there").1;
        found["error"].as_str().unwrap_or_else(|| panic!("{name} was accepted: {found}"))
    };
    assert!(error("text.so").contains("is not a shared library"));
    assert!(error("damaged.so").contains("does not load: "), "{}", error("damaged.so"));
    // The loader maps what is not there.
    assert!(error("half.so").contains("ended with signal"), "{}", error("half.so"));
    assert!(error("empty.so").contains("is not in use: malloc is that of /"));
    assert!(error("/none/such.so").contains("No such file"));
    assert!(error("MIMALLOC_PURGE_DELAY").contains("settings are not understood"));
    assert!(error("_RJEM_MALLOC_CONF").contains("Invalid conf pair: bogus"));
    assert_eq!(checks["snmalloc"]["error"], Value::Null, "the last one is well");
    assert_eq!(outcome.stderr.lines().count(), 7, "a line each: {}", outcome.stderr);
}

#[test]
fn one_that_hangs_or_dies_is_an_error_in_time() {
    let folder = run::private_folder();
    let source = folder.path().join("bad.c");
    for (name, body, wanted) in
        [("hangs", "for (;;) pause();", "did not end within 5 s"), ("dies", "abort();", "SIGABRT")]
    {
        let code = format!(
            "#include <stdlib.h>\n#include <unistd.h>\nvoid *malloc(size_t n) {{ (void)n; {body} return 0; }}\n"
        );
        std::fs::write(&source, code).expect("written");
        let library = folder.path().join(format!("{name}.so"));
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1"]).arg(&source).arg("-o").arg(&library);
        assert!(cc.status().expect("cc can be started").success());
        let (outcome, checks) = check(&format!("{},mimalloc", library.display()));
        assert_eq!(outcome.code(), 3);
        let error = checks.values().find_map(|c| c["error"].as_str()).expect("an error");
        assert!(error.contains(wanted), "{error}");
        assert_eq!(checks["mimalloc"]["error"], Value::Null);
    }
}

#[test]
fn a_mistake_is_reported_with_what_would_be_right() {
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    let outcome = run::finish(command.args(["allocators", "jemaloc"]), folder.path(), "allocators");
    assert_eq!(outcome.code(), 2);
    assert!(outcome.stderr.contains("name one of jemalloc, "), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

/// A number of `redis-cli info memory`.
fn number(info: &str, name: &str) -> u64 {
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or_else(|| panic!("no {name}: {info}"))
}

/// What redis says of its memory with some MB in it.
fn redis(candidate: &str) -> Option<String> {
    let (server, cli) = (programs::find("redis-server")?, programs::find("redis-cli")?);
    let folder = run::private_folder();
    let at = folder.path();
    let socket = at.join("socket").to_string_lossy().into_owned();
    let mut command = run::command(&server, at);
    command.args(["--port", "0", "--unixsocket", &socket, "--save", ""]);
    prepare(candidate).apply(&mut command);
    let mut running = run::start(&mut command, at, "redis");
    running.wait_for("eady to accept connections");
    let ask = |arguments: &[&str]| {
        let mut command = run::command(&cli, at);
        run::finish(command.args(["-s", &socket]).args(arguments), at, "client").text()
    };
    let fill = "for i = 1, 20000 do redis.call('set', 'key:' .. i, string.rep('x', i % 700)) end return 1";
    assert_eq!(ask(&["eval", fill, "0"]), "1\n");
    // It asks its allocator ten times a second, and tells what it heard then.
    std::thread::sleep(Duration::from_secs(1));
    let info = ask(&["info", "memory"]);
    ask(&["shutdown", "nosave"]);
    assert_eq!(running.wait(run::PATIENCE).code(), 0);
    Some(info)
}

/// Debian's redis links libjemalloc. Without a library that comes first, nothing would change its allocator back.
#[test]
fn a_program_that_links_jemalloc_gets_glibc() {
    let Some(usual) = redis("default") else { return };
    if !usual.contains("mem_allocator:jemalloc") {
        eprintln!("SKIPPED: this redis does not link jemalloc");
        return;
    }
    assert!(number(&usual, "allocator_allocated") > 8 << 20, "{usual}");
    for candidate in ["glibc", "mimalloc", "jemalloc:narenas=1"] {
        let info = redis(candidate).expect("it is there");
        // redis asks the library that it links, which has nothing; and adds up usable sizes, which are another's.
        assert!(number(&info, "allocator_allocated") < 2 << 20, "{candidate}: {info}");
        let used = number(&info, "used_memory");
        assert!((8 << 20..40 << 20).contains(&used), "{candidate}: {info}");
    }
}

/// Asks in each way for what cannot be, and sees that it is reported as the C library reports it.
const REFUSES: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static volatile size_t most = SIZE_MAX, two = 2;
#define REFUSED(call) (errno = 0, (call) == NULL && errno == ENOMEM ? 1 : (printf("%s: errno %d\n", #call, errno), 0))
int main(void) {
    int right = 0;
    char *kept = malloc(100);
    kept[99] = 7;
    right += REFUSED(malloc(most - 100));
    right += REFUSED(calloc(most / 2, 3 * two));
    right += REFUSED(realloc(kept, most - 100));
    right += REFUSED(reallocarray(kept, most, two));
    right += REFUSED(reallocarray(NULL, most, two));
    right += REFUSED(pvalloc(most));
    void *block = (void *)1;
    errno = 0;
    right += posix_memalign(&block, 24, 100) == EINVAL && block == (void *)1 && errno == 0;
    right += posix_memalign(&block, 64, most - 100) == ENOMEM && block == (void *)1;
    right += kept[99] == 7;
    errno = 5;
    free(kept);
    free(NULL);
    right += errno == 5;
    printf("%d right\n", right);
}
"#;

#[test]
fn what_cannot_be_had_is_refused_as_the_c_library_refuses_it() {
    let folder = run::private_folder();
    let program = folder.path().join("refuses");
    let source = folder.path().join("refuses.c");
    std::fs::write(&source, REFUSES).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-fno-builtin", "-w"]).arg(&source).arg("-o").arg(&program);
    assert!(compiler.status().expect("cc can be started").success());
    for candidate in ["default"].into_iter().chain(bundled().map(|allocator| allocator.name())) {
        let mut command = run::command(&program, folder.path());
        prepare(candidate).apply(&mut command);
        let outcome = run::finish(&mut command, folder.path(), "program");
        // mimalloc returns null and leaves errno alone, in its own library as in ours.
        let expected = if candidate.starts_with("mimalloc") { "7 right" } else { "10 right" };
        assert_eq!((outcome.code(), outcome.text().lines().last()), (0, Some(expected)), "{candidate}");
    }
}

/// Asks for more than there is, with a handler that gives up the third time.
const NEW_FAILS: &str = r#"
#include <cstdint>
#include <cstdio>
#include <new>
static volatile std::size_t too_much = SIZE_MAX / 4;
static int handled, caught, null;
static void *volatile sink;
static void handler() {
    if (++handled % 3 == 0) std::set_new_handler(nullptr);
}
struct Full {};
static void throwing() { throw Full(); }
struct alignas(256) Wide { char bytes[300]; };
int main() {
    for (int i = 0; i < 100; i++) {
        std::set_new_handler(handler);
        try {
            sink = ::operator new(too_much);
        } catch (const std::bad_alloc &) {
            caught++;
        }
        std::set_new_handler(nullptr);
        if (!::operator new(too_much, std::nothrow)) null++;
        std::set_new_handler(throwing);
        try {
            sink = ::operator new(too_much, std::align_val_t(64));
        } catch (const Full &) {
            caught++;
        }
        Wide *wide = new Wide[3];
        if (reinterpret_cast<std::uintptr_t>(wide) % 256) return 1;
        delete[] wide;
        delete new int;
    }
    std::printf("handled %d caught %d null %d\n", handled, caught, null);
}
"#;

/// Debian's libjemalloc has operators of C++, which do not come by malloc.
#[test]
fn a_cpp_program_that_links_jemalloc_gets_all_of_another() {
    let Some(jemalloc) = programs::library("libjemalloc.so.2") else { return };
    let folder = run::private_folder();
    let program = folder.path().join("new_fails");
    let source = folder.path().join("new_fails.cpp");
    std::fs::write(&source, NEW_FAILS).expect("written");
    let mut compiler = Command::new("g++");
    compiler
        .args(["-O1", "-std=c++17", "-Wl,--no-as-needed"])
        .arg(&source)
        .arg(&jemalloc)
        .arg("-o")
        .arg(&program);
    assert!(compiler.status().expect("g++ can be started").success());
    let run_with = |candidate: &str| {
        let prepared = prepare(candidate);
        let mut command = run::command(&program, folder.path());
        command.env("LD_DEBUG", "bindings").env("LD_BIND_NOW", "1");
        prepared.apply(&mut command);
        let outcome = run::finish(&mut command, folder.path(), "program");
        assert_eq!(outcome.code(), 0, "{candidate}: {}", outcome.stderr);
        (prepared.preload().map(Path::to_owned), outcome)
    };
    for candidate in bundled().map(|allocator| allocator.name()) {
        let (preload, outcome) = run_with(candidate);
        // Handlers are called and exceptions thrown as they should be.
        assert_eq!(outcome.text(), "handled 300 caught 200 null 100\n", "{candidate}");
        let library = preload.expect("a library").display().to_string();
        let from = format!("binding file {} ", program.display());
        let bound: Vec<_> =
            outcome.stderr.lines().filter(|l| l.contains(&from) && l.contains("`_Znw")).collect();
        assert!(!bound.is_empty(), "{candidate}: no operator is bound");
        assert!(bound.iter().all(|line| line.contains(&library)), "{candidate}: {bound:?}");
    }
}
