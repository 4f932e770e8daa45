//! Processes that are attached to: programs, and what such a process has mapped.

use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run::{self, Outcome, PATIENCE, Running};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const PROGRAM: &str = include_str!("program.c");
pub(super) const WORK_BLOCKS: u64 = 8 * 2000 + 1000 + 500;
pub(super) const BEFORE_BYTES: u64 = 900 * 3000;

pub(super) const BUSY: &str = include_str!("busy.c");
/// `PICTURE` and `IDLE` begin with it.
pub(super) const SIGNALS: &str = include_str!("signals.c");
pub(super) const PICTURE: &str = include_str!("picture.c");
pub(super) const IDLE: &str = include_str!("idle.c");
pub(super) const FILTERED: &str = include_str!("filtered.c");

/// Starts a program, and waits until it says that it is ready.
pub(super) fn started(program: &Path, arguments: &[&str], folder: &Path) -> Running {
    let mut running = run::start(run::command(program, folder).args(arguments), folder, "program");
    running.wait_for("ready");
    running
}

/// Interrupts a recording, and waits for its end.
pub(super) fn detached(recording: &Recording, attached: Running) -> Recorded {
    attached.signal(libc::SIGINT);
    recording.wait(attached)
}

pub(super) fn ended(program: Running) -> Outcome {
    program.signal(libc::SIGTERM);
    program.wait(PATIENCE)
}

/// Blocks that were handed out in `work`.
pub(super) fn of_work(recorded: &Recorded) -> u64 {
    let report = recorded.report();
    let is_work = |site: &&_| report.stack(site).any(|frame| frame.function.as_deref() == Some("work"));
    report.sites.iter().filter(is_work).map(|site| site.allocations).sum()
}

/// What a process has mapped that is the recorder's: its memory and its code, which are in no file.
pub(super) fn left_behind(pid: i32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let is_its =
        |line: &&str| line.contains("memfd:heapwise") || line.contains("r-xp") && !line.contains(['/', '[']);
    maps.lines().filter(is_its).map(str::to_owned).collect()
}

/// The code that a process has mapped, of each file.
pub(super) fn code(pid: i32) -> BTreeMap<String, u64> {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("it is ours");
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let mut code: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // A page that was changed is a line of its own ever after.
    for line in maps.lines().filter(|line| line.contains("r-xp") && line.contains('/')) {
        let (start, end) =
            line.split_once(' ').and_then(|(range, _)| range.split_once('-')).expect("a range");
        let number = |digits| u64::from_str_radix(digits, 16).expect("a number");
        let mut bytes = vec![0; (number(end) - number(start)) as usize];
        memory.read_exact_at(&mut bytes, number(start)).expect("it is mapped");
        let file = &line[line.find('/').expect("a file")..];
        code.entry(file.to_owned()).or_default().extend(bytes);
    }
    let sum = |bytes: Vec<u8>| {
        let mut hasher = std::hash::DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    code.into_iter().map(|(file, bytes)| (file, sum(bytes))).collect()
}

/// Programs in C, dynamic and static.
pub(super) fn kinds() -> Vec<(&'static str, &'static [&'static str], &'static str)> {
    let mut kinds: Vec<(_, &[&str], _)> = vec![
        ("cc", &[], "libc.so.6"),
        ("cc", &["-static"], "glibc"),
        ("cc", &["-static-pie", "-fPIE"], "glibc"),
    ];
    if Command::new("musl-gcc").arg("--version").stdout(Stdio::null()).status().is_ok() {
        kinds.extend([("musl-gcc", &["-static"][..], "musl"), ("musl-gcc", &[], "libc.so")]);
    } else {
        eprintln!("SKIPPED: no musl-gcc: install musl-tools");
    }
    kinds
}
