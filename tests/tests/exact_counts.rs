//! Counts are exact: what heapwise counts is what valgrind counts, to the block and to the byte.
//!
//! Both run the same program in the same folder and environment. heapwise counts a `realloc` as a reallocation, valgrind
//! as an alloc of the new size.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool, valgrind};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Checks one program that ends with `code` and does the same in every run.
fn exact(program: &Path, arguments: &[&str], folder: &Path, variables: &[(&str, &str)], code: i32) {
    let Some(twins) = valgrind::twins(folder) else { return };
    let own = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let both: Vec<(String, String)> = own.collect();
    let line: Vec<&OsStr> =
        std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsStr::new)).collect();
    let usage = valgrind::count(&line, folder, &[both.clone(), twins.valgrind].concat(), code);
    let mut recording = Recording::new(folder);
    for (name, value) in [both, twins.heapwise].concat() {
        recording = recording.variable(&name, &value);
    }
    let recorded = recording.record(program, arguments);
    let report = recorded.report();
    assert_eq!(recorded.outcome.code(), code, "{}", recorded.outcome.stderr);
    assert_eq!(report.totals.lost_events, 0);
    let seen = valgrind::Usage { allocs: report.totals.requests(), bytes: report.totals.allocated_bytes };
    assert_eq!(seen, usage, "heapwise (left) and valgrind (right) differ on {}", program.display());
}

/// Runs a command to its success, for preparing what a test works on.
fn prepare(command: &mut Command, folder: &Path) {
    let outcome = run::finish(command, folder, "prepare");
    assert!(outcome.status.success(), "{command:?}: {}", outcome.stderr);
}

#[test]
fn of_ls() {
    let Some(ls) = programs::find("ls") else { return };
    let (shown, folder) = (run::private_folder(), run::private_folder());
    for name in ["one", "two", "three"] {
        std::fs::write(shown.path().join(name), name).expect("a file can be written");
    }
    exact(&ls, &["-l", "-R", &shown.path().to_string_lossy()], folder.path(), &[], 0);
}

#[test]
fn of_sqlite3_doing_inserts() {
    let Some(sqlite) = programs::find("sqlite3") else { return };
    let folder = run::private_folder();
    let work = "create table t(id integer primary key, name text, value real); begin; \
                with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) \
                insert into t(name, value) select 'name ' || i, i * 1.5 from n; commit; \
                create index by_name on t(name); select count(*), sum(value) from t;";
    exact(&sqlite, &[":memory:", work], folder.path(), &[], 0);
}

#[test]
fn of_a_python_script() {
    let Some(python) = programs::python() else { return };
    let folder = run::private_folder();
    // Python keeps small objects in its own blocks. That is wanted here: with PYTHONMALLOC=malloc each number is a
    // block, and one made from an address has 32 bytes, but under valgrind, where addresses are small, 28.
    let script = "d = {str(i): [i] * (i % 500) for i in range(5000)}\n\
                  print(sum(len(v) for v in d.values()))";
    let fixed = [("PYTHONHASHSEED", "0"), ("PYTHONDONTWRITEBYTECODE", "1")];
    exact(&python, &["-S", "-c", script], folder.path(), &fixed, 0);
}

#[test]
fn of_git_log() {
    let Some(git) = programs::find("git") else { return };
    let (repository, folder) = (run::private_folder(), run::private_folder());
    let at = repository.path();
    let dated = |arguments: &[&str]| {
        let mut command = run::command(&git, at);
        command.args(["-c", "user.name=Author", "-c", "user.email=author@example.org"]).args(arguments);
        command.envs([("GIT_AUTHOR_DATE", "1700000000 +0000"), ("GIT_COMMITTER_DATE", "1700000000 +0000")]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    };
    prepare(&mut dated(&["init", "-q", "."]), folder.path());
    for n in 0..20 {
        std::fs::write(at.join("file"), format!("content {n}\n").repeat(n + 1))
            .expect("a file can be written");
        prepare(&mut dated(&["add", "file"]), folder.path());
        prepare(&mut dated(&["commit", "-q", "-m", &format!("change {n}")]), folder.path());
    }
    let plain = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_PAGER", "")];
    exact(&git, &["-C", &at.to_string_lossy(), "log", "--stat", "-p"], folder.path(), &plain, 0);
}

#[test]
fn of_the_contest_program() {
    let contest = tool::poetry_contest();
    let folder = run::private_folder();
    let arguments = ["v01", "--rounds", "2", "--entries", "500"];
    // The data are made by the first run and kept.
    prepare(run::command(contest, folder.path()).args(arguments), folder.path());
    exact(contest, &arguments, folder.path(), &[], 0);
}

#[test]
fn of_victims() {
    // Single-threaded ones that valgrind runs in the same way and that do not read what differs from run to run.
    let victims = [
        ("leak_known", 0),
        ("growth_by_realloc", 0),
        ("realloc_cases", 0),
        ("temporary_pairs", 0),
        ("cpp_new_delete", 0),
        ("cpp_exceptions_loop", 0),
        ("atexit_handlers", 13),
        ("constructors_destructors", 0),
        ("dlopen_two_plugins", 0),
        ("rust_hash_map", 0),
        ("rust_vec_growth", 0),
        ("static_destructors", 0),
        ("zero_size_malloc", 0),
    ];
    for (name, code) in victims {
        let executable = build(&Victim::named(name), FlagSet::Release);
        let folder = run::private_folder();
        exact(&executable, &[], folder.path(), &[], code);
    }
}
