//! What is left in a process when heapwise has gone, of its own accord or killed: nothing that disturbs it.

use super::process::{BUSY, IDLE, SIGNALS, code, detached, ended, left_behind, started};
use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, PATIENCE};
use std::time::{Duration, Instant};

/// How often a process is attached to, and how often heapwise is killed then. 1,000 and 200 take ten minutes.
const CYCLES: &str = "HEAPWISE_TEST_CYCLES";

const KILLS: &str = "HEAPWISE_TEST_KILLS";

fn times(variable: &str, usually: u64) -> u64 {
    std::env::var(variable).map_or(usually, |times| times.parse().expect("a number"))
}

#[test]
fn a_process_under_load_survives_many_recordings() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["6"], folder.path());
    let before = code(running.pid());
    for cycle in 0..times(CYCLES, 25) {
        let recording = Recording::new(folder.path()).with(&["--duration", "20ms"]);
        let recorded = recording.wait(run::start(
            &mut recording.attach_command(running.pid()),
            folder.path(),
            "attached",
        ));
        let what = format!("cycle {cycle}: {}", recorded.outcome.stderr);
        assert_eq!(recorded.outcome.code(), 0, "{what}");
        assert!(recorded.report().totals.allocations > 100, "{what}");
        assert_eq!(recorded.report().totals.lost_events, 0, "{what}");
    }
    assert_eq!((code(running.pid()), left_behind(running.pid())), (before, vec![]));
    let outcome = ended(running);
    assert_eq!(outcome.code(), 5, "{}", outcome.stderr);
    assert!(outcome.text().contains("calls "), "{}", outcome.text());
}

#[test]
fn a_process_goes_on_when_heapwise_is_killed() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["4"], folder.path());
    for n in 0..times(KILLS, 30) {
        let recording = Recording::new(folder.path()).with(&["--duration", "30ms", "--no-report"]);
        let attached = run::start(&mut recording.attach_command(running.pid()), folder.path(), "attached");
        // From its start on until it has ended.
        std::thread::sleep(Duration::from_micros(n * 7919 % 220_000));
        attached.signal(libc::SIGKILL);
        attached.wait(PATIENCE);
    }
    // What was left is no obstacle.
    let recording = Recording::new(folder.path()).with(&["--duration", "100ms"]);
    let recorded =
        recording.wait(run::start(&mut recording.attach_command(running.pid()), folder.path(), "attached"));
    assert!(recorded.report().totals.allocations > 1000, "{}", recorded.outcome.stderr);
    let outcome = ended(running);
    assert_eq!(outcome.code(), 5, "{}", outcome.stderr);
}

/// A thread that has worked for heapwise sleeps until it is put back. If heapwise is killed just then, the next one sends it back.
#[test]
fn a_thread_that_was_left_asleep_goes_on_with_the_next_recording() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["1"], folder.path());
    let pid = running.pid();
    // The first thread waits for the other one; `pselect6` is the sleep.
    let sleeps = || {
        let call = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
        call.is_ok_and(|call| call.starts_with(&format!("{} ", libc::SYS_pselect6)))
    };
    let recording = Recording::new(folder.path()).with(&["--duration", "30ms", "--no-report"]);
    let was_left_asleep = (0..200).any(|_| {
        let attached = run::start(&mut recording.attach_command(pid), folder.path(), "attached");
        let until = Instant::now() + Duration::from_secs(2);
        while !sleeps() && Instant::now() < until {}
        attached.signal(libc::SIGKILL);
        attached.wait(PATIENCE);
        sleeps()
    });
    assert!(was_left_asleep, "no moment was met in which the thread sleeps");
    let recorded = recording.wait(run::start(&mut recording.attach_command(pid), folder.path(), "attached"));
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert!(!sleeps(), "it went on with the program");
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn what_was_on_a_stack_earlier_keeps_nothing_in_the_process() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], &format!("{SIGNALS}{IDLE}"), folder.path(), "idle");
    let mut running = started(&program, &[], folder.path());
    let before = code(running.pid());
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("waits");
    let recorded = detached(&recording, attached);
    let said = &recorded.outcome.stderr;
    assert_eq!((code(running.pid()), left_behind(running.pid())), (before, vec![]), "{said}");
    assert!(!said.contains("keep the recorder's memory"), "{said}");
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn a_stopped_process_stays_stopped() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    let running = started(&program, &["2"], folder.path());
    running.signal(libc::SIGSTOP);
    // Whether it is stopped, and the ticks that its own code has taken.
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).expect("it is there");
        let (_, rest) = stat.rsplit_once(')').expect("a name in brackets");
        let fields: Vec<_> = rest.split_whitespace().collect();
        (fields[0] == "T", fields[11].parse::<u64>().expect("a number"))
    };
    // Each thread that was let go has to come to a processor before it is seen to be stopped.
    let stays_stopped = || {
        let until = Instant::now() + Duration::from_secs(5);
        while !state().0 {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (_, ticks) = state();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(state(), (true, ticks), "it stays stopped");
        ticks
    };
    let before = stays_stopped();
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    // The recorder's work in it takes less than what both threads would do meanwhile.
    let ticks = stays_stopped() - before;
    assert!(ticks < 5, "{ticks} ticks of the program");
    running.signal(libc::SIGCONT);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(50));
    let recorded = detached(&recording, attached);
    assert!(recorded.report().totals.allocations > 100, "{}", recorded.outcome.stderr);
    stays_stopped();
    running.signal(libc::SIGCONT);
    assert_eq!(ended(running).code(), 5);
}
