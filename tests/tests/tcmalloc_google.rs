//! Google's tcmalloc, which heapwise carries if it was built with it: that one without it says so and how to get it, and
//! that one with it gives programs what was asked for. `HEAPWISE_WITH_ALLOCATORS=tcmalloc-google cargo build` makes the
//! second kind.

use heapwise_allocators::{Allocator, Candidate, Kind, Libraries, by_name, tunings};
use heapwise_tests::folders::target_folder;
use heapwise_tests::{programs, run, tool};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "tcmalloc-google";
const REMEDY: &str = "build it again with HEAPWISE_WITH_ALLOCATORS=tcmalloc-google";
/// Its C++ takes a processor minutes, and the machine may be busy.
const BUILDING: Duration = Duration::from_secs(3600);

fn allocator() -> &'static dyn Allocator {
    by_name(NAME).expect("it is in the registry")
}

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, arguments[0])
}

fn json(outcome: &run::Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", outcome.text(), outcome.stderr))
}

/// What the list of the program under test says of it.
fn listed(folder: &Path) -> Value {
    let found = json(&heapwise(folder, &["allocators", "--format", "json"]));
    let mut all = found["allocators"].as_array().expect("a list").iter();
    all.find(|a| a["name"] == NAME).cloned().expect("it is listed, there or not")
}

/// Says so if the program under test has not got it.
fn is_built_in(folder: &Path) -> bool {
    let is_there = listed(folder)["is_there"].as_bool().expect("yes or no");
    if !is_there {
        eprintln!("SKIPPED: this heapwise was built without {NAME}");
    }
    is_there
}

#[test]
fn a_heapwise_without_it_says_how_to_get_it() {
    let folder = run::private_folder();
    let at = folder.path();
    let list = heapwise(at, &["allocators"]).text();
    if is_built_in(at) {
        assert!(list.contains(
            "\ntcmalloc-google 0.1.14\n  bundled with heapwise, built from libtcmalloc-sys 0.1.14\n"
        ));
        assert_eq!(listed(at)["is_bundled"], true);
        return;
    }
    let line = format!("  not there: this heapwise was built without it; {REMEDY}\n");
    assert!(list.contains(&format!("\ntcmalloc-google 0.1.14\n{line}")), "{list}");
    assert_eq!(listed(at)["is_bundled"], false);
    let error = format!("this heapwise was built without tcmalloc-google: {REMEDY}");
    let asked: [&[&str]; 2] = [
        &["allocators", "tcmalloc-google:per_cpu_caches=true"],
        &["compare", "--runs", "1", "--with", NAME, "--", "/bin/true"],
    ];
    for arguments in asked {
        let outcome = heapwise(at, arguments);
        assert_eq!(outcome.code(), 3, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(&error), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments:?}: {}", outcome.stderr);
    }
    // Without a request it is not mentioned.
    let usual = heapwise(at, &["compare", "--runs", "1", "--", "/bin/true"]);
    let said = format!("{}{}", usual.text(), usual.stderr);
    assert!(said.contains("snmalloc") && !said.contains(NAME), "{said}");
}

#[test]
fn every_setting_arrives_and_defaults_are_the_librarys() {
    let folder = run::private_folder();
    let at = folder.path();
    if !is_built_in(at) {
        return;
    }
    for setting in allocator().settings() {
        let value = match setting.kind {
            Kind::Switch => if setting.default == "true" { "false" } else { "true" }.to_owned(),
            // Times have more than a second and less than one, and all of this is within the ranges.
            _ => "1234567".to_owned(),
        };
        let spec = format!("{NAME}:{}={value}", setting.name);
        let outcome = heapwise(at, &["allocators", &spec, "--format", "json"]);
        assert_eq!(outcome.code(), 0, "{spec}: {}", outcome.stderr);
        let check = &json(&outcome)["checks"][0];
        assert_eq!(check["settings"][setting.name], value, "{check}");
        assert_eq!(check["name"], NAME);
    }
    let library = fs::read(tool::allocator(NAME)).expect("it was built").leak();
    let libraries = Libraries::new(&[(NAME, library)]);
    let prepared = libraries.prepare(&Candidate::parse(NAME).expect("a candidate")).expect("it is there");
    let mut command = run::command(tool::heapwise(), at);
    command.arg("allocator-identity").args(allocator().settings().iter().map(|s| s.name));
    // Whoever runs the tests may have configured the C library to leave rseq alone. That is not asking for caches of processors.
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    prepared.apply(&mut command);
    let answer = json(&run::finish(&mut command, at, "identity"));
    for setting in allocator().settings() {
        assert_eq!(answer["settings"][setting.name], setting.default, "{}", setting.name);
    }
    assert_eq!(answer["has_statistics"], true);
}

#[test]
fn programs_really_have_it() {
    let folder = run::private_folder();
    let at = folder.path();
    if !is_built_in(at) {
        return;
    }
    let with = format!("{NAME},{NAME}:background_thread=true:per_cpu_caches=true");
    let python = programs::find("python3");
    let python = python.as_ref().and_then(|p| p.to_str()).unwrap_or("/bin/ls");
    let line = ["compare", "--runs", "1", "--with", &with, "--format", "json", "--", python, "--version"];
    let outcome = heapwise(at, &line);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = json(&outcome);
    let candidates = found["candidates"].as_array().expect("candidates");
    assert_eq!(candidates.len(), 3);
    for candidate in &candidates[1..] {
        let runs = candidate["runs"].as_array().expect("runs");
        assert!(!runs.is_empty() && runs.iter().all(|run| run["in_use"] == true), "{candidate:#}");
    }
    let file = at.join("run.hw");
    let file = file.to_str().expect("a path");
    let recorded = heapwise(at, &["run", "--force", "-o", file, "--", "/bin/ls", "/"]);
    assert_eq!(recorded.code(), 0, "{}", recorded.stderr);
    let replayed = heapwise(at, &["replay", file, "--with", &with, "--format", "json"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.stderr);
    assert!(replayed.text().contains("\"tcmalloc-google:background_thread=true:per_cpu_caches=true\""));
}

/// Has threads and children of fork, uses exceptions, and asks for alignments and for too much.
const BUSY: &str = r#"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
static volatile std::size_t too_much = SIZE_MAX / 4;
static void *volatile sink;
static void work() {
    std::vector<std::string> all;
    for (int i = 0; i < 20000; i++) all.push_back(std::string(i % 900, 'x'));
}
int main(int argc, char **) {
    int caught = 0;
    try { sink = ::operator new(too_much); } catch (const std::bad_alloc &) { caught++; }
    if (malloc(too_much)) return 1;
    for (std::size_t alignment = 16; alignment <= 65536; alignment *= 2) {
        void *block = aligned_alloc(alignment, alignment);
        if (!block || reinterpret_cast<std::uintptr_t>(block) % alignment) return 2;
        free(block);
    }
    for (int round = 0; round < 20; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) threads.emplace_back(work);
        for (auto &thread : threads) thread.join();
        if (argc > 1) continue;
        pid_t child = fork();
        if (!child) { work(); _exit(7); }
        int status = 0;
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return 3;
    }
    char *grown = static_cast<char *>(calloc(1, 10));
    for (int i = 1; i < 30; i++) {
        grown = static_cast<char *>(realloc(grown, 10u << (i / 2)));
        if (grown[9]) return 4;
    }
    std::printf("caught %d\n", caught);
}
"#;

#[test]
fn threads_children_and_exceptions_work() {
    let folder = run::private_folder();
    let at = folder.path();
    if !is_built_in(at) {
        return;
    }
    let (source, program) = (at.join("busy.cpp"), at.join("busy"));
    fs::write(&source, BUSY).expect("written");
    let mut compiler = run::command("g++", at);
    compiler.args(["-O1", "-std=c++17", "-pthread"]).arg(&source).arg("-o").arg(&program);
    assert_eq!(run::finish(&mut compiler, at, "compiler").code(), 0);
    let library = fs::read(tool::allocator(NAME)).expect("it was built").leak();
    let libraries = Libraries::new(&[(NAME, library)]);
    for settings in
        ["", ":per_cpu_caches=true", ":background_thread=true:background_sleep_ms=1:per_cpu_caches=true"]
    {
        let candidate = Candidate::parse(&format!("{NAME}{settings}")).expect("a candidate");
        let mut command = run::command(&program, at);
        libraries.prepare(&candidate).expect("it is there").apply(&mut command);
        if settings.contains("background_thread") {
            // The library has no handlers for fork, and this thread takes locks all the time.
            command.arg("without-children");
        }
        let outcome = run::finish(&mut command, at, "busy");
        assert_eq!(
            (outcome.code(), outcome.text().as_str()),
            (0, "caught 1\n"),
            "{settings}: {}",
            outcome.stderr
        );
    }
}

/// What a program with a fix prints of its allocator, in the order in which [`question`] asks.
fn wanted(candidate: &Candidate) -> String {
    let chosen = |name: &str, default: &str| candidate.settings().get(name).unwrap_or(default).to_owned();
    let threads = if candidate.settings().get("background_thread") == Some("true") { 2 } else { 1 };
    let per_cpu = u8::from(candidate.settings().get("per_cpu_caches") == Some("true"));
    let limit = chosen("memory_limit", "0").parse::<u64>().ok().filter(|n| *n > 0).unwrap_or(u64::MAX);
    let cache = chosen("max_total_thread_cache_bytes", "33554432");
    format!("{per_cpu} {limit} {cache} {threads}\n")
}

/// Asks by names, so that nothing is linked for the question's sake.
const QUESTION: &str = r#"
    unsafe extern "C" {
        fn MallocExtension_Internal_GetNumericProperty(name: *const u8, len: usize, value: *mut usize) -> bool;
    }
    let ask = |name: &str| {
        let mut value = 0;
        assert!(unsafe { MallocExtension_Internal_GetNumericProperty(name.as_ptr(), name.len(), &mut value) });
        value
    };
    let mut grown = vec![1u8];
    (0..1 << 20).for_each(|i| grown.push(i as u8));
    assert_eq!(grown.len(), (1 << 20) + 1);
    assert!(ask("generic.current_allocated_bytes") > 1 << 20);
    let names = ["tcmalloc.per_cpu_caches_active", "tcmalloc.desired_usage_limit_bytes", "tcmalloc.max_total_thread_cache_bytes"];
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    println!("{} {} {} {threads}", ask(names[0]), ask(names[1]), ask(names[2]));
"#;

#[test]
#[ignore = "compiles Google's tcmalloc in a fresh project, which takes minutes"]
fn the_lines_that_are_printed_build_and_set_what_they_say() {
    let folder = run::private_folder();
    let at = folder.path();
    let all_settings = [
        "background_release_rate=4096:background_sleep_ms=50:background_thread=true:hpaa_subrelease=false",
        "max_per_cpu_cache_size=65536:max_total_thread_cache_bytes=1048576:memory_limit=1000000000",
        "per_cpu_caches=true:profile_sampling_interval=0:skip_subrelease_long_ms=0:skip_subrelease_short_ms=1500",
    ];
    let all_settings = Candidate::parse(&format!("{NAME}:{}", all_settings.join(":"))).expect("a candidate");
    assert_eq!(all_settings.settings().iter().count(), allocator().settings().len());
    let own = tunings().into_iter().filter(|c| c.name() == NAME);
    let candidates: Vec<Candidate> = own.chain([all_settings]).collect();
    assert!(candidates.len() > 6, "{}", candidates.len());

    let mut manifest = "[package]\nname = \"fixed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n".to_owned();
    for line in &candidates[0].fix().cargo {
        let _ = writeln!(manifest, "{line}");
    }
    fs::create_dir_all(at.join("src/bin")).expect("a folder");
    fs::write(at.join("Cargo.toml"), manifest).expect("a file");
    for (number, candidate) in candidates.iter().enumerate() {
        let rust = candidate.fix().rust.join("\n");
        let source = format!("#![deny(warnings)]\n\n{rust}\n\nfn main() {{{QUESTION}}}\n");
        fs::write(at.join(format!("src/bin/c{number}.rs")), source).expect("a file");
    }
    let target = target_folder().join("fixes-tcmalloc-google");
    let mut cargo = run::command(programs::rust_tool("cargo"), at);
    cargo.args(["build", "--quiet", "--release", "--bins", "--target-dir"]).arg(&target);
    let built = run::start(&mut cargo, at, "cargo").wait(BUILDING);
    assert_eq!(built.code(), 0, "{}", built.stderr);
    for (number, candidate) in candidates.iter().enumerate() {
        let mut command = run::command(target.join(format!("release/c{number}")), at);
        command.envs(candidate.fix().environment);
        let outcome = run::finish(&mut command, at, "fixed");
        assert_eq!(outcome.code(), 0, "{candidate}: {}", outcome.stderr);
        assert_eq!(outcome.text(), wanted(candidate), "{candidate}");
    }
    // What the documentation says of the crate as it is: to tell the C library is not enough.
    let mut plain = run::command(target.join("release/c0"), at);
    let outcome = run::finish(plain.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0"), at, "fixed");
    assert_eq!(outcome.text(), wanted(&candidates[0]), "{}", outcome.stderr);
}
