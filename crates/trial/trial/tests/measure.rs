//! Single runs of real programs: that what is measured is theirs, and that nothing of them is left.

#![cfg(target_os = "linux")]

use heapwise_trial::compare::measure::{Limits, measure};
use heapwise_trial::compare::{Candidate, EndSource, Error, Outcome, Program, Ready, Sample, Service};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs take turns, which is no time that a run takes.
static TURN: Mutex<()> = Mutex::new(());

fn program(command: &[&str]) -> Program {
    Program { command: command.iter().map(Into::into).collect(), ..Program::default() }
}

fn run_within(program: &Program, timeout: Duration) -> Result<Sample, Error> {
    let interrupted = AtomicBool::new(false);
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    let limits = Limits { timeout: Some(timeout), interrupted: &interrupted };
    let sample = measure(program, &Candidate::default(), &limits);
    assert!(began.elapsed() < Duration::from_secs(30), "a process that was left behind is waited for");
    sample
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
    assert!(sample.wall_ns > Some(0) && sample.cpu_ns > Some(0) && sample.minor_faults > 0);
    // A shell is small; our own memory, of which the child was a copy, must not count as its.
    let peak = sample.peak_rss_bytes.unwrap();
    assert!((256 << 10..6 << 20).contains(&peak), "{peak}");
}

#[test]
fn memory_at_the_end_is_seen_however_short_the_run_is() {
    // Without a runtime that is slow to start: the sampler alone would hardly see it.
    let script = "head -c 90000000 /dev/zero | tail -c 90000000 > /dev/null";
    let small = run(&sh("exit 0"));
    assert_eq!(small.end_source, EndSource::AtExit);
    assert!(small.end.is_some_and(|end| end.rss_bytes > 100 << 10 && end.lazily_freed_bytes.is_some()));
    // The memory is that of a child, which the kernel's account knows.
    let child = run(&sh(script));
    assert!(child.peak_rss_bytes > Some(80 << 20), "{:?}", child.peak_rss_bytes);
}

#[test]
fn memory_that_is_held_at_the_end_is_distinguished_from_what_was_held_before() {
    let python = |rest: &str| {
        let script = format!("import ctypes\nb = bytearray(64 << 20)\n{rest}");
        run(&program(&["/usr/bin/python3", "-c", &script]))
    };
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return;
    }
    let freed = python("del b");
    assert!(freed.peak_rss_bytes > Some(64 << 20), "{:?}", freed.peak_rss_bytes);
    assert!(freed.end.is_some_and(|end| end.rss_bytes < 32 << 20), "{:?}", freed.end);
    let held = python("import os; os._exit(0)");
    assert!(held.end.is_some_and(|end| end.rss_bytes > 64 << 20), "{:?}", held.end);
    assert!(held.timeline.points().iter().any(|point| point.rss_bytes > 60 << 20));
}

#[test]
fn what_hangs_is_ended_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    let sample = run_within(&sh(&script), Duration::from_secs(1)).unwrap();
    assert_eq!(sample.outcome, Outcome::TimedOut);
    let pid = std::fs::read_to_string(&mark).unwrap();
    assert!(!is_alive(pid.trim()), "the child of what was ended lives on");
}

#[test]
fn a_child_that_leaves_the_group_and_outlives_its_parent_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pid");
    let script = format!("setsid sh -c 'echo $$ > {}; exec sleep 1000' & sleep 0.4", mark.display());
    let sample = run(&sh(&script));
    assert_eq!(sample.outcome, Outcome::Exited(0));
    assert!(sample.processes >= 2 && sample.peak_tree_bytes.is_some());
    assert!(!is_alive(std::fs::read_to_string(&mark).unwrap().trim()));
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn signals_reach_the_program_and_stops_are_stops() {
    // It stops itself, another process lets it go on, and then a handler runs: nothing of that is the tracer's to change.
    let script = "trap 'echo caught; exit 3' USR1; (sleep 0.2; kill -CONT $$; kill -USR1 $$) & kill -STOP $$; wait; exit 9";
    let sample = run(&sh(script));
    assert_eq!(sample.outcome, Outcome::Exited(3));
    assert_eq!(sample.stdout.start, b"caught\n");
    assert!(sample.wall_ns > Some(150_000_000), "it did not stay stopped: {:?}", sample.wall_ns);
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
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            interrupted.store(true, Ordering::Relaxed);
        });
        let limits = Limits { timeout: None, interrupted: &interrupted };
        let ended = measure(&sh("sleep 1000"), &Candidate::default(), &limits);
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
fn a_server_is_driven_inspected_and_asked_to_end() {
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
    assert!(load.wall_ns > 150_000_000 && sample.wall_ns == Some(load.wall_ns));
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
fn times_that_no_clock_can_tell_are_waited_for_as_long_as_there_is_anything_to_wait_for() {
    let service = |ready: &str| Service {
        ready: Some(ready.parse::<Ready>().unwrap()),
        ready_limit: Duration::MAX,
        settle: Some(Duration::MAX),
        ..Service::default()
    };
    for ready in ["false", "true"] {
        let ends = Program { service: Some(service(ready)), ..sh("sleep 0.5; exit 4") };
        assert_eq!(run(&ends).outcome, Outcome::Died { code: Some(4), signal: None }, "{ready}");
    }
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
    assert_eq!((sample.wall_ns, sample.cpu_ns), (None, None), "nothing was done that would take time");
}

/// Whether python is there, for programs that a shell cannot be.
fn python(script: &str) -> Option<Program> {
    let path = "/usr/bin/python3";
    std::path::Path::new(path).exists().then(|| program(&[path, "-c", script]))
}

/// A server that does 300 ms of work for each of three signals; `how` selects which process does it.
fn working_server(how: &str) -> Option<Program> {
    let script = format!(
        "import os, signal, sys, time\n\
         def work(seconds):\n\
         \x20   until = time.process_time() + seconds\n\
         \x20   while time.process_time() < until: pass\n\
         {how}\n\
         left = 3\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n\
         open(sys.argv[1] + '.new', 'w').write(str(os.getpid()))\n\
         os.rename(sys.argv[1] + '.new', sys.argv[1])\n\
         while True:\n\
         \x20   signal.sigwait([signal.SIGUSR1])\n\
         \x20   serve()\n\
         \x20   open(sys.argv[1] + '.done', 'a').write('x')\n"
    );
    python(&script)
}

fn cpu_of_server(how: &str) -> Option<Option<u64>> {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid").display().to_string();
    let mut server = working_server(how)?;
    server.command.push(pid.clone().into());
    let load = format!(
        "for n in 1 2 3; do kill -USR1 $(cat {pid}); while [ \"$(wc -c < {pid}.done)\" -lt $n ]; do sleep 0.01; done; done"
    );
    server.service = Some(Service {
        ready: Some(Ready::Command(format!("test -s {pid} && touch {pid}.done"))),
        ready_limit: Duration::from_secs(20),
        load: Some(load),
        settle: None,
        stop_limit: Duration::from_secs(5),
    });
    let sample = run(&server);
    assert_eq!(sample.load.as_ref().map(|load| &load.outcome), Some(&Outcome::Exited(0)), "{sample:?}");
    Some(sample.cpu_ns)
}

#[test]
fn what_the_children_of_a_server_needed_is_the_servers_whoever_waited_for_them() {
    let exact = 850_000_000..1_500_000_000;
    let waits =
        "def serve():\n    pid = os.fork()\n    if pid == 0: work(0.3); os._exit(0)\n    os.waitpid(pid, 0)";
    let Some(cpu) = cpu_of_server(waits) else { return };
    assert!(cpu.is_some_and(|cpu| exact.contains(&cpu)), "a child for each: {cpu:?}");

    // The worker was there before, does the first half, and is not there afterwards.
    let worker = "r, w = os.pipe(); r2, w2 = os.pipe(); n = 0\n\
                  def worker():\n\
                  \x20   work(0.5)\n\
                  \x20   for n in range(2): os.read(r, 1); work(0.45); os.write(w2, b'x')\n\
                  \x20   os._exit(0)\n\
                  pid = os.fork()\n\
                  if pid == 0: worker()\n\
                  def serve():\n\
                  \x20   global n; n += 1\n\
                  \x20   if n == 3: os.waitpid(pid, 0)\n\
                  \x20   else: os.write(w, b'x'); os.read(r2, 1)";
    let cpu = cpu_of_server(worker).unwrap();
    assert!(cpu.is_some_and(|cpu| cpu >= 850_000_000), "a worker that ends: {cpu:?}");

    // The child is ours alone, and has another session.
    let orphan = "def serve():\n    r, w = os.pipe()\n    pid = os.fork()\n    if pid == 0:\n        os.setsid()\n        if os.fork() == 0: work(0.3); os.write(w, b'x')\n        os._exit(0)\n    os.waitpid(pid, 0); os.read(r, 1)";
    let cpu = cpu_of_server(orphan).unwrap();
    assert!(cpu.is_some_and(|cpu| exact.contains(&cpu)), "an orphan for each: {cpu:?}");
}

#[test]
fn a_server_that_ignores_the_ends_of_its_children_has_no_processor_time_that_is_known() {
    // SA_NOCLDWAIT shows nowhere but in what is missing; the other one is seen even if hardly anything is.
    let cases = [("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", 0.005), ("no_wait()", 0.3)];
    for (ignored, work) in cases {
        let how = format!(
            "import ctypes\n\
             def no_wait():\n\
             \x20   action = (ctypes.c_byte * 152)()\n\
             \x20   ctypes.c_int.from_buffer(action, 136).value = 2\n\
             \x20   assert ctypes.CDLL(None).sigaction(signal.SIGCHLD, action, None) == 0\n\
             {ignored}\n\
             def serve():\n\
             \x20   r, w = os.pipe()\n\
             \x20   if os.fork() == 0: time.sleep(0.2); work({work}); os._exit(0)\n\
             \x20   os.close(w); os.read(r, 1); os.close(r)"
        );
        let Some(cpu) = cpu_of_server(&how) else { return };
        assert_eq!(cpu, None, "{ignored}");
    }
}

#[test]
fn nothing_of_a_run_is_left_behind_whatever_it_did_to_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // It leaves group and session, and has no parent before it could be seen.
    let late = "setsid sh -c 'echo $$ > LATE; exec sleep 287' & while [ ! -s LATE ]; do :; done; exit";
    let sample = run(&sh(&late.replace("LATE", &path("late"))));
    assert_eq!(sample.outcome, Outcome::Exited(0));
    let children = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let with_command = |pid: &str, what: &str| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains(what)
    };
    assert!(!children().iter().any(|pid| with_command(pid, "287")), "it lives on");

    // What a load leaves behind is ended with the load, what the server had apart is not.
    let apart = format!("setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 288' &", path("server"));
    let script = format!(
        "({apart}); while [ ! -s {} ]; do sleep 0.01; done; echo up; exec sleep 1000",
        path("server")
    );
    let load = format!(
        "(setsid sh -c 'echo $$ > {0}; exec sleep 289' &); while [ ! -s {0} ]; do sleep 0.01; done",
        path("load")
    );
    let service = Service {
        ready: Some(Ready::Line("up".into())),
        ready_limit: Duration::from_secs(20),
        load: Some(load),
        settle: Some(Duration::from_secs(1)),
        stop_limit: Duration::from_secs(5),
    };
    let server = Program { service: Some(service), ..sh(&script) };
    let seen = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(30);
            while Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
                // The load is over when none of its processes is left; the server is settling then.
                let there = |name: &str| {
                    let pid = std::fs::read_to_string(path(name)).unwrap_or_default();
                    (!pid.is_empty()).then(|| is_alive(pid.trim()))
                };
                if there("load") == Some(false) {
                    return there("server");
                }
            }
            None
        });
        let sample = run(&server);
        assert_eq!(sample.load.as_ref().map(|load| &load.outcome), Some(&Outcome::Exited(0)));
        assert!(sample.after_settle.is_some());
        watcher.join().unwrap()
    });
    assert_eq!(seen, Some(true), "the server's own was ended with the load's");
    assert!(!is_alive(std::fs::read_to_string(path("server")).unwrap().trim()));
    // Not while another test has its own.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(children(), [""; 0], "a child was not waited for");
}
