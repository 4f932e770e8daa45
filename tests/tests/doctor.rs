//! `heapwise doctor` finds each thing that slows a heap on a real process that was prepared with it, and on a command that
//! would inherit it; and does not find it on a clean one.
//!
//! What cannot be prepared without changing the machine for everybody, such as strict overcommit and swap, is tested on
//! made-up facts beside the checks.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::folders::workspace;
use heapwise_tests::run::{self, Outcome, Running};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, tool};
use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What is looked at.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// The command that would be started, and the process that it is.
    Both,
    /// Only one of them can show it.
    Command,
    Process,
}

struct Case {
    name: &'static str,
    check: &'static str,
    severity: &'static str,
    variables: &'static [(&'static str, &'static str)],
    program: &'static str,
    seen: Seen,
}

const fn case(
    name: &'static str,
    check: &'static str,
    severity: &'static str,
    variables: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, check, severity, variables, program: "patient", seen: Seen::Both }
}

const CASES: &[Case] = &[
    case("malloc_check_in_vain", "malloc-check", "note", &[("MALLOC_CHECK_", "3")]),
    case(
        "malloc_check",
        "malloc-check",
        "medium",
        &[("MALLOC_CHECK_", "3"), ("LD_PRELOAD", "libc_malloc_debug.so.0")],
    ),
    case(
        "malloc_check_by_tunable",
        "malloc-check",
        "medium",
        &[("GLIBC_TUNABLES", "glibc.malloc.check=3"), ("LD_PRELOAD", "libc_malloc_debug.so.0")],
    ),
    case("malloc_perturb", "malloc-perturb", "medium", &[("MALLOC_PERTURB_", "165")]),
    case("perturb_by_tunable", "malloc-perturb", "medium", &[("GLIBC_TUNABLES", "glibc.malloc.perturb=7")]),
    Case {
        program: "patient_threads",
        ..case("arena_max", "arena-max", "low", &[("MALLOC_ARENA_MAX", "1")])
    },
    case("mmap_threshold", "glibc-tunables", "high", &[("MALLOC_MMAP_THRESHOLD_", "4096")]),
    case("no_fast_bins", "glibc-tunables", "medium", &[("GLIBC_TUNABLES", "glibc.malloc.mxfast=0")]),
    case("no_thread_cache", "glibc-tunables", "low", &[("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")]),
    case("trim_threshold", "glibc-tunables", "low", &[("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=0")]),
    case(
        "huge_pages_of_an_empty_pool",
        "transparent-huge-pages",
        "low",
        &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")],
    ),
    case("unknown_tunable", "glibc-tunables", "note", &[("GLIBC_TUNABLES", "glibc.malloc.tcache=0")]),
    case("malloc_trace", "malloc-trace", "note", &[("MALLOC_TRACE", "trace.txt")]),
    case(
        "jemalloc_junk",
        "jemalloc-options",
        "medium",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "junk:true")],
    ),
    case(
        "jemalloc_zero",
        "jemalloc-options",
        "low",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "zero:true")],
    ),
    case(
        "jemalloc_no_thread_cache",
        "jemalloc-options",
        "medium",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "tcache:false")],
    ),
    case(
        "jemalloc_redzone",
        "jemalloc-options",
        "note",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "redzone:true")],
    ),
    case(
        "jemalloc_unknown_option",
        "jemalloc-options",
        "note",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "dirty_decay:0")],
    ),
    case(
        "jemalloc_wrong_prefix",
        "jemalloc-options",
        "low",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("_RJEM_MALLOC_CONF", "junk:true")],
    ),
    case("jemalloc_missing", "jemalloc-options", "note", &[("MALLOC_CONF", "junk:true")]),
    case(
        "mimalloc_purge",
        "mimalloc-options",
        "low",
        &[("LD_PRELOAD", "libmimalloc.so.2"), ("MIMALLOC_PURGE_DELAY", "0")],
    ),
    case(
        "mimalloc_unknown_option",
        "mimalloc-options",
        "note",
        &[("LD_PRELOAD", "libmimalloc.so.2"), ("MIMALLOC_PURGE_DELAI", "0")],
    ),
    case(
        "tcmalloc_profile",
        "tcmalloc-options",
        "high",
        &[("LD_PRELOAD", "libtcmalloc.so.4"), ("HEAPPROFILE", "profile")],
    ),
    case(
        "tcmalloc_minimal",
        "tcmalloc-options",
        "low",
        &[("LD_PRELOAD", "libtcmalloc_minimal.so.4"), ("TCMALLOC_AGGRESSIVE_DECOMMIT", "1")],
    ),
    case("tcmalloc_missing", "tcmalloc-options", "note", &[("HEAPCHECK", "normal")]),
    case("tcmalloc_debug", "checking-library", "high", &[("LD_PRELOAD", "libtcmalloc_minimal_debug.so.4")]),
    case("memusage", "checking-library", "medium", &[("LD_PRELOAD", "libmemusage.so")]),
    case(
        "efence",
        "checking-library",
        "high",
        &[("LD_PRELOAD", "libefence.so.0"), ("EF_ALLOW_MALLOC_0", "1"), ("EF_ALIGNMENT", "16")],
    ),
    Case {
        // It fences what heapwise itself allocates as well, with two mappings for each block.
        seen: Seen::Process,
        ..case(
            "duma",
            "checking-library",
            "high",
            &[("LD_PRELOAD", "libduma.so.0"), ("DUMA_ALLOW_MALLOC_0", "1")],
        )
    },
    case("preload_missing", "preload-missing", "low", &[("LD_PRELOAD", "/nowhere/libjemalloc.so.2")]),
    case("python_debug", "runtime-allocator", "medium", &[("PYTHONMALLOC", "debug")]),
    Case { program: "patient_sanitized", ..case("address_sanitizer", "sanitizer", "high", &[]) },
    Case {
        program: "refuses_huge_pages",
        seen: Seen::Process,
        ..case(
            "huge_pages_refused",
            "transparent-huge-pages",
            "low",
            &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")],
        )
    },
    Case {
        program: "many_mappings",
        seen: Seen::Process,
        ..case("mappings", "max-map-count", "medium", &[])
    },
    Case {
        program: "static_executable",
        seen: Seen::Command,
        ..case(
            "preload_into_a_static_executable",
            "own-allocator",
            "low",
            &[("LD_PRELOAD", "libjemalloc.so.2")],
        )
    },
    Case {
        program: "own_malloc_in_executable",
        seen: Seen::Command,
        ..case("preload_beside_own_malloc", "own-allocator", "low", &[("LD_PRELOAD", "libjemalloc.so.2")])
    },
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials: Vec<Trial> =
        CASES.iter().map(|case| Trial::test(case.name, move || prepared_and_clean(case))).collect();
    type Test = fn() -> Result<(), Failed>;
    let alone: &[(&str, Test)] = &[
        ("allocator_that_fills", allocator_that_fills),
        ("mimalloc_secure", mimalloc_secure),
        ("address_space_limit", address_space_limit),
        ("traced", traced),
        ("valgrind", valgrind),
        ("recorded", recorded),
        ("musl", musl),
        ("control_group_at_its_limit", control_group_at_its_limit),
        ("clean_machine", clean_machine),
        ("configuration_is_set_right", configuration_is_set_right),
        ("broken_configuration_is_left_alone", broken_configuration_is_left_alone),
        ("bad_requests", bad_requests),
        ("markdown_and_text", markdown_and_text),
    ];
    trials.extend(alone.iter().map(|(name, test)| Trial::test(*name, *test)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[derive(Debug, Deserialize)]
struct Checkup {
    schema: String,
    clean: bool,
    findings: Vec<Finding>,
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    id: String,
    severity: String,
    title: String,
    evidence: Vec<String>,
    remedy: String,
}

#[derive(Debug, Deserialize)]
struct Check {
    id: String,
}

/// A patient, built of its source.
fn patient(name: &str) -> PathBuf {
    let mut all = Victim::all_in("victims/doctor");
    all.extend(Victim::all());
    let victim =
        all.iter().find(|victim| victim.name == name).unwrap_or_else(|| panic!("there is no {name}"));
    build(victim, FlagSet::Release)
}

fn doctor(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    let mut command = run::command(tool::heapwise(), folder);
    run::finish(command.arg("doctor").args(arguments).envs(variables.iter().copied()), folder, "doctor")
}

fn checkup(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Result<Checkup, Failed> {
    let outcome = doctor(folder, variables, &[&["--format", "json"], arguments].concat());
    let checkup: Checkup = serde_json::from_slice(&outcome.stdout)
        .map_err(|error| format!("{error} in {}\n{}", outcome.text(), outcome.stderr))?;
    if checkup.schema != "heapwise.doctor/1" {
        return Err(format!("schema {}", checkup.schema).into());
    }
    if outcome.code() != if checkup.clean { 0 } else { 3 } {
        return Err(format!("exit code {} with {:#?}", outcome.code(), checkup.findings).into());
    }
    Ok(checkup)
}

/// Starts a program and waits until it says that it is ready.
fn started(folder: &Path, variables: &[(&str, &str)], program: &Path, arguments: &[&str]) -> Running {
    let mut command = run::command(program, folder);
    let mut running = run::start(command.args(arguments).envs(variables.iter().copied()), folder, "patient");
    running.wait_for("ready");
    running
}

fn end(running: Running) {
    running.signal_group(libc::SIGKILL);
    running.wait(run::PATIENCE);
}

/// Looks at a process that runs.
fn of_process(folder: &Path, running: &Running) -> Result<Checkup, Failed> {
    checkup(folder, &[], &["--pid", &running.pid().to_string()])
}

fn has(checkup: &Checkup, check: &str, severity: &str) -> Result<(), Failed> {
    let found = checkup.findings.iter().find(|finding| finding.id == check && finding.severity == severity);
    let Some(found) = found else {
        return Err(format!("no {check} ({severity}) in {:#?}", checkup.findings).into());
    };
    match found.evidence.is_empty() || found.remedy.is_empty() || found.title.is_empty() {
        true => Err(format!("evidence or remedy is missing: {found:?}").into()),
        false => Ok(()),
    }
}

fn has_not(checkup: &Checkup, check: &str) -> Result<(), Failed> {
    match checkup.findings.iter().find(|finding| finding.id == check) {
        Some(alarm) => Err(format!("false alarm: {alarm:#?}").into()),
        None => Ok(()),
    }
}

fn prepared_and_clean(case: &Case) -> Result<(), Failed> {
    let program = patient(case.program);
    let folder = run::private_folder();
    let at = folder.path();
    let library = case.variables.iter().find(|(name, _)| *name == "LD_PRELOAD").map(|(_, value)| *value);
    if library.is_some_and(|library| !library.contains('/') && programs::library(library).is_none()) {
        return Ok(());
    }
    if case.seen != Seen::Process {
        has(&checkup(at, case.variables, &["--", &program.to_string_lossy()])?, case.check, case.severity)?;
        has_not(&checkup(at, &[], &["--", &patient("patient").to_string_lossy()])?, case.check)?;
    }
    if case.seen != Seen::Command {
        let running = started(at, case.variables, &program, &[]);
        let found = of_process(at, &running).and_then(|checkup| has(&checkup, case.check, case.severity));
        end(running);
        found?;
        let running = started(at, &[], &patient("patient"), &[]);
        let clean = of_process(at, &running).and_then(|checkup| has_not(&checkup, case.check));
        end(running);
        clean?;
    }
    Ok(())
}

/// An allocator that fills blocks without any variable or a name that would tell.
fn allocator_that_fills() -> Result<(), Failed> {
    let folder = run::private_folder();
    let library = patient("fills_blocks");
    let variables = [("LD_PRELOAD", library.to_str().ok_or("a path that is text")?)];
    let found = checkup(folder.path(), &variables, &["--", "/bin/ls"])?;
    has(&found, "allocator-probe", "medium")?;
    let evidence = found.findings.iter().flat_map(|finding| &finding.evidence);
    if !evidence.into_iter().any(|line| line.contains("0x77")) {
        return Err(format!("the byte is not named: {found:?}").into());
    }
    Ok(())
}

/// No package has the secure build, so the usual one has its name here.
fn mimalloc_secure() -> Result<(), Failed> {
    let Some(usual) = programs::library("libmimalloc.so.2") else { return Ok(()) };
    let folder = run::private_folder();
    let secure = folder.path().join("libmimalloc-secure.so.2");
    std::fs::copy(usual, &secure)?;
    let variables = [("LD_PRELOAD", secure.to_str().ok_or("a path that is text")?)];
    has(&checkup(folder.path(), &variables, &["--", "/bin/ls"])?, "mimalloc-options", "medium")?;
    let running = started(folder.path(), &variables, &patient("patient"), &[]);
    let found = of_process(folder.path(), &running);
    end(running);
    has(&found?, "mimalloc-options", "medium")
}

fn address_space_limit() -> Result<(), Failed> {
    let folder = run::private_folder();
    let heapwise = tool::heapwise().to_string_lossy();
    let line = format!("ulimit -v 8000000; exec {heapwise} doctor --format json -- /bin/ls");
    let outcome =
        run::finish(run::command("sh", folder.path()).args(["-c", &line]), folder.path(), "limited");
    has(&serde_json::from_slice(&outcome.stdout)?, "resource-limits", "low")?;
    has_not(&checkup(folder.path(), &[], &["--", "/bin/ls"])?, "resource-limits")
}

fn traced() -> Result<(), Failed> {
    let folder = run::private_folder();
    for (tracer, severity) in [("gdb", "note"), ("strace", "medium")] {
        let running = started(folder.path(), &[], &patient("tracer"), &[tracer]);
        let said = running.said();
        let child = said.lines().find_map(|line| line.strip_prefix("child ")).unwrap_or_default();
        let found = checkup(folder.path(), &[], &["--pid", child]);
        end(running);
        has(&found?, "tracer", severity)?;
    }
    Ok(())
}

fn valgrind() -> Result<(), Failed> {
    let Some(valgrind) = programs::find("valgrind") else { return Ok(()) };
    let folder = run::private_folder();
    let program = patient("patient");
    let running = started(folder.path(), &[], &valgrind, &["--quiet", &program.to_string_lossy()]);
    let found = of_process(folder.path(), &running);
    end(running);
    has(&found?, "valgrind", "high")
}

/// heapwise itself is a heap profiler, too.
fn recorded() -> Result<(), Failed> {
    let folder = run::private_folder();
    let program = patient("patient");
    let arguments = ["run", "--no-report", "--", &program.to_string_lossy()];
    let running = started(folder.path(), &[], tool::heapwise(), &arguments);
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let child = std::fs::read_to_string(children)?;
    let found = checkup(folder.path(), &[], &["--pid", child.trim()]);
    end(running);
    has(&found?, "heap-profiler", "medium")
}

fn musl() -> Result<(), Failed> {
    let Some(compiler) = programs::find("musl-gcc") else { return Ok(()) };
    let folder = run::private_folder();
    let source = Victim::all_in("victims/doctor")
        .into_iter()
        .find(|v| v.name == "patient")
        .ok_or("it is there")?
        .source;
    for (name, flags) in [("dynamic", &[][..]), ("static", &["-static"][..])] {
        let program = folder.path().join(name);
        let status = Command::new(&compiler).args(flags).arg(&source).arg("-o").arg(&program).status()?;
        if !status.success() {
            return Err("musl-gcc failed".into());
        }
        has(&checkup(folder.path(), &[], &["--", &program.to_string_lossy()])?, "musl-allocator", "medium")?;
        let running = started(folder.path(), &[], &program, &[]);
        let found = of_process(folder.path(), &running);
        end(running);
        has(&found?, "musl-allocator", "medium")?;
    }
    Ok(())
}

/// A group of version 1 with a limit that file pages have met. Only root can make one, and only where there are such groups.
fn control_group_at_its_limit() -> Result<(), Failed> {
    let all = std::fs::read_to_string("/proc/self/cgroup")?;
    let own = all
        .lines()
        .find_map(|line| line.split_once(":memory:").map(|(_, path)| path.trim_start_matches('/')));
    let group = Path::new("/sys/fs/cgroup/memory").join(own.unwrap_or_default());
    let group = group.join(format!("heapwise-test-{}", std::process::id()));
    if own.is_none() || std::fs::create_dir(&group).is_err() {
        eprintln!("SKIPPED: no control group can be made here");
        return Ok(());
    }
    let result = in_group(&group);
    // Its processes are gone, but the system may take a moment to notice.
    for _ in 0..100 {
        if std::fs::remove_dir(&group).is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    result
}

fn in_group(group: &Path) -> Result<(), Failed> {
    std::fs::write(group.join("memory.limit_in_bytes"), "16777216")?;
    let folder = run::private_folder();
    let join = format!(
        "echo $$ > {}/cgroup.procs; head -c 67108864 /dev/zero > file; echo ready; sleep 100",
        group.display()
    );
    let running = started(folder.path(), &[], Path::new("/bin/sh"), &["-c", &join]);
    let found = of_process(folder.path(), &running);
    end(running);
    let found = found?;
    if !found.findings.iter().any(|finding| finding.id == "cgroup-memory") {
        return Err(format!("not told: {found:#?}").into());
    }
    Ok(())
}

fn clean_machine() -> Result<(), Failed> {
    let folder = run::private_folder();
    let found = checkup(folder.path(), &[], &[])?;
    if found.checks.len() < 25 || found.checks.iter().any(|check| check.id.is_empty()) {
        return Err(format!("{:?}", found.checks).into());
    }
    let documentation = std::fs::read_to_string(workspace().join("docs/doctor.md"))?;
    let rows: Vec<&str> = documentation
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|row| row.0)
        .collect();
    if let Some(check) = found.checks.iter().find(|check| !rows.contains(&check.id.as_str())) {
        return Err(format!("docs/doctor.md has no row for {}", check.id).into());
    }
    // What the machine itself is like is not the test's to say, what the environment is like is.
    let of_environment =
        ["malloc-check", "malloc-perturb", "glibc-tunables", "allocator-probe", "checking-library"];
    of_environment.iter().try_for_each(|check| has_not(&found, check))
}

/// A project whose launches have the debug heap on Windows.
fn project(launches: &str) -> Result<tempfile::TempDir, Failed> {
    let folder = run::private_folder();
    std::fs::create_dir(folder.path().join(".vscode"))?;
    std::fs::write(folder.path().join(".vscode/launch.json"), launches)?;
    Ok(folder)
}

/// Detect, explain, fix, look again.
fn configuration_is_set_right() -> Result<(), Failed> {
    let before = "{\r\n  // started with F5\r\n  \"configurations\": [\r\n    { \"type\": \"lldb\", \"request\": \"launch\", \
                  \"name\": \"F5\", },\r\n  ],\r\n}\r\n";
    let folder = project(before)?;
    let file = folder.path().join(".vscode/launch.json");
    // The user's own settings are none of the test's business.
    let home = [("HOME", folder.path().to_str().ok_or("a path that is text")?)];
    has(&checkup(folder.path(), &home, &[])?, "ide-debug-heap", "low")?;
    let asked = doctor(folder.path(), &home, &["--fix"]);
    if asked.code() != 3
        || std::fs::read_to_string(&file)? != before
        || !asked.text().contains("_NO_DEBUG_HEAP")
    {
        return Err(format!("nobody agreed: {} {} {}", asked.code(), asked.text(), asked.stderr).into());
    }
    let fixed = doctor(folder.path(), &home, &["--fix", "--yes"]);
    let after = std::fs::read_to_string(&file)?;
    let without = after.replacen(", \"env\": { \"_NO_DEBUG_HEAP\": \"1\" }", "", 1);
    if fixed.code() != 0 || without != before {
        return Err(format!("{} {after:?} {}", fixed.code(), fixed.stderr).into());
    }
    let backup = folder.path().join(".vscode/launch.json.heapwise-backup");
    if std::fs::read_to_string(backup)? != before {
        return Err("the backup is another one".into());
    }
    has_not(&checkup(folder.path(), &home, &[])?, "ide-debug-heap")?;
    let again = doctor(folder.path(), &home, &["--fix", "--yes"]);
    match again.code() == 0 && std::fs::read_to_string(&file)? == after {
        true => Ok(()),
        false => Err("the second time something was changed".into()),
    }
}

fn broken_configuration_is_left_alone() -> Result<(), Failed> {
    let before = "{\n  \"configurations\": [\n    { \"type\": \"lldb\", ]\n}\n";
    let folder = project(before)?;
    let home = [("HOME", folder.path().to_str().ok_or("a path that is text")?)];
    let outcome = doctor(folder.path(), &home, &["--fix", "--yes"]);
    let is_told = outcome.stderr.contains(".vscode/launch.json:3:23: ");
    match is_told && std::fs::read_to_string(folder.path().join(".vscode/launch.json"))? == before {
        true => Ok(()),
        false => Err(outcome.stderr.into()),
    }
}

fn bad_requests() -> Result<(), Failed> {
    let folder = run::private_folder();
    let at = folder.path();
    for (arguments, code, word) in [
        (&["--pid", "4194304"][..], 1, "no such process"),
        (&["--", "there-is-no-such-program"][..], 127, "there is no program"),
        (&["--pid", "x"][..], 2, "invalid value"),
        (&["--pid", "1", "--", "ls"][..], 2, "cannot be used with"),
    ] {
        let outcome = doctor(at, &[], arguments);
        if outcome.code() != code || !outcome.stderr.contains(word) || outcome.stderr.contains("panicked") {
            return Err(format!("{arguments:?}: {} {}", outcome.code(), outcome.stderr).into());
        }
    }
    Ok(())
}

fn markdown_and_text() -> Result<(), Failed> {
    let folder = run::private_folder();
    let variables = [("MALLOC_PERTURB_", "165"), ("COLUMNS", "80")];
    let text = doctor(folder.path(), &variables, &["--", "/bin/ls"]).text();
    if text.lines().any(|line| line.chars().count() > 80) || !text.contains("MALLOC_PERTURB_=165") {
        return Err(text.into());
    }
    let markdown = doctor(folder.path(), &variables, &["--format", "markdown", "--", "/bin/ls"]).text();
    if !markdown.starts_with("### heapwise doctor") || !markdown.contains("`MALLOC_PERTURB_=165`") {
        return Err(markdown.into());
    }
    Ok(())
}
