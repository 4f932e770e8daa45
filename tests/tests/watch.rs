//! `heapwise watch` and `run --watch`, driven in a terminal: keys, sizes, programs that end and recordings that begin late.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, PATIENCE, Running, private_folder};
use heapwise_tests::tmux::Tmux;
use heapwise_tests::tool;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Keeps a block of 10 kB and frees 50 of 1 kB at each hundredth of a second, until `SIGTERM`: then it ends with code 7.
const PROGRAM: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t ends;
static void *volatile kept[100000];
static void end(int signal) { ends = 1; }
__attribute__((noinline, noipa)) static void keep(int i) { kept[i] = memset(malloc(10000), 1, 10000); }
__attribute__((noinline, noipa)) static void churn(void) {
    for (int i = 0; i < 50; i++) {
        char *volatile block = malloc(1000);
        block[0] = 1;
        free(block);
    }
}
int main(void) {
    signal(SIGTERM, end);
    printf("ready, says the program\n");
    fflush(stdout);
    for (int i = 0; !ends && i < 100000; i++) {
        keep(i);
        churn();
        usleep(10000);
    }
    return 7;
}
"#;

/// Allocates, and waits: for a second if it has an argument.
const IDLE: &str = r#"
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline, noipa)) static void keep(void) { kept = malloc(100); }
int main(int argc, char **arguments) {
    for (int i = 0; i < 1234; i++) keep();
    if (argc == 1) pause();
    sleep(1);
    return 0;
}
"#;

fn program(folder: &Path) -> PathBuf {
    compile_text("cc", &["-O1", "-g"], PROGRAM, folder, "grows")
}

fn heapwise() -> String {
    tool::heapwise().display().to_string()
}

/// The id of the process that is looked at, from the head of the view.
fn pid_in(screen: &str) -> i32 {
    let behind = screen.split("pid ").nth(1).expect("the head has it");
    behind.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
}

/// The line of the table for a function.
fn row<'s>(screen: &'s str, function: &str) -> Option<&'s str> {
    screen.lines().find(|line| line.contains(&format!(" {function}  ")))
}

/// Ends a view by `q`, and checks that the terminal is as it was.
fn quit(terminal: &Tmux, code: i32) {
    terminal.key("q");
    restored(terminal, code);
}

fn restored(terminal: &Tmux, code: i32) {
    terminal.wait_for(&format!("code was {code}"));
    assert_eq!(terminal.state(), (true, false), "the cursor is back, and so is the shell's screen");
    terminal.line("stty -a | grep -c -- '-icanon\\|-echo '");
    terminal.wait_until("no raw mode", |screen| screen.contains("\n0\n"));
}

#[test]
fn a_program_is_seen_from_its_start_to_its_end() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 100, 24) else { return };
    let program = program(folder.path());
    let line = format!("{} run --watch --no-report -o a.hw {}", heapwise(), program.display());
    terminal.line(&format!("clear; {line}; echo code was $?"));
    let screen = terminal.wait_until("both functions", |screen| {
        row(screen, "keep").is_some() && row(screen, "churn").is_some()
    });
    assert_eq!(terminal.state(), (false, true), "{screen}");
    assert!(screen.lines().next().is_some_and(|head| head.contains("running")), "{screen}");
    let keep = row(&screen, "keep").expect("it is there");
    assert!(keep.contains("grows.c:") && screen.contains("live▾"), "{screen}");
    let first =
        |screen: &str| screen.lines().skip_while(|line| !line.contains("growth")).nth(1).map(str::to_owned);
    assert!(first(&screen).is_some_and(|line| line.contains("keep")), "live bytes come first: {screen}");

    // 50 blocks against one, however fast the machine is.
    terminal.key("a");
    // A screen may be looked at while it is drawn.
    terminal.wait_until("churn in the first row", |screen| {
        screen.contains("allocs/s▾") && first(screen).is_some_and(|line| line.contains("churn"))
    });

    terminal.key("m");
    terminal.wait_for("marked at");
    terminal.key("g");
    let screen = terminal.wait_until("growth since the mark", |screen| {
        screen.contains("growth▾") && row(screen, "keep").is_some_and(|row| row.contains('+'))
    });
    assert!(screen.contains("growth since ") && !screen.contains("growth since the start"), "{screen}");
    // One of its blocks may be live at such a moment.
    assert!(row(&screen, "churn").is_some_and(|row| row.contains(" B churn ")), "{screen}");

    terminal.key("/");
    "chur".chars().for_each(|c| terminal.key(&c.to_string()));
    terminal
        .wait_until("the filter", |screen| screen.contains("filter: chur") && row(screen, "keep").is_none());
    terminal.key("Enter");
    terminal.wait_for("1 place with “chur”");
    terminal.key("Escape");
    terminal.wait_until("all places", |screen| row(screen, "keep").is_some());

    terminal.key("t");
    terminal.wait_for(&format!("grows ({})", pid_in(&screen)));
    terminal.key("t");

    terminal.resize(40, 10);
    let screen = terminal
        .wait_until("a small screen", |screen| screen.lines().count() <= 10 && screen.contains("keep"));
    assert!(screen.contains("running"), "{screen}");
    terminal.resize(130, 40);
    terminal.wait_until("a large screen", |screen| screen.contains("blocks ") && screen.contains("quit"));

    terminal.key("?");
    terminal.wait_for("count growth from now on");
    terminal.key("?");
    terminal.key("h");
    let screen = terminal.wait_for("report in a.at-");
    let name = screen.split("report in ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let page = folder.path().join(name.expect("it is named"));
    let text = std::fs::read_to_string(&page).expect("the page is there");
    assert!(text.starts_with("<!doctype html>") && text.contains("keep"), "{} bytes", text.len());
    assert_eq!(page.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);

    terminal.key("p");
    terminal.wait_for("PAUSED");
    terminal.key("p");
    run::signal_to(pid_in(&terminal.screen()), libc::SIGTERM);
    terminal.wait_for("ended with code 7");
    quit(&terminal, 7);
    let written = std::fs::read_to_string(folder.path().join("a.out")).expect("what the program has written");
    assert!(written.contains("ready, says the program"), "{written}");
    let (outcome, report) = heapwise_tests::recording::report_on(&folder.path().join("a.hw"), folder.path());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(report.is_ok_and(|report| report.sites.len() > 1), "the recording is complete");
}

#[test]
fn ctrl_c_is_for_the_program_and_q_leaves_it_running() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 90, 20) else { return };
    let program = program(folder.path());
    let line = format!("{} run --watch --no-report -o a.hw {}", heapwise(), program.display());
    terminal.line(&format!("clear; {line}; echo code was $?"));
    terminal.wait_until("a place", |screen| row(screen, "keep").is_some());
    terminal.key("C-c");
    terminal.wait_for("ended by signal 2");
    quit(&terminal, 130);

    let line = format!("{} run --watch --no-report -o b.hw {}", heapwise(), program.display());
    terminal.line(&format!("clear; {line}; echo code was $?"));
    let screen = terminal.wait_until("a place", |screen| row(screen, "keep").is_some());
    terminal.key("q");
    terminal.wait_for("the program goes on, and is recorded");
    assert_eq!(terminal.state(), (true, false));
    run::signal_to(pid_in(&screen), libc::SIGTERM);
    restored(&terminal, 7);
}

#[test]
fn a_program_that_waits_shows_all_that_it_did() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 120, 24) else { return };
    let program = compile_text("cc", &["-O1", "-g"], IDLE, folder.path(), "idle");
    terminal.line(&format!(
        "clear; {} run --watch --no-report -o a.hw {}; echo code was $?",
        heapwise(),
        program.display()
    ));
    terminal.wait_for("1,234 live blocks · 1,234 allocations");
    terminal.wait_until("its place", |screen| row(screen, "keep").is_some_and(|row| row.contains("121 KiB")));
    terminal.key("C-c");
    terminal.wait_for("ended by signal 2");
    quit(&terminal, 130);
}

/// Begins to record the program into a file.
fn recorded(recording: &Recording, program: &Path) -> Running {
    let mut running = recording.start(program, &["\x1b]0;title\x07", "plain"]);
    running.wait_for("ready");
    running
}

#[test]
fn a_recording_that_begins_late_is_waited_for() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 100, 24) else { return };
    let recording = Recording::new(folder.path()).with(&["--no-report"]);
    let file = recording.file();
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    terminal.line(&format!("clear; NO_COLOR=1 {} watch {name}; echo code was $?", heapwise()));
    terminal.wait_for(&format!("waiting for {name}"));
    let running = recorded(&recording, &program(folder.path()));
    let screen = terminal.wait_until("a place", |screen| row(screen, "keep").is_some());
    assert!(
        screen.contains("\\u{1b}]0;title\\u{7}"),
        "what would control the terminal is spelled out: {screen}"
    );
    let coloured = terminal.screen_with_colours();
    let is_colour = |part: &str| part.starts_with('3') || part.starts_with('4') || part.starts_with('9');
    let codes = coloured.split("\x1b[").skip(1).filter_map(|rest| rest.split_once('m')).map(|(code, _)| code);
    // `39` and `49` are no colours but their absence.
    let colours: Vec<_> = codes
        .flat_map(|code| code.split(';'))
        .filter(|part| is_colour(part) && !part.ends_with('9'))
        .collect();
    assert!(colours.is_empty(), "{colours:?}");
    run::signal_to(pid_in(&screen), libc::SIGTERM);
    assert_eq!(running.wait(PATIENCE).code(), 7);
    let screen = terminal.wait_for("ended with code 7");
    assert!(row(&screen, "keep").is_some(), "what was live at the end is still shown: {screen}");
    quit(&terminal, 0);

    // And one that is complete already.
    terminal.line(&format!("clear; {} watch {name}; echo code was $?", heapwise()));
    terminal.wait_until("the end", |screen| {
        screen.contains("ended with code 7") && row(screen, "keep").is_some()
    });
    quit(&terminal, 0);
}

#[test]
fn a_process_is_looked_at_and_left_as_it_was() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 110, 24) else { return };
    let program = program(folder.path());
    let mut running = run::start(&mut run::command(program, folder.path()), folder.path(), "program");
    running.wait_for("ready");
    let pid = running.pid();
    terminal.line(&format!("clear; {} watch {pid}; echo code was $?", heapwise()));
    let screen = terminal.wait_until("a place", |screen| row(screen, "keep").is_some());
    assert!(screen.contains("estimates, of a sample of 512 KiB") && pid_in(&screen) == pid, "{screen}");
    quit(&terminal, 0);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it goes on");
    assert!(!maps.contains("memfd:heapwise"), "{maps}");
    let left =
        std::fs::read_dir(folder.path()).expect("it is there").map(|entry| entry.expect("an entry").path());
    let left: Vec<_> = left.filter(|path| path.extension().is_some_and(|ending| ending == "hw")).collect();
    assert!(left.is_empty(), "{left:?}");

    // All of its blocks, and the recording stays. The process ends while it is looked at.
    terminal.line(&format!(
        "clear; {} watch {pid} --sample=1 --no-report -o kept.hw; echo code was $?",
        heapwise()
    ));
    let screen = terminal.wait_until("a place", |screen| row(screen, "keep").is_some());
    assert!(!screen.contains("estimates"), "{screen}");
    running.signal(libc::SIGTERM);
    terminal.wait_for("recording ended");
    quit(&terminal, 0);
    assert_eq!(running.wait(PATIENCE).code(), 7);
    assert!(folder.path().join("kept.hw").exists());
}

#[test]
fn signals_end_a_view_and_restore_the_terminal() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 80, 24) else { return };
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // The shell says which process the view is before it becomes it.
        let line = format!("(sh -c 'echo $$ > pid; exec {} watch none.hw'); echo code was $?", heapwise());
        terminal.line(&format!("clear; {line}"));
        terminal.wait_for("waiting for none.hw");
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it was written");
        run::signal_to(pid.trim().parse().expect("a number"), signal);
        restored(&terminal, 130);
    }
}

#[test]
fn a_view_ends_with_its_terminal() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 80, 24) else { return };
    // Signals would end it; this way the terminal is all that is gone.
    let line = format!("sh -c 'trap \"\" HUP; echo $$ > pid; exec {} watch none.hw'", heapwise());
    terminal.line(&line);
    terminal.wait_for("waiting for none.hw");
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it was written");
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    assert!(process.exists());
    drop(terminal);
    let began = Instant::now();
    while process.exists() {
        assert!(began.elapsed() < PATIENCE, "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_a_terminal_nothing_is_started() {
    let folder = private_folder();
    let program = program(folder.path());
    let mut of_file = run::command(tool::heapwise(), folder.path());
    let mut of_program = run::command(tool::heapwise(), folder.path());
    of_file.args(["watch", "none.hw"]);
    of_program.args(["run", "--watch", "-o", "a.hw"]).arg(&program);
    for command in [&mut of_file, &mut of_program] {
        let outcome = run::finish(command, folder.path(), "heapwise");
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("a live view needs a terminal"), "{}", outcome.stderr);
        assert!(outcome.text().is_empty(), "{}", outcome.text());
    }
    assert!(!folder.path().join("a.hw").exists() && !folder.path().join("a.out").exists());
    let mut sampled = run::command(tool::heapwise(), folder.path());
    let outcome = run::finish(sampled.args(["watch", "--sample", "a.hw"]), folder.path(), "heapwise");
    assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--sample is for a process"), "{}", outcome.stderr);
}

#[test]
fn what_is_no_recording_is_refused_at_once() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 100, 24) else { return };
    std::fs::write(folder.path().join("no.hw"), "this is no recording at all").expect("there is room");
    std::fs::write(folder.path().join("short.hw"), "short").expect("there is room");
    std::os::unix::fs::symlink("loop.hw", folder.path().join("loop.hw")).expect("there is room");
    terminal.line("mkfifo pipe.hw");
    for (name, why, code) in [
        ("no.hw", "not a heapwise recording", 4),
        ("short.hw", "not a heapwise recording", 4),
        (".", "it is a folder", 4),
        ("pipe.hw", "it is no regular file", 4),
        ("/dev/null", "it is no regular file", 4),
        ("none/a.hw", "there is no folder none", 4),
        ("no.hw/a.hw", "Not a directory", 4),
        ("loop.hw", "Too many levels of symbolic links", 4),
        ("''", "the name of the recording is empty", 2),
        ("0", "0 is the id of no process; a file of that name is ./0", 2),
        ("99999999999", "99999999999 is the id of no process", 2),
    ] {
        terminal.line(&format!("clear; {} watch {name}; echo code was $?", heapwise()));
        terminal.wait_for(why);
        restored(&terminal, code);
    }
}

/// A complete recording of the program that waits.
fn complete(folder: &Path, name: &str) -> PathBuf {
    let program = compile_text("cc", &["-O1", "-g"], IDLE, folder, "idle");
    let mut command = run::command(tool::heapwise(), folder);
    command.args(["run", "--no-report", "-o", name]).arg(program).arg("1");
    assert_eq!(run::finish(&mut command, folder, "heapwise").code(), 0);
    folder.join(name)
}

/// Where the section begins that says how the run ended.
fn end_of_run(recording: &[u8]) -> usize {
    let mut at = 16;
    while recording[at + 4] != 12 {
        let length: [u8; 4] = recording[at + 8..at + 12].try_into().expect("four bytes");
        at += 20 + u32::from_le_bytes(length) as usize;
    }
    at
}

#[test]
fn a_file_without_an_end_says_so_and_is_shown_as_far_as_it_goes() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 120, 24) else { return };
    let whole = std::fs::read(complete(folder.path(), "a.hw")).expect("it is there");
    let file = folder.path().join("cut.hw");
    for bytes in [0, 7] {
        std::fs::write(&file, &whole[..bytes]).expect("there is room");
        terminal.line(&format!("clear; {} watch cut.hw; echo code was $?", heapwise()));
        terminal.wait_for(if bytes == 0 {
            "cut.hw is empty"
        } else {
            "cut.hw is cut off in its first bytes"
        });
        quit(&terminal, 0);
    }
    // Within the section that says how it ended.
    let end = end_of_run(&whole);
    std::fs::write(&file, &whole[..end + 21]).expect("there is room");
    terminal.line(&format!("clear; {} watch cut.hw; echo code was $?", heapwise()));
    terminal.wait_for("1,234 live blocks");
    terminal.wait_for("the file is cut off");
    // What was cut off comes after all.
    std::fs::write(&file, &whole).expect("there is room");
    terminal.wait_until("no complaint", |screen| !screen.contains("cut off"));
    quit(&terminal, 0);
    std::fs::write(&file, &whole[..end]).expect("there is room");
    terminal.line(&format!("clear; {} watch cut.hw; echo code was $?", heapwise()));
    terminal.wait_for("no news for ");
    std::fs::remove_file(&file).expect("it is there");
    terminal.wait_for("the file was removed");
    quit(&terminal, 0);
}

#[test]
fn a_file_that_is_replaced_is_noticed() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 120, 24) else { return };
    let whole = complete(folder.path(), "a.hw");
    std::fs::copy(&whole, folder.path().join("b.hw")).expect("there is room");
    terminal.line(&format!("clear; {} watch b.hw; echo code was $?", heapwise()));
    terminal.wait_for("1,234 live blocks");
    terminal.key("m");
    terminal.wait_for("marked at");
    std::fs::rename(&whole, folder.path().join("b.hw")).expect("it is there");
    terminal.wait_for("b.hw was replaced: this is the new one; the mark was of the file before");
    terminal.wait_for("1,234 live blocks");
    std::fs::remove_file(folder.path().join("b.hw")).expect("it is there");
    complete(folder.path(), "b.hw");
    terminal.wait_until("no mark", |screen| screen.contains("b.hw was replaced: this is the new one\n"));
    quit(&terminal, 0);
    // What is written over it from its beginning.
    std::fs::write(
        folder.path().join("c.hw"),
        std::fs::read(folder.path().join("b.hw")).expect("it is there"),
    )
    .expect("there is room");
    terminal.line(&format!("clear; {} watch c.hw; echo code was $?", heapwise()));
    terminal.wait_for("1,234 live blocks");
    std::fs::write(folder.path().join("c.hw"), "").expect("there is room");
    terminal.wait_for("c.hw is empty");
    quit(&terminal, 0);
}

#[test]
fn a_recording_in_several_files_is_followed_from_one_to_the_next() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 130, 24) else { return };
    let program = program(folder.path());
    // The name that was given is none of a file.
    terminal.line(&format!("clear; {} watch rot.hw; echo code was $?", heapwise()));
    terminal.wait_for("waiting for rot.hw");
    let mut command = run::command(tool::heapwise(), folder.path());
    command.args(["run", "--no-report", "--sample=1", "--rotate", "3s", "-o", "rot.hw"]).arg(&program);
    let mut running = run::start(&mut command, folder.path(), "program");
    running.wait_for("ready");
    terminal.wait_for("rot.hw is in several files: rot.000001.hw is the newest");
    let screen = terminal.wait_for("the recording goes on in rot.000002.hw");
    let screen = terminal.wait_until("rows", |new| row(new, "keep").is_some() && new != screen);
    assert!(screen.contains("growth since this file began"), "{screen}");
    let bytes = |words: &[&str]| -> f64 {
        let factor = match words[1] {
            "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            other => panic!("{other}"),
        };
        words[0].trim_start_matches('+').parse::<f64>().expect("a number") * factor
    };
    let words: Vec<&str> = row(&screen, "keep").expect("it is there").split_whitespace().collect();
    let growth = words.iter().position(|word| word.starts_with('+')).expect("it grows");
    let (live, growth) = (bytes(&words[growth - 3..]), bytes(&words[growth..]));
    assert!(live - growth > 1e6, "what an earlier file has left is no growth: {screen}");
    run::signal_to(pid_in(&screen), libc::SIGTERM);
    running.wait(PATIENCE);
    terminal.wait_for("ended with code 7");
    quit(&terminal, 0);

    terminal.line(&format!("clear; {} watch rot.000001.hw; echo code was $?", heapwise()));
    terminal.wait_for("ended with code 7");
    quit(&terminal, 0);
}

#[test]
fn rates_are_of_the_time_that_is_recorded_and_end_with_it() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 120, 24) else { return };
    let program = program(folder.path());
    terminal.line(&format!(
        "clear; {} run --watch --no-report --delay 4s -o a.hw {}; echo code was $?",
        heapwise(),
        program.display()
    ));
    let rate = |screen: &str| -> Option<u64> {
        let line = screen.lines().find(|line| line.contains(" allocs/s · "))?;
        line.split(" allocs/s").next()?.trim().replace(',', "").parse().ok()
    };
    terminal.wait_until("a first rate", |screen| rate(screen).is_some_and(|rate| rate > 0));
    // In a second it is a fifth of all time, and all of what is recorded.
    std::thread::sleep(Duration::from_millis(700));
    let screen = terminal.screen();
    let first = rate(&screen).expect("it is there");
    std::thread::sleep(Duration::from_secs(6));
    let later = rate(&terminal.screen()).expect("it is there");
    assert!(first * 2 > later, "{first} at once, {later} later: {screen}");
    run::signal_to(pid_in(&screen), libc::SIGTERM);
    let screen = terminal.wait_for("ended with code 7");
    assert!(screen.contains("\n0 allocs/s · 0 B/s"), "{screen}");
    assert!(screen.contains("before its end, RSS ") || screen.contains("not looked at"), "{screen}");
    quit(&terminal, 7);
}

#[test]
fn a_complete_recording_costs_nothing_and_the_view_ends_at_once() {
    let folder = private_folder();
    let Some(terminal) = Tmux::start(folder.path(), 100, 24) else { return };
    complete(folder.path(), "a.hw");
    let line = format!("(sh -c 'echo $$ > pid; exec {} watch a.hw'); echo code was $?", heapwise());
    terminal.line(&format!("clear; {line}"));
    terminal.wait_until("the end", |screen| {
        screen.contains("ended with code 0") && row(screen, "keep").is_some()
    });
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it was written");
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).expect("it runs");
    let ticks = || -> u64 {
        let stat = stat();
        let fields: Vec<&str> = stat.rsplit(')').next().expect("it has one").split_whitespace().collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    };
    std::thread::sleep(Duration::from_secs(2));
    let before = ticks();
    std::thread::sleep(Duration::from_secs(4));
    let used = ticks() - before;
    assert!(used <= 8, "{used} hundredths of a second in four seconds");
    quit(&terminal, 0);
}
