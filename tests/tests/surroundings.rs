//! heapwise fits in: into the environment, with other preloaded libraries, without rights, without a disk to write to.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use heapwise_tests::build::{FlagSet, build, compile_text};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::victim::Victim;
use heapwise_tests::{expect, facts::Facts, programs, run, tool};
use heapwise_trace::file::Reader;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn victim(name: &str) -> PathBuf {
    build(&Victim::named(name), FlagSet::Release)
}

/// Checks that `leak_known` was recorded in full.
fn leak_known_is_whole(recorded: &Recorded) {
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let expectations = expect::parse(&recorded.outcome.text());
    let unmet = expect::unmet(&expectations, recorded.report(), &Facts::of("leak_known"));
    assert!(!expectations.is_empty() && unmet.is_empty(), "{unmet:?}");
}

#[test]
fn the_default_name_is_that_of_the_program_and_its_process() {
    let folder = run::private_folder();
    let at = folder.path();
    let outcome =
        run::finish(run::command(tool::heapwise(), at).args(["run", "--", "sh", "-c", "echo $$"]), at, "run");
    let pid = outcome.text().trim().to_owned();
    assert!(at.join(format!("heapwise.sh.{pid}.hw")).is_file(), "{}", outcome.stderr);
    let files = std::fs::read_dir(at).expect("a folder").filter_map(Result::ok);
    let made = files.filter(|file| file.file_name().to_string_lossy().ends_with(".hw")).count();
    assert_eq!(made, 1, "one recording is one file");
}

#[test]
fn standard_input_and_output_are_the_programs() {
    let folder = run::private_folder();
    let at = folder.path();
    let text = "line one\nline two\n".repeat(5000);
    std::fs::File::create(at.join("input")).and_then(|mut f| f.write_all(text.as_bytes())).expect("a file");
    let recording = Recording::new(at);
    let mut command = recording.command("cat", &[]);
    command.stdin(Stdio::from(File::open(at.join("input")).expect("a file")));
    let recorded = recording.record_command(&mut command);
    assert_eq!(recorded.outcome.text(), text);
}

#[test]
fn the_diagnosis_goes_to_standard_error_and_a_report_to_standard_output() {
    let folder = run::private_folder();
    let at = folder.path();
    let program = victim("leak_known");
    let mut command = run::command(tool::heapwise(), at);
    let outcome = run::finish(command.args(["run", "-o", "a.hw", "--"]).arg(&program), at, "run");
    let alone = run::finish(&mut run::command(&program, at), at, "alone");
    assert_eq!(outcome.stdout, alone.stdout);
    assert!(outcome.stderr.contains("leak_here"), "{}", outcome.stderr);
    let outcome = run::finish(run::command(tool::heapwise(), at).args(["report", "a.hw"]), at, "report");
    assert!(outcome.text().contains("leak_here"), "{}", outcome.text());
    assert_eq!(outcome.stderr, "");
}

#[test]
fn children_are_left_alone_where_that_is_wanted() {
    let folder = run::private_folder();
    let program = victim("fork_exec_self");
    let followed = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(followed.report().processes.len(), 3);
    let recorded = Recording::new(folder.path()).with(&["--no-follow"]).record(&program, &[]);
    assert_eq!(recorded.outcome.stdout, followed.outcome.stdout);
    assert_eq!(recorded.report().processes.len(), 1);
    assert_eq!(recorded.report().sum(|stack| stack.contains(&"in_image")).blocks, 0);
    assert_eq!(recorded.report().sum(|stack| stack.contains(&"in_parent")).blocks, 100);
}

#[test]
fn another_preloaded_allocator_stays_in_use_and_the_counts_are_the_same() {
    let folder = run::private_folder();
    let program = victim("rust_hash_map");
    let plain = Recording::new(folder.path()).record(&program, &[]);
    let expected = plain.report().sum(|stack| stack.contains(&"key"));
    for library in ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"] {
        let Some(path) = programs::library(library) else { continue };
        let path = path.to_string_lossy().into_owned();
        let recorded =
            Recording::new(folder.path()).verify(1).variable("LD_PRELOAD", &path).record(&program, &[]);
        assert_eq!(recorded.outcome.text(), plain.outcome.text(), "{library}: {}", recorded.outcome.stderr);
        let report = recorded.report();
        let family = library.split(['.', '_']).next().unwrap_or(library).trim_start_matches("lib");
        assert!(report.interception.allocator.contains(family), "{:?}", report.interception);
        assert_eq!(report.sum(|stack| stack.contains(&"key")), expected, "with {library}");
        assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0), "with {library}");
        assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "with {library}");
    }
}

#[test]
fn what_cannot_be_seen_is_said_before_and_after_with_a_remedy() {
    let folder = run::private_folder();
    let victim = Victim::named("static_executable");
    let stripped = folder.path().join("stripped");
    let mut strip = Command::new("strip");
    let status = strip.arg("-o").arg(&stripped).arg(build(&victim, FlagSet::Release)).status();
    assert!(status.expect("binutils are there").success());
    let recorded = Recording::new(folder.path()).record(&stripped, &[]);
    let before = &recorded.outcome.stderr;
    assert!(before.contains("has no symbols") && before.contains("help: keep its symbols"), "{before}");
    let spots = &recorded.report().interception.blind_spots;
    assert!(spots.iter().any(|s| s.id == "static-executable" && !s.remedy.is_empty()), "{spots:?}");
}

/// A wrapper, two functions that decide what it is asked for, and one that makes blocks of one size.
const WRAPPER: &str = "
    #include <stdlib.h>
    #include <string.h>
    #define FUNCTION __attribute__((noinline)) char *
    FUNCTION obtain(size_t n) { char *p = malloc(n); if (!p) abort(); return p; }
    FUNCTION load(int i) { char *p = obtain(100 + i * 8); *p = 1; return p; }
    FUNCTION store(int i) { char *p = obtain(48 + i % 5 * 16); *p = 2; return p; }
    FUNCTION make(void) { char *p = malloc(24); if (!p) abort(); *p = 3; return p; }
";

/// The places of a program are the same ones without its symbols, though nothing says what they are called.
#[test]
fn the_wrapper_of_a_stripped_program_is_passed_over() {
    const REST: &str = "
        FUNCTION first(void) { char *p = make(); *p += 1; return p; }
        FUNCTION second(void) { char *p = make(); *p += 2; return p; }
        int main(void) {
            for (int i = 0; i < 50; i++) { free(load(i)); free(store(i)); free(first()); free(second()); }
            return 0;
        }";
    let program = [WRAPPER, REST].concat();
    let folder = run::private_folder();
    let with_names = compile_text("cc", &[], &program, folder.path(), "with_names");
    let stripped = compile_text("cc", &["-s"], &program, folder.path(), "stripped");
    let sizes = Command::new("nm").arg("-S").arg(&with_names).output().expect("binutils are there");
    let functions: Vec<(u64, u64, String)> = String::from_utf8_lossy(&sizes.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let (start, bytes) = (number()?, number()?);
            Some((start, start + bytes, words.nth(1)?.to_owned()))
        })
        .collect();
    let recorded = Recording::new(folder.path()).record(&stripped, &[]);
    let report = recorded.report();
    let mut places: Vec<(&str, u64)> = Vec::new();
    for site in &report.sites {
        let place = report.stack(site).nth(site.user_frame.expect("a place")).expect("it is on the stack");
        assert_eq!(place.function, None, "it is stripped");
        let address = place.address.expect("what has no name has an address");
        let of = functions.iter().find(|(start, end, _)| (*start..*end).contains(&address));
        places.push((of.map_or("?", |(.., name)| name), site.allocations));
    }
    places.sort_unstable();
    assert_eq!(places, [("load", 50), ("make", 50), ("make", 50), ("store", 50)]);
}

/// Without lines, what a function does before it calls the allocator is how far it is to that call.
#[test]
fn a_wrapper_whose_name_says_nothing_is_known_by_its_beginning() {
    const REST: &str = "
        FUNCTION digest(const char *a, const char *b, int x, int y) {
            size_t n = strlen(a), m = strlen(b);
            char *p = malloc(n + m + 1);
            if (!p) abort();
            memcpy(p, a, n);
            memcpy(p + n, b, m + 1);
            for (size_t i = 0; i < n + m; i++) p[i] = (char)(p[i] * x + y);
            return p;
        }
        FUNCTION first(int i) { char *p = make(); *p += 1; free(digest(\"one\" + i % 3, \"or\", i, 1)); return p; }
        FUNCTION second(int i) { char *p = make(); *p += 2; free(digest(\"another one\" + i % 7, \"or\", 2, i)); return p; }
        int main(void) {
            for (int i = 0; i < 50; i++) { free(load(i)); free(store(i)); free(first(i)); free(second(i)); }
            return 0;
        }";
    let folder = run::private_folder();
    let program = [WRAPPER, REST].concat();
    let program = compile_text("cc", &["-g0"], &program, folder.path(), "without_lines");
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    let report = recorded.report();
    let mut places: Vec<(&str, u64)> = Vec::new();
    for site in &report.sites {
        let place = report.stack(site).nth(site.user_frame.expect("a place")).expect("it is on the stack");
        places.push((place.function.as_deref().expect("it has names"), site.allocations));
        assert_eq!(place.line, None, "and no lines");
    }
    places.sort_unstable();
    let expected = [("digest", 50), ("digest", 50), ("load", 50), ("make", 50), ("make", 50), ("store", 50)];
    assert_eq!(places, expected);
}

#[test]
fn nothing_of_the_environment_but_what_concerns_the_heap_is_in_the_file() {
    let folder = run::private_folder();
    let secret = "a-secret-that-no-one-else-may-see";
    let recording =
        Recording::new(folder.path()).variable("TOKEN_OF_MINE", secret).variable("MALLOC_ARENA_MAX", "3");
    let recorded = recording.record("perl", &["-e", "print scalar keys %ENV"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let mut reader = Reader::new(File::open(&recorded.file).expect("a recording")).expect("a recording");
    let (mut sections, mut heap_variables) = (0, 0);
    while let Some(section) = reader.next_section().expect("whole sections") {
        let text = format!("{section:?}");
        assert!(!text.contains(secret) && !text.contains("TOKEN_OF_MINE"), "{text}");
        heap_variables += usize::from(text.contains("MALLOC_ARENA_MAX"));
        sections += 1;
    }
    assert!(sections > 5 && heap_variables > 0);
}

#[test]
fn somebody_without_rights_can_record() {
    if !programs::is_root() {
        // Then all other tests show it.
        return;
    }
    let Some(setpriv) = programs::find("setpriv") else { return };
    // A copy: where the project lies may be closed to others.
    let folder = run::private_folder();
    let at = folder.path();
    for (from, to) in [(tool::heapwise().to_owned(), "heapwise"), (victim("leak_known"), "leak_known")] {
        std::fs::copy(from, at.join(to)).expect("a file can be copied");
    }
    let mut open = run::command("chmod", at);
    assert!(run::finish(open.args(["-R", "a+rwX", "."]), at, "chmod").status.success());
    let mut command = run::command(setpriv, at);
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
        "./heapwise",
        "run",
        "-o",
        "a.hw",
    ]);
    command.args(["--format", "json", "--report-file", "report.json", "--", "./leak_known"]);
    let outcome = run::finish(&mut command, at, "nobody");
    let report = heapwise_tests::report::Report::read(&at.join("report.json"));
    leak_known_is_whole(&Recorded { outcome, file: at.join("a.hw"), report });
}

#[test]
fn a_container_with_a_read_only_root_and_little_shared_memory_is_enough() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can mount file systems");
        return;
    }
    let Some(unshare) = programs::find("unshare") else { return };
    let folder = run::private_folder();
    let at = folder.path();
    let recording = Recording::new(at);
    let inner = recording.command(victim("leak_known"), &[]);
    // The folder becomes a file system in memory, in the new mount namespace alone; the report is shown at the end.
    let script = format!(
        "mount -t tmpfs -o size=64m tmpfs /dev/shm && mount -t tmpfs tmpfs {0} && mount -o remount,bind,ro / && cd {0} || exit 99\n\
         touch /read-only 2>/dev/null && exit 98\n\
         \"$@\" && cat report.json >&2",
        at.display()
    );
    let mut command = Command::new(unshare);
    command
        .args(["-m", "sh", "-c", &script, "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir("/");
    let outcome = run::finish(&mut command, at, "container");
    assert!(![98, 99].contains(&outcome.code()), "the container could not be made: {}", outcome.stderr);
    let json = outcome.stderr.lines().find(|line| line.starts_with('{')).unwrap_or_default().to_owned();
    let report = heapwise_tests::report::Report::parse(&json);
    leak_known_is_whole(&Recorded { outcome, file: recording.file(), report });
}

/// What a command does to a process before a program takes its place: ignored and blocked signals, closed descriptors.
#[derive(Clone, Copy, Debug, Default)]
struct Inherited {
    ignored: &'static [i32],
    blocked: &'static [i32],
    closed: &'static [i32],
}

impl Inherited {
    /// Has a command start so.
    fn by(self, command: &mut Command) {
        let set_up = move || {
            // SAFETY: integer arguments, and a set of signals that is ours.
            unsafe {
                for &signal in self.ignored {
                    libc::signal(signal, libc::SIG_IGN);
                }
                let mut blocked: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut blocked);
                for &signal in self.blocked {
                    libc::sigaddset(&raw mut blocked, signal);
                }
                libc::sigprocmask(libc::SIG_SETMASK, &raw const blocked, std::ptr::null_mut());
                for &fd in self.closed {
                    libc::close(fd);
                }
            }
            Ok(())
        };
        // SAFETY: runs in the child between fork and exec, and makes system calls only.
        unsafe { command.pre_exec(set_up) };
    }
}

/// What a shell script writes to a file, alone and under a command of heapwise.
fn both(inherited: Inherited, heapwise: &[&str], script: &str) -> [String; 2] {
    let folder = run::private_folder();
    let at = folder.path();
    let said = |command: &mut Command| {
        inherited.by(command);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it can be started");
        let path = at.join("said");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        format!("{text}and ended with {:?}", status.code())
    };
    let shell = ["sh", "-c", script];
    let alone = said(run::command("sh", at).args(&shell[1..]));
    let under = said(run::command(tool::heapwise(), at).args(heapwise).arg("--").args(shell));
    [alone, under]
}

#[test]
fn signals_are_ignored_and_blocked_as_without_heapwise() {
    let script = "grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status > said";
    let settings: [&[i32]; 6] = [
        &[],
        &[libc::SIGHUP],
        &[libc::SIGINT, libc::SIGQUIT],
        &[libc::SIGPIPE],
        &[libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2],
        &[libc::SIGCHLD, libc::SIGXFSZ, libc::SIGSEGV, 64],
    ];
    for ignored in settings {
        let inherited = Inherited { ignored, blocked: &[libc::SIGWINCH], ..Inherited::default() };
        let [alone, under] = both(inherited, &["run", "--force", "--no-report", "-o", "a.hw"], script);
        assert!(alone.contains("SigIgn") && alone.contains("SigCgt"), "{alone}");
        assert_eq!(alone, under, "{inherited:?}");
    }
}

#[test]
fn programs_that_are_compared_ignore_what_they_would_ignore_alone() {
    let script = "grep -E '^SigIgn' /proc/self/status > said";
    let ignored = &[libc::SIGHUP, libc::SIGINT, libc::SIGPIPE];
    let with = ["compare", "--with", "default:env.MALLOC_ARENA_MAX=1", "--runs", "5", "-o", "out"];
    let [alone, under] = both(Inherited { ignored, ..Inherited::default() }, &with, script);
    assert!(alone.contains("SigIgn"), "{alone}");
    assert_eq!(alone, under);
}

#[test]
fn nohup_keeps_a_recorded_program_running() {
    let Some(nohup) = programs::find("nohup") else { return };
    let folder = run::private_folder();
    let at = folder.path();
    let mut command = run::command(nohup, at);
    command.arg(tool::heapwise()).args(["run", "-o", "a.hw", "--", "sh", "-c"]);
    // The terminal tells both that it is gone.
    let outcome =
        run::finish(command.arg("kill -HUP $$; kill -HUP $PPID; echo went on; exit 3"), at, "nohup");
    assert_eq!((outcome.text().as_str(), outcome.code()), ("went on\n", 3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("recording in a.hw"), "{}", outcome.stderr);
}

#[test]
fn closed_descriptors_stay_closed_for_the_program() {
    let script = "for fd in 0 1 2; do test -e /proc/$$/fd/$fd && open=\"$open $fd\"; done\n\
                  (echo hi) 2>/dev/null; echo \"open:$open, written: $?\" > said";
    let settings: [&[i32]; 6] = [&[], &[0], &[1], &[2], &[0, 1], &[0, 1, 2]];
    for closed in settings {
        let inherited = Inherited { closed, ..Inherited::default() };
        let [alone, under] = both(inherited, &["run", "--force", "--no-report", "-o", "a.hw"], script);
        let writes = format!("written: {}\n", i32::from(closed.contains(&1)));
        assert!(alone.contains(&writes), "{closed:?}: {alone}");
        assert_eq!(alone, under, "{closed:?}");
    }
}

/// Runs `starts_programs`, and returns what it wrote to both of its outputs.
fn starts_programs(options: &[&str], argument: &str) -> (String, String) {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path()).with(options);
    let mut running = recording.start(victim("starts_programs"), &[argument]);
    // It may outlive its recorder.
    let began = std::time::Instant::now();
    while !running.said().contains("expect") && began.elapsed() < run::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.wait_for("expect");
    let said = running.said();
    (said, recording.wait(running).outcome.stderr)
}

#[test]
fn programs_are_started_in_peace_when_the_recorder_is_gone() {
    let (said, errors) = starts_programs(&[], "lose");
    assert_eq!(said.matches(": 8\n").count(), 14, "{said}");
    assert!(!errors.contains("ld.so"), "{errors}");
}

#[test]
fn a_child_that_gave_up_its_rights_takes_none_from_its_parent() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(victim("starts_programs"), &["vfork"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert!(recorded.outcome.text().starts_with("vfork: 0\n"), "{}", recorded.outcome.text());
    assert!(!recorded.outcome.stderr.contains("ld.so"), "{}", recorded.outcome.stderr);
    assert_eq!(recorded.report().sum(|stack| stack.contains(&"in_image")).blocks, 14 * 10);
}

#[test]
fn nobody_hears_of_a_library_that_is_out_of_reach() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can become another user and make namespaces");
        return;
    }
    let script = "ls / >/dev/null; (ls / | cat) >/dev/null; exit 3";
    let ways: [&[&str]; 4] = [
        &["setpriv", "--reuid=65534"],
        &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        &["unshare", "-p", "-f", "--mount-proc"],
        &["unshare", "-U", "-r"],
    ];
    for way in ways {
        if programs::find(way[0]).is_none() {
            return;
        }
        let folder = run::private_folder();
        let arguments = [&way[1..], &["sh", "-c", script]].concat();
        let recorded = Recording::new(folder.path()).record(way[0], &arguments);
        assert_eq!(recorded.outcome.code(), 3, "{way:?}: {}", recorded.outcome.stderr);
        assert!(!recorded.outcome.stderr.contains("ld.so"), "{way:?}: {}", recorded.outcome.stderr);
    }
}

#[test]
fn inside_of_a_recording_the_innermost_heapwise_has_the_program() {
    let folder = run::private_folder();
    let inside = run::private_folder();
    let program = victim("leak_known");
    let plain = Recording::new(inside.path()).record(&program, &[]);
    let around = Recording::new(folder.path());
    let (recorded, within) = Recording::new(inside.path()).record_inside(&around, &program);
    assert_eq!(recorded.outcome.text(), plain.outcome.text(), "{}", recorded.outcome.stderr);
    assert!(recorded.outcome.stderr.contains("left out of the recording around it"));

    assert_eq!(within.processes.len(), 1);
    assert_eq!(within.totals.allocations, plain.report().totals.allocations);
    assert_eq!(within.totals.allocated_bytes, plain.report().totals.allocated_bytes);
    assert_eq!(within.interception.allocator, plain.report().interception.allocator);

    let around = recorded.report();
    let spot = around.interception.blind_spots.iter().find(|spot| spot.id == "nested").expect("a note");
    assert!(spot.what.contains("leak_known"), "{spot:?}");
    assert_eq!(around.sum(|stack| stack.contains(&"leak_here")).blocks, 0);
    assert!(around.totals.allocations > 100, "heapwise itself is a program like others");
    assert!(around.processes.iter().all(|p| p.command.iter().any(|a| a == "run")), "{:?}", around.processes);
}

#[test]
fn inside_of_a_recording_programs_are_compared_as_outside_of_it() {
    let folder = run::private_folder();
    let program = victim("leak_known").to_string_lossy().into_owned();
    let tool = tool::heapwise().to_string_lossy().into_owned();
    let with =
        ["compare", "--with", "default:env.MALLOC_ARENA_MAX=1", "--runs", "5", "-o", "out", "--", &program];
    let recorded = Recording::new(folder.path()).record(&tool, &with);
    assert!([0, 3].contains(&recorded.outcome.code()), "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert_eq!(report.processes.len(), 1, "{:?}", report.processes);
    assert_eq!(report.sum(|stack| stack.contains(&"leak_here")).blocks, 0);
    let spots = &report.interception.blind_spots;
    assert!(spots.iter().any(|s| s.id == "nested" && s.what.contains("leak_known")), "{spots:?}");
}

#[test]
fn a_process_in_a_pid_namespace_is_recorded_under_the_id_that_others_know_it_by() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can make a pid namespace");
        return;
    }
    let Some(unshare) = programs::find("unshare") else { return };
    let folder = run::private_folder();
    let program = victim("threads_random");
    let arguments = ["-fp", program.to_str().expect("a path that is text")];
    let recorded = Recording::new(folder.path()).verify(17).record(unshare, &arguments);
    let expectations = expect::parse(&recorded.outcome.text());
    let report = recorded.report();
    let unmet = expect::unmet(&expectations, report, &Facts::of("threads_random"));
    assert!(!expectations.is_empty() && unmet.is_empty(), "{unmet:?}\n{}", recorded.outcome.stderr);
    assert_eq!((report.processes.len(), report.totals.lost_events), (2, 0), "{:?}", report.processes);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}
