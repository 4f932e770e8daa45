//! What `heapwise compare` does with small programs and real ones. What is asserted is what was in place and what was seen; no
//! time is.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The victims are in a separate folder, which is nothing to be recorded.
fn victim(name: &str) -> PathBuf {
    let all = Victim::all_in("victims/compare");
    let found = all.iter().find(|v| v.name == name).unwrap_or_else(|| panic!("there is no victim {name}"));
    build(found, FlagSet::Release)
}

fn compare(folder: &Path, arguments: &[&str]) -> run::Outcome {
    compare_with(run::command(tool::heapwise(), folder), folder, arguments)
}

fn compare_with(mut command: Command, folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(command.arg("compare").args(arguments), folder, "heapwise")
}

fn json(outcome: &run::Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", outcome.text(), outcome.stderr))
}

fn candidate<'a>(found: &'a Value, label: &str) -> &'a Value {
    let all = found["candidates"].as_array().expect("candidates");
    all.iter().find(|c| c["label"] == label).unwrap_or_else(|| panic!("no {label}: {found}"))
}

fn kinds(candidate: &Value) -> Vec<&str> {
    let findings = candidate["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["kind"].as_str().expect("a kind")).collect()
}

#[test]
fn a_real_program_is_measured_under_every_allocator_and_each_was_in_use() {
    let Some(python) = programs::python() else { return };
    let folder = run::private_folder();
    let script = "import json\nd = [{str(i): [i, {'a': i}]} for i in range(8000)]\nprint(len(json.dumps(json.loads(json.dumps(d)))))";
    let mut command = run::command(tool::heapwise(), folder.path());
    command.env("PYTHONMALLOC", "malloc");
    let python = python.to_str().expect("a path");
    let outcome = compare_with(
        command,
        folder.path(),
        &["--runs", "3", "--format", "json", "--", python, "-c", script],
    );
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "", "there is no terminal that would want to see progress");
    let found = json(&outcome);
    assert_eq!(found["schema"], "heapwise.compare/1");
    assert_eq!(found["rounds"], 3);
    let machine = &found["machine"];
    assert!(
        machine["cores"].as_u64() >= Some(1)
            && machine["kernel"].as_str().is_some_and(|k| k.starts_with("Linux "))
    );
    let labels: Vec<&str> = found["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .filter_map(|c| c["label"].as_str())
        .collect();
    assert_eq!(
        &labels[..6],
        ["default", "jemalloc", "mimalloc", "mimalloc2", "snmalloc", "rpmalloc"],
        "{labels:?}"
    );
    for label in labels {
        let candidate = candidate(&found, label);
        let is_baseline = label == "default";
        assert_eq!(candidate["is_baseline"], is_baseline);
        let runs = candidate["runs"].as_array().expect("runs");
        // The baseline has two in each round but the first, which does not count.
        assert_eq!(runs.len(), if is_baseline { 7 } else { 4 });
        assert_eq!(candidate["runs_counted"], if is_baseline { 6 } else { 3 });
        assert!(runs.iter().all(|run| (run["round"] == 0) != run["counts"].as_bool().expect("yes or no")));
        let in_use = if is_baseline { Value::Null } else { true.into() };
        assert!(runs.iter().all(|run| run["in_use"] == in_use), "{label}: {runs:?}");
        assert!(
            runs.iter()
                .all(|run| run["stdout"]["sha256"] == found["candidates"][0]["runs"][0]["stdout"]["sha256"])
        );
        assert!(runs.iter().all(|run| run["at_end_source"] == "at-exit"), "{runs:?}");
        let version = candidate["version"].as_str().unwrap_or_default();
        assert!(is_baseline || version.contains('.'), "{candidate}");
        for (low, median, high) in ["wall_ns", "cpu_ns"].map(|time| {
            let of = |part: &str| candidate[time][part].as_u64().expect("a time");
            (of("low"), of("median"), of("high"))
        }) {
            assert!(0 < low && low <= median && median <= high);
        }
        // Eight thousand dictionaries are some megabytes, and heapwise itself is not counted as the program.
        let peak = candidate["peak_rss_bytes"].as_u64().expect("a peak");
        assert!((8 << 20..200 << 20).contains(&peak), "{label}: {peak}");
        assert!(candidate["rss_after_bytes"].as_u64() <= Some(peak + (1 << 20)), "{candidate}");
        assert!(is_baseline || candidate["against_baseline"]["peak_rss_bytes"]["ratio"].as_f64() > Some(0.2));
    }
}

#[test]
fn an_allocator_under_which_a_program_does_something_else_is_a_finding() {
    let folder = run::private_folder();
    let (program, odd) = (victim("asks_for"), victim("odd_allocator"));
    let [program, odd] = [&program, &odd].map(|path| path.to_str().expect("a path"));
    let of = |words: &[&str]| {
        let list = format!("jemalloc,{odd}");
        let line =
            [&["--runs", "1", "--with", &list, "--timeout", "3s", "--format", "json", "--", program], words]
                .concat();
        let outcome = compare(folder.path(), &line);
        let found = json(&outcome);
        assert_eq!(
            kinds(candidate(&found, "jemalloc")),
            [""; 0],
            "the other one is compared all the same: {found}"
        );
        assert_eq!(candidate(&found, "jemalloc")["runs_counted"], 1);
        (outcome.code(), candidate(&found, odd).clone())
    };

    let (code, crashed) = of(&["100", "123457"]);
    assert_eq!((code, kinds(&crashed)), (3, vec!["crashed"]), "{crashed}");
    assert_eq!((&crashed["outcome"], &crashed["exit"]["signal"]), (&"killed".into(), &6.into()));
    assert!(
        crashed["findings"][0]["what"]
            .as_str()
            .is_some_and(|what| what.contains("SIGABRT") && what.contains("odd: heap"))
    );
    assert_eq!((&crashed["runs_counted"], &crashed["findings"][0]["of"]), (&0.into(), &2.into()));

    let began = Instant::now();
    let (code, hung) = of(&["234567"]);
    assert_eq!((code, kinds(&hung)), (3, vec!["timed-out"]), "{hung}");
    assert!(began.elapsed() < Duration::from_secs(60), "it is not waited for");

    let (code, other) = of(&["345677"]);
    assert_eq!((code, kinds(&other)), (3, vec!["other-exit"]), "{other}");
    assert!(
        other["findings"][0]["what"]
            .as_str()
            .is_some_and(|what| what.contains("exit code 5 instead of exit code 0"))
    );

    let (code, fine) = of(&["100", "/7"]);
    assert_eq!((code, kinds(&fine)), (0, vec![]), "the baseline ends with that code, too: {fine}");
}

#[test]
fn another_output_is_a_finding_and_one_that_always_differs_is_not() {
    let folder = run::private_folder();
    let tells = victim("tells_sizes");
    let tells = tells.to_str().expect("a path");
    let outcome = compare(folder.path(), &["--runs", "1", "--with", "jemalloc,glibc", "--", tells]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let text = outcome.text();
    // A block of 104 bytes became one of 112, and glibc's own is glibc.
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "! jemalloc: another standard output from line 2 on: “usable: 104” in the baseline, “usable: 112” with jemalloc, in all runs"
        ),
        "{text}"
    );
    assert!(!words.contains("! glibc"), "{text}");
    assert!(text.find("NOT THE SAME") < text.find("MEDIANS"), "{text}");
    // Its numbers are those of other work.
    let line = ["--runs", "1", "--with", "jemalloc,glibc", "--format", "json", "--", tells];
    let found = json(&compare(folder.path(), &line));
    let (other, same) = (candidate(&found, "jemalloc"), candidate(&found, "glibc"));
    assert_eq!((&other["runs_counted"], &same["runs_counted"]), (&0.into(), &1.into()), "{found}");
    assert!(other["runs"].as_array().expect("runs").iter().all(|run| run["counts"] == false), "{other}");
    assert_eq!((&other["cpu_ns"], &other["against_baseline"]), (&Value::Null, &serde_json::json!({})));

    let varies = victim("varies");
    let varies = varies.to_str().expect("a path");
    let outcome = compare(
        folder.path(),
        &["--runs", "2", "--with", "jemalloc,mimalloc", "--format", "json", "--", varies],
    );
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = json(&outcome);
    let notes: Vec<&str> =
        found["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    assert_eq!(
        notes.iter().filter(|note| note.contains("outputs were not compared")).count(),
        1,
        "{notes:?}"
    );
    assert!(
        ["jemalloc", "mimalloc"].iter().all(|label| kinds(candidate(&found, label)).is_empty()),
        "{found}"
    );
}

#[test]
fn programs_into_which_no_allocator_can_be_put_are_refused_with_a_remedy() {
    let folder = run::private_folder();
    let refused = |program: &Path, word: &str, remedy: &str| {
        let outcome = compare(folder.path(), &["--", program.to_str().expect("a path")]);
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        assert_eq!((outcome.stderr.lines().count(), outcome.text().as_str()), (1, ""), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(word) && outcome.stderr.contains(remedy), "{}", outcome.stderr);
    };
    refused(
        &build(&Victim::named("static_executable"), FlagSet::Release),
        "linked statically",
        "link it dynamically",
    );
    let own = build(&Victim::named("own_malloc_in_executable"), FlagSet::Release);
    refused(&own, "defines malloc itself", "build it without");
    refused(&programs::rust_tool("rustc"), "defines malloc itself", "build it without");
    // A script that becomes such a program is found out by what it became.
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\nexec {}\n", own.display())).expect("a file can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("it is ours");
    refused(&script, "defines malloc itself", "build it without");
}

#[test]
fn a_script_is_fine_and_a_program_without_the_allocator_is_seen() {
    let folder = run::private_folder();
    let outcome = compare(
        folder.path(),
        &["--runs", "1", "--with", "snmalloc", "--format", "json", "--", "sh", "-c", "ls / | wc -l"],
    );
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = json(&outcome);
    assert_eq!(candidate(&found, "snmalloc")["runs"][0]["in_use"], true);
    assert!(!found["notes"].to_string().contains("inside of libraries"), "{}", found["notes"]);
    // Who clears the environment starts the program without the library.
    let line = ["--runs", "1", "--with", "snmalloc", "--format", "json", "--", "env", "-i", "/bin/ls", "/"];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let found = json(&outcome);
    assert_eq!(kinds(candidate(&found, "snmalloc")), ["not-in-use"]);
    assert_eq!(candidate(&found, "snmalloc")["runs_counted"], 0);
}

#[test]
fn a_server_is_driven_and_its_memory_is_seen_after_the_load_and_later() {
    let folder = run::private_folder();
    let server = victim("keeps_and_serves");
    let load = "kill -USR1 $(cat pid); while [ ! -e worked ]; do sleep 0.02; done; rm worked";
    let line = [
        "--runs",
        "1",
        "--with",
        "jemalloc,jemalloc:dirty_decay_ms=0,glibc",
        "--ready",
        "line:ready to serve",
        "--load",
        load,
        "--settle",
        "300ms",
        "--format",
        "json",
        "--",
        server.to_str().expect("a path"),
        "pid",
        "worked",
    ];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stderr, outcome.text());
    let found = json(&outcome);
    assert_eq!(
        (&found["server"]["settle_ns"], &found["server"]["load"]),
        (&300_000_000.into(), &load.into())
    );
    let after = |label: &str, what: &str| {
        candidate(&found, label)["measures"][what]["median"]
            .as_u64()
            .unwrap_or_else(|| panic!("{label} {what}: {found}"))
    };
    for label in ["default", "jemalloc", "glibc"] {
        let runs = candidate(&found, label)["runs"].as_array().expect("runs");
        assert!(
            runs.iter().all(|run| run["load"]["exit"]["code"] == 0 && run["exit"]["code"] == 0),
            "{runs:?}"
        );
        let peak = candidate(&found, label)["peak_rss_bytes"].as_u64().expect("a peak");
        assert!(peak > 62 << 20, "{label}: {peak}");
    }
    // glibc keeps what lies below the last block, and a decay of zero keeps nothing.
    assert!(after("default", "rss_after_settle_bytes") > 60 << 20, "{found}");
    assert!(after("jemalloc:dirty_decay_ms=0", "rss_after_load_bytes") < 16 << 20, "{found}");
    assert_eq!(candidate(&found, "jemalloc:dirty_decay_ms=0")["settings"]["dirty_decay_ms"], "0");
    assert_eq!(found["least"]["rss_after_settle_bytes"]["best"], Value::Null, "one round tells nothing");
}

#[test]
fn redis_has_jemalloc_as_it_is_and_glibc_on_request() {
    let (Some(redis), Some(_)) = (programs::find("redis-server"), programs::find("redis-cli")) else {
        return;
    };
    let folder = run::private_folder();
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
    let (ready, port) = (format!("tcp:{port}"), port.to_string());
    let load = format!("for i in 1 2 3; do redis-cli -p {port} set key$i value || exit 1; done");
    let line = [
        "--runs",
        "3",
        "--with",
        "glibc",
        "--ready",
        &ready,
        "--load",
        &load,
        "--format",
        "json",
        "--",
        redis.to_str().expect("a path"),
        "--port",
        &port,
        "--save",
        "",
        "--dir",
        ".",
    ];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stderr, outcome.text());
    let found = json(&outcome);
    let seen = candidate(&found, "default")["allocators_seen"].to_string();
    assert!(seen.contains("libjemalloc"), "{seen}");
    let glibc = candidate(&found, "glibc");
    let runs = glibc["runs"].as_array().expect("runs");
    assert!(runs.iter().all(|run| run["in_use"] == true));
    // What drives it is none of its processes, from its first moment on.
    assert!(runs.iter().all(|run| run["processes"] == 1), "{runs:?}");
    assert!(glibc["against_baseline"]["rss_after_load_bytes"]["rounds"] == 3, "{glibc}");
}

#[test]
fn a_server_that_cannot_be_distinguished_from_another_one_or_whose_load_fails_is_not_compared() {
    let folder = run::private_folder();
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let ready = format!("tcp:{}", other.local_addr().expect("it has one").port());
    let line = ["--with", "jemalloc", "--ready", &ready, "--load", "true", "--", "sleep", "100"];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("listens at port"), "{}", outcome.stderr);
    let line = ["--with", "jemalloc", "--ready", "true", "--load", "exit 4", "--", "sleep", "100"];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a load that ended with exit code 4"), "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_had_is_said_and_the_others_are_compared() {
    let folder = run::private_folder();
    let program = victim("asks_for");
    let program = program.to_str().expect("a path");
    std::fs::write(folder.path().join("no.so"), "not a library at all").expect("a file can be written");
    let line = ["--runs", "1", "--with", "./no.so,mimalloc", "--format", "json", "--", program, "10"];
    let outcome = compare(folder.path(), &line);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let found = json(&outcome);
    assert_eq!(found["unavailable"][0]["label"], "./no.so");
    assert!(
        found["unavailable"][0]["reason"].as_str().is_some_and(|r| r.contains("not a shared library")),
        "{found}"
    );
    assert_eq!(candidate(&found, "mimalloc")["runs_counted"], 1);
    let alone = compare(folder.path(), &["--with", "./no.so", "--", program, "10"]);
    assert_eq!((alone.code(), alone.stderr.lines().count()), (3, 1), "{}", alone.stderr);
}

#[test]
fn usage_errors_and_programs_that_do_not_work_are_reported_in_a_line() {
    let folder = run::private_folder();
    std::fs::write(folder.path().join("plain"), "nothing to be executed").expect("a file can be written");
    let cases: [(&[&str], i32, &str); 14] = [
        (&["--settle", "3s", "--", "ls"], 2, "--ready"),
        (&["--ready", "tcp:[::1]:80; touch was-run", "--", "ls"], 2, "tcp:[::1]:PORT"),
        (&["--ready", " line:", "--", "ls"], 2, "line:TEXT"),
        (&["--with", "jemaloc", "--", "ls"], 2, "name one of jemalloc"),
        (&["--runs", "0", "--", "ls"], 2, "leaves nothing"),
        (&["--ready", "tcp:x", "--", "ls"], 2, "tcp:PORT"),
        (&["--stdin", "none", "--", "cat"], 2, "cannot read none"),
        (&["--with", "default", "--", "true"], 2, "nothing but the baseline"),
        (&["-o", "no/folder/out", "--", "touch", "was-run"], 1, "cannot write no/folder/out"),
        (&["-o", ".", "--", "touch", "was-run"], 1, "cannot write ."),
        (&["--with", "jemalloc", "--", "no-such-program"], 127, "command not found"),
        (&["--with", "jemalloc", "--", "./plain"], 126, "cannot be executed"),
        (&["--with", "jemalloc", "--timeout", "300ms", "--", "sleep", "100"], 1, "did not end in time"),
        (&["--with", "jemalloc", "--ready", "line:up", "--load", "true", "--", "ls"], 1, "without --ready"),
    ];
    for (arguments, code, word) in cases {
        let outcome = compare(folder.path(), arguments);
        assert_eq!(outcome.code(), code, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments:?}: {}", outcome.stderr);
    }
    assert!(
        !folder.path().join("was-run").exists(),
        "it was run before it was seen that nothing can be written"
    );
    // A result that is there stays until there is another one.
    std::fs::write(folder.path().join("old"), "kept").expect("a file can be written");
    let failed =
        compare(folder.path(), &["--force", "-o", "old", "--with", "jemalloc", "--", "no-such-program"]);
    assert_eq!(
        (failed.code(), std::fs::read_to_string(folder.path().join("old")).ok()),
        (127, Some("kept".into()))
    );
    compare(folder.path(), &["-o", "new", "--with", "jemalloc", "--", "no-such-program"]);
    assert!(!folder.path().join("new").exists());
    for option in ["--settle", "--ready-timeout"] {
        let line = [option, "18446744073709551615s", "--ready", "true", "--", "sleep", "9"];
        let outcome = compare(folder.path(), &line);
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("ten years"), "{}", outcome.stderr);
    }
}

#[test]
fn an_interrupt_tells_what_there_is_and_leaves_nothing_behind() {
    // A terminal that is gone is an interrupt, too.
    for signal in [libc::SIGINT, libc::SIGHUP] {
        interrupt(signal);
    }
}

fn interrupt(signal: i32) {
    let folder = run::private_folder();
    let script = "echo $$ >> pids; sleep 0.2; exec sleep 0.1";
    // Under nohup, neither the tests nor heapwise would be notified that a terminal is gone.
    let mut command = run::command("env", folder.path());
    command.arg("--default-signal=HUP").arg(tool::heapwise()).args([
        "compare", "--runs", "1000", "--with", "jemalloc", "--format", "json", "--", "sh", "-c", script,
    ]);
    let running = run::start(&mut command, folder.path(), "heapwise");
    let pids = folder.path().join("pids");
    let count = || std::fs::read_to_string(&pids).map_or(0, |text| text.lines().count());
    let until = Instant::now() + run::PATIENCE;
    // Two of the first round, and three of each that counts.
    while count() < 9 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(signal);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let found = json(&outcome);
    assert_eq!(found["interrupted"], true);
    assert!(
        found["rounds"].as_u64() >= Some(1)
            && candidate(&found, "jemalloc")["runs_counted"].as_u64() >= Some(1)
    );
    for pid in std::fs::read_to_string(&pids).expect("pids").lines() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!stat.contains("sleep"), "{pid} lives on");
    }
}

#[test]
fn two_interrupts_end_heapwise_and_what_it_runs() {
    let folder = run::private_folder();
    // One process of a separate session, and one that is not waited for.
    let script = "(setsid sh -c 'echo $$ >> pids; exec sleep 286' &); echo $$ >> pids; exec sleep 286";
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["compare", "--with", "jemalloc", "--", "sh", "-c", script]);
    let running = run::start(&mut command, folder.path(), "heapwise");
    let pids = || std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
    let until = Instant::now() + run::PATIENCE;
    while pids().lines().count() < 2 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(libc::SIGINT);
    running.signal(libc::SIGTERM);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    assert_eq!(pids().lines().count(), 2);
    for pid in pids().lines() {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!line.contains("sleep"), "{pid} lives on");
    }
}

#[test]
fn the_text_fits_a_terminal_and_the_other_formats_hold_what_programs_say() {
    let folder = run::private_folder();
    let (program, odd) = (victim("asks_for"), victim("odd_allocator"));
    let list = format!("mimalloc:purge_delay=0,{}", odd.display());
    let line = |format: &str| {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.env("COLUMNS", "80");
        let words = [
            "--runs",
            "3",
            "--with",
            &list,
            "--format",
            format,
            "--",
            program.to_str().expect("a path"),
            "123457",
        ];
        let outcome = compare_with(command, folder.path(), &words);
        assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
        outcome.text()
    };
    let text = line("text");
    assert!(text.contains("WHAT IT MEANS") && !text.contains('\x1b'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = line("html");
    assert!(
        page.contains("Content-Security-Policy") && page.contains("&lt;b&gt;") && !page.contains("<b>`"),
        "{page}"
    );
    assert!(!page.contains("<script") && page.contains("<svg"), "{page}");
    let markdown = line("markdown");
    assert!(markdown.starts_with("### heapwise compare: `") && !markdown.contains("m<b>"), "{markdown}");
}

#[test]
fn closed_descriptors_of_heapwise_are_none_of_a_compared_program() {
    use std::os::unix::process::CommandExt;
    let folder = run::private_folder();
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["compare", "--with", "default:env.MALLOC_ARENA_MAX=1", "--runs", "5", "-o", "out", "--"]);
    command.args(["sh", "-c", "cat && echo written"]).stderr(Stdio::null());
    let close = || {
        // SAFETY: integer arguments.
        unsafe { (libc::close(0), libc::close(1)) };
        Ok(())
    };
    // SAFETY: runs in the child between fork and exec, and makes two system calls.
    unsafe { command.pre_exec(close) };
    assert_eq!(command.status().expect("it can be started").code(), Some(0));
}
