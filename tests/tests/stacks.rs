//! Stacks are exact: on large programs every n-th one equals that of a full unwind, and on a small one they all equal
//! what glibc's own unwinder finds at the same place.

use heapwise_tests::build::{FlagSet, build, compile_text};
use heapwise_tests::functions::plain;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run};
use heapwise_trace::event::Event;
use heapwise_trace::file::Reader;
use heapwise_trace::file::reader::Section;
use heapwise_trace::live::node::NodeKind;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Checks that many stacks were compared, and that none differed.
fn no_differences(recorded: &Recorded, at_least: u64) {
    let stderr = &recorded.outcome.stderr;
    assert_eq!(recorded.outcome.code(), 0, "{stderr}");
    let stacks = recorded.report().stacks;
    assert!(stacks.verified >= at_least, "too few were compared: {stacks:?}");
    assert_eq!(stacks.verify_failed, 0, "{stacks:?}: {stderr}");
}

fn verified(program: &Path, arguments: &[&str], every: u32, at_least: u64) -> Recorded {
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).verify(every).record(program, arguments);
    no_differences(&recorded, at_least);
    recorded
}

#[test]
fn of_python3_with_threads_and_exceptions() {
    let Some(python) = programs::python() else { return };
    let work = "\
import json, re, threading
def deep(n):
    if n == 0: raise ValueError('x' * 700)
    kept = bytearray(600 + n)
    try: deep(n - 1)
    finally: kept.append(1)
def work():
    for i in range(100):
        try: deep(i % 30)
        except ValueError as e: json.dumps([str(e)] * 10)
        re.compile('(a|b)*' + str(i % 7)).match('abab' * 50)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
";
    verified(&python, &["-c", work], 3, 1000);
}

#[test]
fn of_a_threaded_program_in_cpp() {
    for flags in [FlagSet::Debug, FlagSet::Release] {
        verified(&build(&Victim::named("thread_local_destructor"), flags), &[], 1, 200);
        verified(&build(&Victim::named("threads_random"), flags), &[], 7, 1000);
    }
}

#[test]
fn of_the_compiler_of_cpp() {
    let Some(compiler) = programs::find("g++") else { return };
    let folder = run::private_folder();
    let text = "#include <map>\n#include <regex>\nbool f(const std::string &s) { return std::regex_match(s, std::regex(\"a*b\")); }\n";
    std::fs::write(folder.path().join("a.cpp"), text).expect("a file can be written");
    let recorded =
        Recording::new(folder.path()).verify(50).record(&compiler, &["-O1", "-c", "a.cpp", "-o", "a.o"]);
    no_differences(&recorded, 1000);
}

#[test]
fn of_git() {
    let Some(git) = programs::find("git") else { return };
    let folder = run::private_folder();
    let place = folder.path().join("r").to_string_lossy().into_owned();
    verified(&git, &["init", "-q", &place], 1, 100);
    std::fs::write(folder.path().join("r/file"), "text\n".repeat(9999)).expect("a file can be written");
    verified(&git, &["-C", &place, "add", "file"], 1, 100);
    let identity = ["-c", "user.name=Author", "-c", "user.email=s@example.org"];
    let commit = ["-C", &place, "commit", "-q", "-m", "change"];
    verified(&git, &[&identity[..], &commit[..]].concat(), 1, 100);
    verified(&git, &["-C", &place, "log", "-p"], 1, 100);
}

#[test]
fn of_node() {
    let Some(node) = programs::find("node") else { return };
    let work = "let a = []; for (let i = 0; i < 2e3; i++) a.push(JSON.parse(JSON.stringify({ i, b: Buffer.alloc(999) }))); \
                try { null.x } catch (e) { a.push(e.stack) } console.log(a.length)";
    verified(&node, &["-e", work], 20, 500);
}

#[test]
fn equal_those_of_glibcs_own_unwinder() {
    for flags in [FlagSet::Debug, FlagSet::Release, FlagSet::FramePointer] {
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path())
            .verify(1)
            .record(build(&Victim::named("backtrace_beside"), flags), &[]);
        no_differences(&recorded, 1);
        let text = recorded.outcome.text();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .filter_map(|line| line.strip_prefix("stack "))
            .map(|line| line.split(' ').collect())
            .collect();
        assert!(lines.len() >= 4, "{text}");
        for expected in lines {
            // The place that both saw is unique to its stack: `from` is called once for each.
            let report = recorded.report();
            let stacks = report.sites.iter().map(|site| {
                report.stack(site).filter_map(|f| f.function.as_deref().map(plain)).collect::<Vec<_>>()
            });
            let mut stacks = stacks.filter(|stack| stack.contains(&"beside"));
            // The allocator's own frame may or may not be shown; what libc does before `main` carries other names.
            let starts = |stack: &Vec<&str>| {
                let from = stack.iter().position(|f| *f == "beside").unwrap_or(0);
                stack[from..].starts_with(&expected)
            };
            assert!(
                stacks.any(|stack| starts(&stack)),
                "{}: no site has the stack {expected:?}",
                flags.name()
            );
        }
    }
}

/// The loader knows only the segment of an address then, and not the object with its unwind tables. Without frame pointers nothing else
/// leads outwards.
#[test]
fn of_a_program_with_holes_between_its_segments() {
    const PROGRAM: &str = "
        #include <stdlib.h>
        __attribute__((noinline)) char *inner(size_t n) { char *p = malloc(n); if (!p) abort(); *p = 1; return p; }
        __attribute__((noinline)) char *outer(size_t n) { char *p = inner(n); *p += 1; return p; }
        int main(int argc, char **argv) {
            char *all[100];
            for (int i = 0; i < 100; i++) all[i] = outer(i * 7 + argc);
            for (int i = 0; i < 100; i++) free(all[i]);
        }";
    const HOLES: &str = "-Wl,-z,max-page-size=0x200000";
    let folder = run::private_folder();
    for (name, flags) in [("pie", [HOLES, "-pie"]), ("fixed", [HOLES, "-no-pie"])] {
        let flags = [&flags[..], &["-fPIE", "-fomit-frame-pointer"]].concat();
        let program = compile_text("cc", &flags, PROGRAM, folder.path(), name);
        let recorded = verified(&program, &[], 1, 100);
        let report = recorded.report();
        assert_eq!(report.stacks.cut_captures, 0, "{name}: {:?}", report.stacks);
        let from_main = report.sum(|stack| stack.contains(&"inner") && stack.contains(&"main"));
        assert_eq!(from_main.blocks, 100, "{name}");
    }
}

/// How many frames each allocation's stack has, and whether it was cut.
fn depths(file: &Path) -> Vec<(u32, bool)> {
    let file = BufReader::new(File::open(file).expect("it was recorded"));
    let mut reader = Reader::new(file).expect("a recording");
    // Of each node its parent comes first.
    let (mut nodes, mut stacks) = (HashMap::new(), Vec::new());
    while let Some(section) = reader.next_section().expect("a whole recording") {
        match section {
            Section::Nodes(found) => {
                for (id, &(parent, key)) in (found.first_id..).zip(&found.nodes) {
                    let (depth, cut) = nodes.get(&parent).copied().unwrap_or_default();
                    let node = match NodeKind::from_key(key) {
                        NodeKind::Root { cut, .. } => (0, cut),
                        NodeKind::Frame { .. } => (depth + 1, cut),
                    };
                    nodes.insert(id, node);
                }
            }
            Section::Events(events) => {
                let events = events.blocks().flat_map(|block| block.events());
                stacks.extend(events.filter_map(|event| match event {
                    Event::Alloc { stack, .. } => Some(stack.0),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    stacks.into_iter().map(|stack| nodes[&stack]).collect()
}

#[test]
fn of_a_recursion_that_is_deeper_than_what_is_kept() {
    let program = build(&Victim::named("deep_recursion"), FlagSet::Release);
    let folder = run::private_folder();
    let recording = Recording::new(folder.path()).verify(1009).with(&["--no-report"]);
    let outcome = recording.start(&program, &["40000"]).wait(run::PATIENCE);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let depths = depths(&recording.file());
    assert!(depths.len() >= 40_000);
    let whole = depths.iter().filter(|(_, cut)| !cut).map(|(depth, _)| *depth).max();
    assert!(whole.is_some_and(|depth| (16_000..=16_384).contains(&depth)), "{whole:?} frames at most");
    let cut: Vec<u32> = depths.iter().filter(|(_, cut)| *cut).map(|(depth, _)| *depth).collect();
    // The innermost frames of deeper stacks are there, and so many that they say something.
    assert!(cut.len() > 20_000, "{} are cut", cut.len());
    let (least, most) = (cut.iter().min(), cut.iter().max());
    assert!(least.is_some_and(|n| *n >= 2_048) && most.is_some_and(|n| *n <= 4_096), "{least:?} to {most:?}");
    // The report has each stack in full, which is too much for these.
    let file = BufReader::new(File::open(recording.file()).expect("it was recorded"));
    let mut reader = Reader::new(file).expect("a recording");
    while let Some(section) = reader.next_section().expect("a whole recording") {
        if let Section::ProcessEnd(end) = section {
            assert!(end.verified >= 30 && end.verify_failed == 0, "{end:?}");
        }
    }
}

#[test]
fn have_no_frame_of_the_preload_library() {
    // The C library allocates for a new thread below `pthread_create`, which is interposed.
    let program = build(&Victim::named("threads_short_lived"), FlagSet::Release);
    let recorded = verified(&program, &[], 1, 100);
    let report = recorded.report();
    let mut n_created = 0;
    for site in &report.sites {
        let mut stack = report.stack(site);
        let names: Vec<_> = stack.clone().filter_map(|frame| frame.function.as_deref()).collect();
        n_created += usize::from(names.iter().any(|name| name.contains("pthread_create")));
        let own = stack.find(|frame| frame.module.as_deref().is_some_and(|m| m.contains("heapwise")));
        assert!(own.is_none(), "{own:?} in {names:?}");
    }
    assert!(n_created > 0, "no thread was made");
}
