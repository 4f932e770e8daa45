//! What `heapwise tune` says and leaves behind when it does not come to its end: interrupts at each step, and a program on which
//! nothing can be tried. It claims nothing that was not measured, and throws no result away.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{run, tool};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Of two candidates this one is better after the load, whatever the machine.
const BETTER: &str = "jemalloc:dirty_decay_ms=0";

/// A folder with a program that has a unique name, so that no other one is taken for it.
struct Place {
    folder: TempDir,
    program: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let all = Victim::all_in("victims/tune");
        let built = build(all.iter().find(|v| v.name == "retains").expect("the victim"), FlagSet::Release);
        let folder = run::private_folder();
        let program = folder.path().join(format!("{name}-{}", std::process::id()));
        fs::copy(built, &program).expect("a copy");
        Self { folder, program }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn program(&self) -> &str {
        self.program.to_str().expect("a path")
    }

    /// A recording of the program with these arguments.
    fn recorded(&self, arguments: &[&str]) -> String {
        let recording = Recording::new(self.path());
        let recorded = recording.record(&self.program, arguments);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        recording.file().to_str().expect("a path").to_owned()
    }

    fn tune(&self, arguments: &[&str]) -> run::Running {
        let mut command = run::command(tool::heapwise(), self.path());
        command.arg("tune").args(arguments);
        let running = run::start(&mut command, self.path(), "tune");
        // A signal that comes before it is listened to says nothing.
        until("it listens to signals", || listens(running.pid()));
        running
    }

    /// Whether the program runs: its process ids.
    fn running(&self) -> Vec<i32> {
        let is_it =
            |pid: &i32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.program);
        processes().into_iter().filter(is_it).collect()
    }

    /// All files and folders that tune made.
    fn left_over(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.path()).expect("a folder").flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            [".tune.", ".recorded.", "recording.hw", "report.json"].iter().any(|ours| name.starts_with(ours))
        };
        all.filter(|path| !ours(path) && *path != self.program).collect()
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < run::PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn processes() -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A line of what the kernel says of a process.
fn status(pid: i32, name: &str) -> Option<String> {
    let all = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    all.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

fn listens(pid: i32) -> bool {
    let caught = status(pid, "SigCgt:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    caught.is_some_and(|mask| mask & (1 << (libc::SIGINT - 1)) != 0)
}

fn has_children(pid: i32) -> bool {
    processes().into_iter().any(|child| status(child, "PPid:") == Some(pid.to_string()))
}

fn parsed(outcome: &run::Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", outcome.text(), outcome.stderr))
}

fn sentences(found: &Value, list: &str) -> String {
    let all = found[list].as_array().expect("a list");
    all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_interrupt_while_the_recording_is_read_ends_it_at_once() {
    let place = Place::new("reads");
    let file = place.recorded(&["4", "100000", "1"]);
    let running = place.tune(&[&file, "--goal", "rss"]);
    running.signal(libc::SIGINT);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!((outcome.code(), outcome.text().as_str()), (130, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("interrupted before anything was replayed"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn an_interrupt_before_the_first_replay_claims_nothing() {
    let place = Place::new("searches");
    let file = place.recorded(&["1", "50", "1"]);
    let running = place.tune(&[&file, "--goal", "rss", "--format", "json"]);
    // Each candidate is asked who it is before the first one is replayed.
    until("the search has begun", || has_children(running.pid()));
    running.signal(libc::SIGINT);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let found = parsed(&outcome);
    assert_eq!((&found["choice"]["stay"], &found["choice"]["reason"]), (&true.into(), &"interrupted".into()));
    assert_eq!((&found["rungs"], &found["is_interrupted"]), (&serde_json::json!([]), &true.into()));
    assert!(
        sentences(&found, "conclusion").starts_with("Nothing is recommended instead of glibc"),
        "{found:#}"
    );
    assert!(sentences(&found, "caveats").contains("before anything was replayed"), "{found:#}");
}

#[test]
fn a_program_that_is_recorded_ends_with_tune_and_nothing_is_left() {
    let place = Place::new("records");
    for is_interrupted_once in [true, false] {
        let running = place.tune(&["--goal", "rss", "--", place.program(), "1", "50", "100000"]);
        until("the program runs", || !place.running().is_empty());
        running.signal(libc::SIGINT);
        if !is_interrupted_once {
            running.signal(libc::SIGINT);
        }
        let outcome = running.wait(run::PATIENCE);
        assert_eq!((outcome.code(), outcome.text().as_str()), (130, ""), "{}", outcome.stderr);
        until("the program has ended", || place.running().is_empty());
        assert_eq!(place.left_over(), Vec::<PathBuf>::new(), "interrupted once: {is_interrupted_once}");
    }
}

#[test]
fn an_interrupt_while_the_best_are_tried_keeps_what_replays_found() {
    let place = Place::new("confirms");
    let file = place.recorded(&["4", "12000", "1"]);
    let line = [&file, "--goal", "rss-after", "--with", BETTER, "--longest", "1s", "--format", "json"];
    let running = place.tune(&[&line[..], &["--", place.program(), "4", "12000", "100000"]].concat());
    until("the program runs", || !place.running().is_empty());
    running.signal(libc::SIGINT);
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    let found = parsed(&outcome);
    let choice = &found["choice"];
    assert_eq!((&choice["candidate"], &choice["verified"]), (&BETTER.into(), &"replay".into()), "{found:#}");
    assert_eq!((&found["unconfirmed"], &found["confirmed"]), (&"interrupted".into(), &Value::Null));
    assert_eq!(found["is_interrupted"], true);
    assert!(sentences(&found, "caveats").contains("tried on the program itself"), "{found:#}");
    assert!(!sentences(&found, "conclusion").contains("name its command"), "{found:#}");
    until("the program has ended", || place.running().is_empty());
}

#[test]
fn what_replays_found_is_reported_when_the_program_cannot_be_tried() {
    let place = Place::new("fails");
    let file = place.recorded(&["4", "12000", "1"]);
    let line = [&file, "--goal", "rss-after", "--with", BETTER, "--longest", "1s", "--format", "json"];
    let tune = |more: &[&str]| place.tune(&[&line[..], more].concat()).wait(run::PATIENCE);

    // A program that ends is no server.
    let outcome = tune(&["--ready", "tcp:1", "--", place.program(), "1", "50", "1"]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    let found = parsed(&outcome);
    assert_eq!((&found["unconfirmed"], &found["choice"]["verified"]), (&"failed".into(), &"replay".into()));
    assert_eq!(found["choice"]["candidate"], BETTER);
    let caveats = sentences(&found, "caveats");
    assert!(caveats.contains("Nothing was tried") && caveats.contains("the baseline"), "{caveats}");
    assert!(!sentences(&found, "conclusion").contains("name its command"), "{found:#}");

    // The same is said before the search if there is no recording yet.
    let outcome =
        place.tune(&["--ready", "tcp:1", "--", place.program(), "1", "50", "1"]).wait(run::PATIENCE);
    assert_eq!((outcome.code(), outcome.text().as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("without --ready"), "{}", outcome.stderr);

    let server = ["--ready", "line:retained", "--load", "exit 7", "--", place.program(), "1", "50", "100000"];
    let outcome = place.tune(&server).wait(run::PATIENCE);
    assert_eq!((outcome.code(), outcome.text().as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a load that ended with exit code 7"), "{}", outcome.stderr);

    // It was not wanted; and a time of rest is that of the replays.
    let outcome = tune(&["--settle", "100ms", "--confirm", "0", "--", place.program(), "1", "50", "1"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = parsed(&outcome);
    assert_eq!(found["unconfirmed"], "not-wanted");
    assert!(sentences(&found, "conclusion").contains("--confirm 0"), "{found:#}");

    // One round tells nothing, and of another program still less.
    let outcome = tune(&["--runs", "1", "--", "true"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let found = parsed(&outcome);
    assert_eq!((&found["unconfirmed"], &found["choice"]["verified"]), (&Value::Null, &"replay".into()));
    assert!(sentences(&found, "conclusion").contains("too few rounds to tell (1)"), "{found:#}");
    assert!(sentences(&found, "caveats").contains("The recording is of"), "{found:#}");
}
