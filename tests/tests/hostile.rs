//! Programs that attack their recorder through the memory that they share with it, and users who are not the one who records.
//!
//! Whatever a program writes there, heapwise comes to its end, the recording can be read and says that something was not
//! believed, and what was recorded of other processes is right. `HEAPWISE_ATTACKS` says how many seeds are tried.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::measured::{self, Measured};
use heapwise_tests::recording::{Recording, report_on};
use heapwise_tests::report::Report;
use heapwise_tests::victim::Victim;
use heapwise_tests::{folders, programs, run, tool};
use heapwise_trace::live::layout::{
    ARENA_BYTES, ProcessHeader, RingHeader, SESSION_HEADER_BYTES, SessionHeader,
};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// How many seeds are tried, and the first of them: one that was too much for a collector that believed everything is soon
/// among them.
const SEEDS: u64 = 6;
const FIRST_SEED: u64 = 8;
/// The variable that asks for more of them, and for each attack alone.
const LONG: &str = "HEAPWISE_ATTACKS";
/// The collector may take so much more memory than for a program that does nothing of the kind.
const MOST_MORE_BYTES: u64 = 256 << 20;

fn hostile(name: &str) -> PathBuf {
    let mut all = Victim::all_in("victims/hostile");
    all.retain(|victim| victim.name == name);
    build(&all.pop().unwrap_or_else(|| panic!("there is no victim {name}")), FlagSet::Release)
}

/// heapwise ends within so long of the recorded program: a second or two, with room for a slow and busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Records a shell script in which `$1` to `$3` are the programs of this folder, beside a sibling that is under no attack.
/// Also says how long heapwise went on after the script.
fn record(folder: &Path, script: &str, sibling_rounds: u64) -> (Measured, Duration) {
    let programs = ["sibling", "forge", "scribble"].map(hostile);
    let rounds = sibling_rounds.to_string();
    let ended = folder.join("ended");
    let script = format!("{script}; : > {}", ended.to_str().expect("a path that is text"));
    let mut arguments = vec!["-c", &script, "sh"];
    arguments.extend(programs.iter().map(|path| path.to_str().expect("a path that is text")));
    arguments.push(&rounds);
    let measured = measured::run(&mut Recording::new(folder).command("sh", &arguments), folder);
    let ended = fs::metadata(&ended).and_then(|file| file.modified()).expect("the script came to its end");
    let after = ended.elapsed().unwrap_or_default();
    assert!(after < SOON, "{after:?} after the program's end: {}", measured.outcome.stderr);
    (measured, after)
}

fn report(folder: &Path, measured: &Measured) -> Report {
    let report = Report::read(&folder.join("report.json"));
    report.unwrap_or_else(|e| panic!("{e}\n--- heapwise said:\n{}", measured.outcome.stderr))
}

fn of_sibling(report: &Report) -> u64 {
    report.sum(|stack| stack.contains(&"in_sibling")).blocks
}

#[test]
fn the_victims_know_where_things_are() {
    let path = folders::tests_folder().join("victims/hostile/session.h");
    let text = fs::read_to_string(path).expect("the header of the victims");
    let lines = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    let said: BTreeMap<&str, usize> =
        lines.filter_map(|(name, number)| Some((name, number.parse().ok()?))).collect();
    let known = [
        ("HEADER_BYTES", SESSION_HEADER_BYTES as usize),
        ("ARENA_BYTES", ARENA_BYTES as usize),
        ("SESSION_CLOCK", offset_of!(SessionHeader, clock)),
        ("SESSION_NEXT_ARENA", offset_of!(SessionHeader, next_arena)),
        ("SESSION_WAKE", offset_of!(SessionHeader, wake)),
        ("SESSION_NEWEST", offset_of!(SessionHeader, newest_process)),
        ("PROCESS_PREVIOUS", offset_of!(ProcessHeader, previous)),
        ("PROCESS_PID", offset_of!(ProcessHeader, pid)),
        ("PROCESS_ALLOCATOR_LEN", offset_of!(ProcessHeader, allocator_len)),
        ("PROCESS_RING_COUNT", offset_of!(ProcessHeader, ring_count)),
        ("PROCESS_NODE_COUNT", offset_of!(ProcessHeader, node_count)),
        ("PROCESS_EXITING", offset_of!(ProcessHeader, exiting)),
        ("PROCESS_ARENAS", offset_of!(ProcessHeader, arenas)),
        ("PROCESS_RINGS", offset_of!(ProcessHeader, rings)),
        ("PROCESS_NODE_CHUNKS", offset_of!(ProcessHeader, node_chunks)),
        ("PROCESS_ALLOCATOR", offset_of!(ProcessHeader, allocator)),
        ("RING_HEAD", offset_of!(RingHeader, head)),
        ("RING_STATE", offset_of!(RingHeader, state)),
        ("RING_TID", offset_of!(RingHeader, tid)),
        ("RING_INCARNATION", offset_of!(RingHeader, incarnation)),
    ];
    for (name, offset) in known {
        assert_eq!(said.get(name), Some(&offset), "{name}");
    }
    assert_eq!(said.len(), known.len() + 1, "and MOST_MAPPINGS: {said:?}");
}

/// The memory that a recording takes of a program that attacks nothing.
fn clean(folder: &Path) -> u64 {
    let (measured, _) = record(folder, "$1 $4 & $2 not; $3 1 100 not; wait", 100);
    let report = report(folder, &measured);
    assert!(report.warnings.is_empty() && of_sibling(&report) == 20_000, "{:?}", report.warnings);
    measured.peak_rss_bytes
}

/// Attacks, by what of each is not believed; nothing of those that the kernel refuses, or that only ask for more than there is.
const ATTACKS: [(&str, &[&str]); 6] = [
    ("the list of processes", &["self-cycle", "long-cycle", "beyond", "unaligned", "below"]),
    ("a process (", &["pid $s", "pid $s nobody", "pid 1"]),
    ("memory of a process", &["arenas", "overlap"]),
    ("a ring of events", &["rings", "incarnations", "many"]),
    ("nodes of stacks", &["nodes"]),
    ("", &["truncate", "exit_handshake"]),
];

#[test]
fn a_forged_header_harms_its_own_process_alone() {
    let folder = run::private_folder();
    let at = folder.path();
    let clean = clean(at);
    let is_alone = std::env::var_os(LONG).is_some();
    for (refused, mut attacks) in ATTACKS {
        if refused == "a process (" && !programs::is_root() {
            eprintln!("SKIPPED: only root can become nobody");
            attacks = &["pid $s", "pid 1"];
        }
        // All of a kind at once, or each alone where there is time for it.
        for attacks in attacks.chunks(if is_alone { 1 } else { attacks.len() }) {
            let forge: String = attacks.iter().map(|attack| format!("$2 {attack} || exit 9 & ")).collect();
            let (measured, _) = record(at, &format!("$1 $4 & s=$!; sleep 0.05; {forge} wait"), 300);
            let said = &measured.outcome.stderr;
            assert_eq!(measured.outcome.code(), 0, "{attacks:?}: {said}");
            let report = report(at, &measured);
            assert_eq!(of_sibling(&report), 60_000, "{attacks:?}: {said}");
            let warned = report.warnings.iter().find(|warning| warning.id == "distrusted");
            let what = warned.map_or("", |warning| warning.what.as_str());
            assert!(what.contains(refused) && what.is_empty() == refused.is_empty(), "{attacks:?}: {what}");
            assert!(measured.peak_rss_bytes < clean + MOST_MORE_BYTES, "{attacks:?}: {measured:?}");
            assert!(report.threads.len() < 100 && report.processes.len() < 30, "{attacks:?}");
            let size = fs::metadata(at.join("recording.hw")).expect("a recording").len();
            assert!(size < 16 << 20, "{attacks:?}: {size} bytes");
            let truncated = attacks.contains(&"truncate");
            assert_eq!(said.contains("truncated: -1 -1"), truncated, "{attacks:?}: {said}");
        }
    }
}

#[test]
fn a_program_that_is_executed_in_the_same_process_is_believed() {
    let folder = run::private_folder();
    let (measured, _) = record(folder.path(), "$1 $4 & $2 exec; wait", 100);
    let report = report(folder.path(), &measured);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    // 2000 blocks of the second image, and 1000 of the first until it was replaced.
    assert_eq!(report.sum(|stack| stack.contains(&"in_attacker")).blocks, 3000);
    assert_eq!(of_sibling(&report), 20_000);
}

#[test]
fn random_words_in_the_shared_memory_stop_nothing() {
    let seeds = std::env::var(LONG).ok().and_then(|n| n.parse().ok()).unwrap_or(SEEDS);
    let folder = run::private_folder();
    let at = folder.path();
    let clean = clean(at);
    let (mut highest, mut longest) = (0, Duration::ZERO);
    for seed in FIRST_SEED..FIRST_SEED + seeds {
        // With every second seed what all processes share is spared: then nothing excuses a wrong count.
        let spares = seed % 2 == 1;
        let which = if spares { "spare" } else { "all" };
        let script = format!("$1 $4 & sleep 0.05; $3 {seed} 150 {which}; wait");
        let (measured, after) = record(at, &script, 150);
        let said = &measured.outcome.stderr;
        assert_eq!(measured.outcome.code(), 0, "seed {seed}: {said}");
        let (outcome, report) = report_on(&at.join("recording.hw"), at);
        assert_eq!(outcome.code(), 0, "seed {seed}: {}", outcome.stderr);
        let report = report.expect("a report");
        let warned = report.warnings.iter().any(|warning| warning.what.contains("the session's header"));
        let blocks = of_sibling(&report);
        assert!(blocks == 30_000 || (warned && !spares), "seed {seed}: {blocks}, {:?}", report.warnings);
        assert!(measured.peak_rss_bytes < clean + MOST_MORE_BYTES, "seed {seed}: {measured:?}");
        highest = highest.max(measured.peak_rss_bytes.saturating_sub(clean));
        longest = longest.max(after);
    }
    eprintln!(
        "{seeds} seeds: at most {} KiB more than {} KiB, over {longest:?} after the program",
        highest >> 10,
        clean >> 10
    );
}

#[test]
fn a_library_is_not_loaded_for_a_program_that_is_another_users() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can become nobody");
        return;
    }
    let Some(trusted) = programs::library("libjemalloc.so.2") else { return };
    let folder = run::private_folder();
    let at = folder.path();
    let open = at.join("open");
    fs::create_dir(&open).expect("a folder");
    fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("it is ours");
    fs::set_permissions(at, Permissions::from_mode(0o711)).expect("it is ours");
    let own = open.join("own.so");
    fs::copy(hostile("own_library"), &own).expect("a copy");
    let arguments = [&open, &trusted, &own].map(|path| path.to_str().expect("a path that is text"));
    let recording = Recording::new(at).variable("TMPDIR", open.to_str().expect("a path that is text"));
    let recorded = recording.record(hostile("swap_link"), &arguments);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let made: Vec<_> = fs::read_dir(&open).expect("a folder").filter_map(Result::ok).collect();
    let loaded = made.iter().filter(|file| file.file_name().to_string_lossy().starts_with("loaded-by"));
    assert_eq!(loaded.count(), 0, "the program's library ran: {made:?}");
    let report = recorded.report();
    let warned = report.warnings.iter().any(|warning| warning.what.contains("another user's"));
    assert!(warned, "{:?}", report.warnings);
}

#[test]
fn a_second_interrupt_leaves_whatever_holds_heapwise_up() {
    let folder = run::private_folder();
    let at = folder.path();
    // The diagnosis goes to a pipe that holds little and is not read.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: integer arguments, and a descriptor that is open.
    assert!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) } >= 0, "a small pipe");
    let mut command = run::command(tool::heapwise(), at);
    command.args(["run", "-o", "a.hw", "--format", "json", "--"]).arg(hostile("sibling")).arg("1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    let mut child = command.spawn().expect("heapwise starts");
    drop(command);
    let is_over = |file: &Path| {
        let (outcome, report) = report_on(file, at);
        outcome.code() == 0 && report.is_ok_and(|report| !report.mentions("no-end"))
    };
    while !is_over(&at.join("a.hw")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The report is longer than the pipe, so this does not end by itself.
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("a child").is_none(), "nothing holds it up");
    for _ in 0..2 {
        // SAFETY: integer arguments; the child was not waited for, so its id is its own.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        std::thread::sleep(Duration::from_millis(100));
    }
    let began = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it is ours");
            panic!("it goes on after two interrupts");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    drop(reader);
}

#[test]
fn another_user_can_neither_read_nor_disturb_a_recording() {
    let Some(setpriv) = programs::is_root().then(|| programs::find("setpriv")).flatten() else {
        eprintln!("SKIPPED: only root can become two others");
        return;
    };
    let folder = run::private_folder();
    let at = folder.path();
    // Copies: where the project lies may be closed to others.
    for (from, to) in [(tool::heapwise().to_owned(), "heapwise"), (hostile("sibling"), "sibling")] {
        fs::copy(from, at.join(to)).expect("a file can be copied");
    }
    fs::set_permissions(at, Permissions::from_mode(0o777)).expect("it is ours");
    let as_user = |id: &str| {
        let mut command = run::command(&setpriv, at);
        command.args([format!("--reuid={id}"), format!("--regid={id}")]);
        command.args(["--clear-groups", "--no-new-privs"]);
        command
    };
    let mut recorder = as_user("60001");
    recorder.args(["./heapwise", "run", "-o", "a.hw", "--format", "json", "--report-file", "report.json"]);
    recorder.args(["--", "./sibling", "1000"]);
    let running = run::start(&mut recorder, at, "recorded");
    let descriptors = PathBuf::from(format!("/proc/{}/fd", running.pid()));
    let session = || {
        let links = fs::read_dir(&descriptors).into_iter().flatten().filter_map(Result::ok);
        links.map(|e| e.path()).find(|path| {
            fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("heapwise-session"))
        })
    };
    let program = || {
        let text = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid())).ok()?;
        text.split_whitespace().next().map(str::to_owned)
    };
    let (mut found, mut child) = (session(), program());
    while found.is_none() || child.is_none() {
        std::thread::sleep(Duration::from_millis(5));
        (found, child) = (session(), program());
    }
    let (session, child) = (found.expect("found above"), child.expect("found above"));
    let mode = fs::metadata(&session).expect("root may look").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the session is its owner's alone");
    // Everything that would let another user in; each line of the output is something that did.
    let script = format!(
        "exec 2>/dev/null\n\
         ls {fd} && echo descriptors\n\
         for n in $(seq 0 40); do\n\
           (: <{fd}/$n) && echo \"read $n\"; (: >>{fd}/$n) && echo \"write $n\"\n\
         done\n\
         for p in {pid} {child}; do\n\
           for f in mem maps environ auxv pagemap; do (head -c 1 /proc/$p/$f | grep -q .) && echo \"$p/$f\"; done\n\
           ls /proc/$p/map_files && echo \"$p/map_files\"; (: </proc/$p/root/) && echo \"$p/root\"\n\
           kill -0 $p && echo \"signal $p\"\n\
         done\n\
         (: <a.hw) && echo recording; (: >>a.hw) && echo recording\n\
         true",
        fd = descriptors.display(),
        pid = running.pid(),
    );
    let outcome = run::finish(as_user("60002").args(["sh", "-c", &script]), at, "other");
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, ""), "another user got in");
    let outcome = running.wait(run::PATIENCE);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let report = Report::read(&at.join("report.json")).expect("a report");
    assert_eq!(of_sibling(&report), 200_000);
    let mode = fs::metadata(at.join("a.hw")).expect("a recording").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the recording is its owner's alone");
}
