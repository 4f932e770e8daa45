//! Programs whose `malloc` is wrapped: each allocation is one, by whatever name and through whatever libraries it goes.
//!
//! A library behind heapwise counts the calls that arrive there; what heapwise has recorded is the same in the same run.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::facts::Facts;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::Totals;
use heapwise_tests::victim::Victim;
use heapwise_tests::{expect, programs, run};
use std::path::{Path, PathBuf};
use std::process::Command;

fn plugin(name: &str) -> PathBuf {
    let all = Victim::all_in("victims/counted");
    let victim = all.iter().find(|victim| victim.name == name);
    build(victim.unwrap_or_else(|| panic!("there is no plugin {name}")), FlagSet::Release)
}

fn victim(name: &str) -> PathBuf {
    build(&Victim::named(name), FlagSet::Release)
}

/// New blocks, reallocations, blocks freed.
fn three(totals: &Totals) -> [u64; 3] {
    [totals.allocations, totals.reallocations, totals.deallocations]
}

fn is_sound(what: &str, recorded: &Recorded) {
    let report = recorded.report();
    assert_eq!(report.totals.lost_events, 0, "{what}");
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{what}");
    assert!(report.stacks.verified > 0 && report.stacks.verify_failed == 0, "{what}: {:?}", report.stacks);
}

/// Records a program with libraries preloaded behind heapwise, and has every `n`-th stack compared with a full unwind.
fn behind(folder: &Path, libraries: &[&Path], n: u32, program: &Path, arguments: &[&str]) -> Recorded {
    let list: Vec<_> = libraries.iter().map(|library| library.to_string_lossy()).collect();
    let counts = folder.join("counts");
    let _ = std::fs::remove_file(&counts);
    let recording = Recording::new(folder).verify(n).variable("LD_PRELOAD", &list.join(":"));
    recording.variable("COUNTS_IN", &counts.to_string_lossy()).record(program, arguments)
}

/// What the counting library has counted in the first process.
fn counted(folder: &Path) -> [u64; 3] {
    let bytes = std::fs::read(folder.join("counts")).expect("the library has counted");
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j])))
}

#[test]
fn what_is_recorded_is_what_arrives() {
    let counting = plugin("plugin_counting");
    let folder = run::private_folder();
    for name in [
        "cpp_new_delete",
        "cpp_new_fails",
        "cpp_exceptions_loop",
        "cpp_own_operator_new",
        "static_destructors",
        "thread_local_destructor",
        "realloc_cases",
        "aligned_allocations",
        "c_library_allocates",
        "wraps_malloc",
        "rust_threads_channels",
    ] {
        let recorded = behind(folder.path(), &[&counting], 3, &victim(name), &[]);
        assert_eq!(recorded.outcome.code(), 0, "{name}: {}", recorded.outcome.stderr);
        is_sound(name, &recorded);
        assert_eq!(three(&recorded.report().totals), counted(folder.path()), "{name}: recorded and counted");
        let unmet =
            expect::unmet(&expect::parse(&recorded.outcome.text()), recorded.report(), &Facts::of(name));
        assert!(unmet.is_empty(), "{name}: {unmet:?}");
    }
    if let Some(node) = programs::find("node") {
        let work = "let a = []; for (let i = 0; i < 500; i++) a.push(JSON.parse(JSON.stringify({ i }))); console.log(a.length)";
        let recorded = behind(folder.path(), &[&counting], 997, &node, &["-e", work]);
        assert_eq!(recorded.outcome.text(), "500\n", "{}", recorded.outcome.stderr);
        is_sound("node", &recorded);
        let (seen, counted) = (three(&recorded.report().totals), counted(folder.path()));
        // Its other threads are ended wherever they are, between the two maybe.
        let apart: u64 = seen.iter().zip(counted).map(|(seen, counted)| seen.abs_diff(counted)).sum();
        assert!(apart <= 8 && seen[0] > 10_000, "node: {seen:?} recorded, {counted:?} counted");
    }
}

#[test]
fn an_operator_is_one_allocation_whoever_provides_malloc() {
    let folder = run::private_folder();
    let program = victim("cpp_new_delete");
    let plain = Recording::new(folder.path()).record(&program, &[]);
    let expectations = expect::parse(&plain.outcome.text());
    let mut stacks = vec![vec![plugin("plugin_malloc_only")], vec![plugin("plugin_operators")]];
    if let Some(jemalloc) = programs::library("libjemalloc.so.2") {
        stacks.extend([vec![jemalloc.clone()], vec![plugin("plugin_counting"), jemalloc]]);
    }
    for libraries in stacks {
        let libraries: Vec<&Path> = libraries.iter().map(PathBuf::as_path).collect();
        let recorded = behind(folder.path(), &libraries, 1, &program, &[]);
        let what = format!("{libraries:?}");
        assert_eq!(recorded.outcome.text(), plain.outcome.text(), "{what}: {}", recorded.outcome.stderr);
        is_sound(&what, &recorded);
        let totals = &recorded.report().totals;
        assert_eq!(three(totals), three(&plain.report().totals), "{what}: with it (left) and without");
        // These take more than they were asked for.
        if !what.contains("operators") {
            let unmet = expect::unmet(&expectations, recorded.report(), &Facts::of("cpp_new_delete"));
            assert!(unmet.is_empty(), "{what}: {unmet:?}");
        }
    }
}

#[test]
fn a_wrapper_before_heapwise_or_linked_in_changes_nothing() {
    let folder = run::private_folder();
    let at = folder.path();
    let source = Victim::named("cpp_new_delete").source;
    let wrapper = plugin("plugin_malloc_only");
    let wrapper_source = wrapper_source();
    let compile = |name: &str, arguments: &[&Path]| {
        let mut command = Command::new("c++");
        command.args(["-std=c++17", "-O1", "-g", "-rdynamic"]).args(arguments).arg("-o").arg(at.join(name));
        let outcome = run::finish(&mut command, at, "compile");
        assert!(outcome.status.success(), "{}", outcome.stderr);
        at.join(name)
    };
    let plain = Recording::new(at).record(victim("cpp_new_delete"), &[]);
    let object = at.join("wrapper.o");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-c"]).arg(&wrapper_source).arg("-o").arg(&object);
    assert!(run::finish(&mut cc, at, "compile").status.success());
    let in_library = compile("in_library", &[&source, &wrapper]);
    let in_executable = compile("in_executable", &[&source, &object]);
    let before =
        format!("LD_PRELOAD={}:$LD_PRELOAD exec {}", wrapper.display(), victim("cpp_new_delete").display());
    for (what, recorded) in [
        ("in a library", Recording::new(at).verify(1).record(&in_library, &[])),
        ("in the executable", Recording::new(at).verify(1).record(&in_executable, &[])),
        ("in the executable, behind another", behind(at, &[&wrapper], 1, &in_executable, &[])),
        ("before heapwise", Recording::new(at).verify(1).record("sh", &["-c", &before])),
    ] {
        assert_eq!(recorded.outcome.text(), plain.outcome.text(), "{what}: {}", recorded.outcome.stderr);
        is_sound(what, &recorded);
        let processes = &recorded.report().processes;
        let process = processes.iter().find(|p| !p.command[0].ends_with("sh")).expect("the program");
        assert_eq!(three(&process.totals), three(&plain.report().totals), "{what}");
        let unmet = expect::unmet(
            &expect::parse(&plain.outcome.text()),
            recorded.report(),
            &Facts::of("cpp_new_delete"),
        );
        assert!(unmet.is_empty(), "{what}: {unmet:?}");
    }
}

fn wrapper_source() -> PathBuf {
    let all = Victim::all_in("victims/counted");
    all.into_iter().find(|victim| victim.name == "plugin_malloc_only").expect("it is there").source
}
