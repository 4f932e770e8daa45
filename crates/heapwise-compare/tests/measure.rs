//! Single runs of real programs: that what is measured is theirs, and that nothing of them is left.

#![cfg(target_os = "linux")]

use heapwise_compare::measure::{Limits, measure};
use heapwise_compare::{Contender, EndSource, Error, Outcome, Program, Ready, Sample, Service};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn program(command: &[&str]) -> Program {
    Program { command: command.iter().map(Into::into).collect(), ..Program::default() }
}

fn run_within(program: &Program, timeout: Duration) -> Result<Sample, Error> {
    let interrupted = AtomicBool::new(false);
    measure(program, &Contender::default(), &Limits { timeout: Some(timeout), interrupted: &interrupted })
}

fn run(program: &Program) -> Sample {
    run_within(program, Duration::from_secs(60)).expect("it can be started")
}

fn sh(script: &str) -> Program {
    program(&["/bin/sh", "-c", script])
}

#[test]
fn a_program_is_measured_with_its_outputs_and_its_code() {
    let sample = run(&sh("echo out; echo err >&2; exit 7"));
    assert_eq!(sample.outcome, Outcome::Exited(7));
    assert_eq!(
        (sample.stdout.start.as_slice(), sample.stderr.start.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert!(sample.wall_ns > 0 && sample.cpu_ns > 0 && sample.minor_faults > 0);
    // A shell is small; our own memory, of which the child was a copy, must not count as its.
    assert!((256 << 10..6 << 20).contains(&sample.peak_rss_bytes), "{}", sample.peak_rss_bytes);
}

#[test]
fn memory_at_the_end_is_seen_however_short_the_run_is() {
    // Without a runtime that is slow to start: the sampler alone would hardly see it.
    let script = "head -c 90000000 /dev/zero | tail -c 90000000 > /dev/null";
    let small = run(&sh("exit 0"));
    assert_eq!(small.end_source, EndSource::AtExit);
    assert!(small.end.rss_bytes > 100 << 10 && small.end.lazily_freed_bytes.is_some());
    // The memory is that of a child, which the kernel's account knows.
    let child = run(&sh(script));
    assert!(child.peak_rss_bytes > 80 << 20, "{}", child.peak_rss_bytes);
}

#[test]
fn memory_that_is_held_at_the_end_is_told_from_what_was_held_before() {
    let python = |rest: &str| {
        let script = format!("import ctypes\nb = bytearray(64 << 20)\n{rest}");
        run(&program(&["/usr/bin/python3", "-c", &script]))
    };
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return;
    }
    let freed = python("del b");
    assert!(freed.peak_rss_bytes > 64 << 20, "{}", freed.peak_rss_bytes);
    assert!(freed.end.rss_bytes < 32 << 20, "{}", freed.end.rss_bytes);
    let held = python("import os; os._exit(0)");
    assert!(held.end.rss_bytes > 64 << 20, "{}", held.end.rss_bytes);
    assert!(held.timeline.points().iter().any(|point| point.rss_bytes > 60 << 20));
}

#[test]
fn what_hangs_is_ended_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    let began = Instant::now();
    let sample = run_within(&sh(&script), Duration::from_secs(1)).unwrap();
    assert_eq!(sample.outcome, Outcome::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(30));
    let pid = std::fs::read_to_string(&mark).unwrap();
    assert!(!is_alive(pid.trim()), "the child of what was ended lives on");
}

#[test]
fn a_child_that_leaves_the_group_and_outlives_its_parent_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pid");
    let script = format!("setsid sh -c 'echo $$ > {}; exec sleep 1000' & sleep 0.4", mark.display());
    let began = Instant::now();
    let sample = run(&sh(&script));
    assert_eq!(sample.outcome, Outcome::Exited(0));
    assert!(sample.processes >= 2 && sample.peak_tree_bytes.is_some());
    assert!(began.elapsed() < Duration::from_secs(20), "nobody waits for what was left behind");
    assert!(!is_alive(std::fs::read_to_string(&mark).unwrap().trim()));
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn signals_reach_the_program_and_stops_are_stops() {
    // It stops itself, somebody else lets it go on, and then a handler runs: nothing of that is the tracer's to change.
    let script = "trap 'echo caught; exit 3' USR1; (sleep 0.2; kill -CONT $$; kill -USR1 $$) & kill -STOP $$; wait; exit 9";
    let sample = run(&sh(script));
    assert_eq!(sample.outcome, Outcome::Exited(3));
    assert_eq!(sample.stdout.start, b"caught\n");
    assert!(sample.wall_ns > 150_000_000, "it did not stay stopped: {}", sample.wall_ns);
    assert_eq!(run(&sh("kill -SEGV $$")).outcome, Outcome::Killed(11));
}

#[test]
fn standard_input_is_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    std::fs::write(&path, "some\ntext\n").unwrap();
    let with = Program { stdin: Some(path.clone()), ..program(&["/bin/cat"]) };
    for _ in 0..2 {
        assert_eq!(run(&with).stdout.start, b"some\ntext\n");
    }
    assert_eq!(run(&program(&["/bin/cat"])).stdout.bytes, 0);
    let missing = Program { stdin: Some(folder.path().join("none")), ..with };
    assert!(matches!(run_within(&missing, Duration::from_secs(5)), Err(Error::Stdin { .. })));
}

#[test]
fn what_cannot_be_started_is_an_error_and_an_interrupt_ends_a_run() {
    let of = |command| run_within(&program(&[command]), Duration::from_secs(5));
    assert!(matches!(of("/no/such/program"), Err(Error::NoSuchProgram { .. })));
    assert!(matches!(of("/etc/passwd"), Err(Error::NotExecutable { .. })));
    let interrupted = AtomicBool::new(false);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            interrupted.store(true, Ordering::Relaxed);
        });
        let limits = Limits { timeout: None, interrupted: &interrupted };
        let ended = measure(&sh("sleep 1000"), &Contender::default(), &limits);
        assert!(matches!(ended, Err(Error::Interrupted)));
    });
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn gigabytes_of_output_are_counted_and_not_kept() {
    let sample = run(&program(&["/usr/bin/head", "-c", "200000000", "/dev/zero"]));
    assert_eq!(sample.stdout.bytes, 200_000_000);
    assert!(sample.stdout.start.len() <= 256 << 10);
}

#[test]
fn a_server_is_driven_looked_at_and_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("work");
    let script = format!(
        "trap 'echo bye; exit 0' TERM; mkfifo {0}; echo ready to serve; while :; do read line < {0}; echo got $line; done",
        fifo.display()
    );
    let service = |ready: &str, load: &str| Service {
        ready: Some(ready.parse::<Ready>().unwrap()),
        ready_limit: Duration::from_secs(5),
        load: Some(load.to_owned()),
        settle: Some(Duration::from_millis(50)),
        stop_limit: Duration::from_secs(5),
    };
    let load = format!("echo work > {}; sleep 0.2; echo done", fifo.display());
    let server = Program { service: Some(service("line:ready to", &load)), ..sh(&script) };
    let sample = run(&server);
    assert_eq!(sample.outcome, Outcome::Exited(0), "{sample:?}");
    let output = String::from_utf8_lossy(&sample.stdout.start).into_owned();
    assert!(output.contains("got work") && output.ends_with("bye\n"), "{output}");
    let load = sample.load.expect("a load");
    assert_eq!((load.outcome, load.stdout.start.as_slice()), (Outcome::Exited(0), &b"done\n"[..]));
    assert!(load.wall_ns > 150_000_000 && sample.wall_ns == load.wall_ns);
    assert!(sample.after_load.is_some() && sample.after_settle.is_some());

    // One that ends, one that never gets ready, and one that dies of the load.
    let early = Program { service: Some(service("line:never", "true")), ..sh("exit 4") };
    assert_eq!(run(&early).outcome, Outcome::Died { code: Some(4), signal: None });
    let mut slow = service("false", "true");
    slow.ready_limit = Duration::from_millis(200);
    let slow = Program { service: Some(slow), ..sh("sleep 1000") };
    assert_eq!(run(&slow).outcome, Outcome::NotReady);
    let mark = folder.path().join("server");
    let script = format!("echo $$ > {0}; exec sleep 1000", mark.display());
    let kill = format!("kill -SEGV $(cat {}); sleep 0.2", mark.display());
    let dies =
        Program { service: Some(service(&format!("test -s {}", mark.display()), &kill)), ..sh(&script) };
    assert_eq!(run(&dies).outcome, Outcome::Died { code: None, signal: Some(11) });
}

#[test]
fn a_server_that_ignores_the_end_is_killed() {
    let service = Service {
        ready: Some(Ready::Line("up".into())),
        ready_limit: Duration::from_secs(5),
        stop_limit: Duration::from_millis(200),
        ..Service::default()
    };
    let stubborn =
        Program { service: Some(service), ..sh("trap '' TERM; echo up; while :; do sleep 0.1; done") };
    let sample = run(&stubborn);
    assert_eq!(sample.outcome, Outcome::Stopped);
    assert!(sample.after_load.is_some_and(|memory| memory.rss_bytes > 0));
}
