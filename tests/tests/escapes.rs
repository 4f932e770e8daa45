//! Whatever names others chose, nothing of them controls the terminal: each command runs on one with hostile names of files,
//! programs, arguments, threads, functions and values of variables, and what arrives there is looked at byte by byte.

use heapwise_tests::export::hostile;
use heapwise_tests::{programs, run, tool};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Escape sequences, control characters of eight bits as UTF-8 and as bytes, marks that turn text around, and line ends.
const HOSTILE: &[u8] =
    b"h\x1b[2J\x1b[31m\x1b]0;t\x07\xc2\x9b31m\x9b31m\xe2\x80\xae\xe2\x81\xa6\x08\x7f\r\nforged: line\xff\xe2\x80\xa8";

fn hostile() -> OsString {
    OsString::from_vec(HOSTILE.to_vec())
}

/// The same as far as it is UTF-8.
fn hostile_text() -> String {
    String::from_utf8_lossy(HOSTILE).into_owned()
}

fn with(before: &str, behind: &str) -> OsString {
    [OsStr::new(before), &hostile(), OsStr::new(behind)].into_iter().collect()
}

/// A word for a shell.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// What is on the terminal that should not be, if anything is.
fn harm(bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("bytes that are not UTF-8".into()) };
    // The terminal itself makes two characters of the end of a line.
    for line in text.split("\r\n") {
        let harmful = |c: char| {
            (c.is_control() && c != '\t' && c != '\n')
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if line.contains(harmful) || line.trim_start().starts_with("forged") {
            return Some(line.chars().take(2_000).collect());
        }
    }
    None
}

/// A command on a separate terminal.
struct Case {
    words: Vec<OsString>,
    /// What has to be in the output, so that the case is about what it is meant to be about.
    shows: &'static str,
}

fn case(shows: &'static str, words: &[&OsStr]) -> Case {
    Case { words: words.iter().map(|&word| word.to_owned()).collect(), shows }
}

/// Values of variables that doctor and the allocators look at.
const VARIABLES: &[&str] = &[
    "GLIBC_TUNABLES",
    "MALLOC_CONF",
    "_RJEM_MALLOC_CONF",
    "MIMALLOC_ARENA_EAGER_COMMIT",
    "MALLOC_PERTURB_",
    "_NO_DEBUG_HEAP",
];

/// The output without what clears the line of a progress bar.
fn without_bars(output: &[u8]) -> Vec<u8> {
    const CLEAR: &[u8] = b"\r\x1b[2K";
    let mut rest = output;
    let mut out = Vec::with_capacity(output.len());
    while let Some((&first, behind)) = rest.split_first() {
        rest = match rest.strip_prefix(CLEAR) {
            Some(behind) => behind,
            None => {
                out.push(first);
                behind
            }
        };
    }
    out
}

fn on_a_terminal(script: &Path, folder: &Path, number: usize, case: &Case) -> Result<(), String> {
    let mut line = Vec::new();
    for word in &case.words {
        line.extend(quoted(word));
        line.push(b' ');
    }
    let mut command = run::command(script, folder);
    // Without colours, no escape sequence is ours but the one with which the progress bar clears its line.
    command.env("NO_COLOR", "1").env("TERM", "xterm");
    for variable in VARIABLES {
        command.env(variable, with("glibc.malloc.check=1:", ""));
    }
    command.arg("-qec").arg(OsStr::from_bytes(&line)).arg("/dev/null");
    let outcome = run::finish(&mut command, folder, &format!("case{number}"));
    let said = || format!("{:?}\n{}", case.words, String::from_utf8_lossy(&outcome.stdout).escape_debug());
    if let Some(harm) = harm(&without_bars(&outcome.stdout)) {
        return Err(format!("{:?} lets through:\n{}", case.words, harm.escape_debug()));
    }
    let text = String::from_utf8_lossy(&outcome.stdout);
    if text.contains("panicked") || text.trim().is_empty() {
        return Err(format!("not an answer: {}", said()));
    }
    if !text.contains(case.shows) {
        return Err(format!("does not show {:?}: {}", case.shows, said()));
    }
    Ok(())
}

const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void *volatile kept;
static void *thread(void *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
    kept = malloc(1000);
    return NULL;
}
int main(int n, char **words) {
    pthread_t other;
    prctl(PR_SET_NAME, "\033[2J\r\nforged", 0, 0, 0);
    pthread_create(&other, NULL, thread, "\302\233t\033[1m");
    pthread_join(other, NULL);
    for (int i = 0; i < 100; i++) free(malloc(64));
    if (n > 1 && !strcmp(words[1], "wait")) { puts("up"); fflush(stdout); pause(); }
    return 0;
}
"#;

/// A process that is there as long as the test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A repository whose configuration has hostile names, in files and of files.
fn repository(folder: &Path) {
    let text = serde_json::to_string(&hostile_text()).expect("text");
    let below = folder.join(hostile()).join(".vscode");
    std::fs::create_dir_all(&below).expect("a folder");
    let launch = format!(
        "{{\"configurations\": [{{\"type\": \"lldb\", \"name\": {text}, \"env\": {{\"_NO_DEBUG_HEAP\": {text}}}}},\n\
         {{\"type\": \"lldb\", \"name\": {text}, \"envFile\": {text}}},\n{{\"type\": \"lldb\", \"name\": {text}}}]}}\n// \u{1b}[2J\u{202e}\r\n"
    );
    std::fs::write(below.join("launch.json"), launch).expect("a file");
    std::fs::write(below.join("settings.json"), "{ \u{1b}[2J").expect("a file");
    let idea = folder.join(".idea/runConfigurations");
    std::fs::create_dir_all(&idea).expect("a folder");
    std::fs::write(idea.join(with("", ".xml")), "<a><\u{9b}").expect("a file");
    std::fs::write(folder.join(with("", ".rs")), "fn f() { set_var(\"_NO_DEBUG_HEAP\", \"1\") }")
        .expect("a file");
}

#[test]
fn nothing_that_others_named_controls_the_terminal() {
    let Some(script) = programs::find("script") else { return };
    let folder = run::private_folder();
    let (here, repo) = (folder.path(), folder.path().join(with("repository ", "")));
    std::fs::write(here.join("program.c"), PROGRAM).expect("a file");
    let program = with("./", "");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O0", "-pthread", "-o"]).arg(&program).arg("program.c").current_dir(here);
    assert!(compiler.status().expect("there is a compiler").success());
    std::fs::create_dir(&repo).expect("a folder");
    repository(&repo);
    std::fs::write(here.join(with("names ", ".hw")), hostile::recording()).expect("a file");
    let whole = hostile::recording();
    std::fs::write(here.join(with("cut ", ".hw")), &whole[..whole.len() - 30]).expect("a file");
    std::fs::write(here.join(with("text ", ".hw")), "no recording").expect("a file");
    std::fs::write(here.join(with("taken ", ".hw")), "precious").expect("a file");
    let mut waiting = Command::new(here.join(&program));
    waiting.arg("wait").arg(hostile()).env("MALLOC_CONF", hostile()).process_group(0);
    let waiting = Waiting(waiting.stdout(Stdio::null()).spawn().expect("it can be started"));
    let pid = OsString::from(waiting.0.id().to_string());

    let heapwise = tool::heapwise().as_os_str();
    let cargo_heapwise = tool::cargo_heapwise();
    let (h, names, cut) = (hostile(), with("names ", ".hw"), with("cut ", ".hw"));
    let (text, taken, own) = (with("text ", ".hw"), with("taken ", ".hw"), with("own ", ".hw"));
    let (nowhere, t) = (with("no folder ", "/x"), OsString::from(hostile_text()));
    let worded = |before: &str, behind: &str| OsString::from(format!("{before}{}{behind}", hostile_text()));
    // A colon would begin a setting.
    let library = OsString::from(format!("/no/such {}.so", hostile_text().replace(':', "")));
    // For the recordings that cases make themselves.
    let counter = AtomicUsize::new(0);
    let fresh = || with(&format!("made {} ", counter.fetch_add(1, Ordering::Relaxed)), ".hw");
    let mut cases = Vec::new();
    let mut add = |shows: &'static str, words: &[&OsStr]| {
        cases.push(case(shows, &[&[heapwise], words].concat()));
    };
    let o = OsStr::new;
    // Recording: the program, its arguments and threads; places that are taken or not there.
    add("recording in", &[o("run"), o("-o"), &fresh(), o("--"), &program, &h]);
    add("report in", &[o("run"), o("--format"), o("html"), o("-o"), &fresh(), o("--"), &program]);
    add("schema", &[o("run"), o("--format"), o("json"), o("-o"), &fresh(), o("--"), &program, &h]);
    add("heapwise", &[o("run"), o("--format"), o("markdown"), o("-o"), &fresh(), o("--"), &program, &h]);
    add("command not found", &[o("run"), o("-o"), &fresh(), o("--"), &h]);
    add("cannot run", &[o("run"), o("-o"), &fresh(), o("--"), &with("./text ", ".hw")]);
    add("exists", &[o("run"), o("-o"), &taken, o("--"), &program]);
    add("cannot", &[o("run"), o("-o"), &nowhere, o("--"), &program]);
    add("cannot write", &[o("run"), o("--report-file"), &nowhere, o("-o"), &fresh(), o("--"), &program]);
    add("--source-root", &[o("run"), o("--source-root"), &h, o("-o"), &fresh(), o("--"), &program]);
    // Recordings: one with hostile names inside, one that is damaged, and what is none.
    for format in ["text", "json", "markdown"] {
        add("", &[o("report"), &names, o("--stacks"), o("--format"), o(format)]);
        add("", &[o("diff"), &names, &cut, o("--format"), o(format)]);
    }
    add("HTML", &[o("report"), &names, o("--format"), o("html")]);
    add("exceeded", &[o("diff"), &cut, &names, o("--fail-on"), o("allocations>0")]);
    for format in ["folded", "dhat", "firefox", "pprof"] {
        add("", &[o("export"), &cut, o("--to"), o(format)]);
    }
    add("cannot write", &[o("export"), &names, o("--to"), o("folded"), o("-o"), &nowhere]);
    for command in ["report", "replay", "tune"] {
        add("cannot read", &[o(command), &with("missing ", "")]);
        add("not a heapwise recording", &[o(command), &text]);
        add("cannot write", &[o(command), &names, o("-o"), &nowhere]);
        add("overwrite", &[o(command), &names, o("-o"), &names]);
    }
    // The environment, processes and repositories.
    for format in ["text", "json", "markdown"] {
        add("", &[o("doctor"), o("--format"), o(format), o("--"), &program, &h]);
        add("", &[o("doctor"), o("--format"), o(format), o("--pid"), &pid]);
    }
    add("command not found", &[o("doctor"), o("--"), &h]);
    // Other allocators, servers and experiments.
    add("name one of", &[o("compare"), o("--with"), &t, o("--"), &program]);
    add("cannot read", &[o("compare"), o("--runs"), o("1"), o("--with"), &library, o("--"), &program, &h]);
    add("tcp:PORT", &[o("compare"), o("--ready"), &worded("tcp:", ""), o("--"), &program]);
    add(
        "cannot read",
        &[o("compare"), o("--with"), o("jemalloc"), o("--stdin"), &with("no ", ""), o("--"), &program],
    );
    add("command not found", &[o("compare"), o("--with"), o("jemalloc"), o("--"), &h]);
    add("", &[o("replay"), &names, o("--with"), &t]);
    add("", &[o("replay"), &names, o("--runs"), o("0"), o("--with"), &library]);
    add("--goal", &[o("tune"), &names, o("--goal"), &t]);
    add("", &[o("tune"), &names, o("--baseline"), &t]);
    add("", &[o("allocators"), &t]);
    add("experiment", &[o("lab"), &t]);
    add("", &[o("lab"), o("debug-heap"), o("--workload"), &t]);
    add("", &[o("launch"), o("--"), &h]);
    // Words of the command line itself.
    add("unrecognized", &[&h]);
    add("unexpected", &[o("report"), &with("--", "")]);
    add("invalid value", &[o("run"), o("--max-size"), &t, o("--"), o("ls")]);
    add("invalid value", &[o("run"), o("--duration"), &t, o("--"), o("ls")]);
    add("invalid value", &[o("report"), o("a.hw"), o("--format"), &t]);
    add("invalid value", &[o("completions"), &t]);
    add("", &[o("export"), &names, o("--to"), o("folded"), o("--measure"), &t]);
    for words in [
        &[o("flamegraph"), o("-o"), &with("", ".xyz")][..],
        &[o("flamegraph"), o("-o"), &with("no folder ", "/x.svg")],
        &[o("bench"), o("--baseline"), &t],
        &[o("bench"), o("--fail-on"), &t],
        &[o("run"), o("--max-size"), &t],
        &[&h],
    ] {
        cases.push(case("", &[&[cargo_heapwise.as_os_str()], words].concat()));
    }
    // The folder itself has such a name in these.
    let mut in_repository = Vec::new();
    for words in [
        &[o("doctor")][..],
        &[o("doctor"), o("--format"), o("json")],
        &[o("doctor"), o("--format"), o("markdown")],
        &[o("doctor"), o("--fix")],
        &[o("doctor"), o("--fix"), o("--yes")],
    ] {
        in_repository.push(case("", &[&[heapwise], words].concat()));
    }

    // A recording to look for the names of a program in.
    let recorded = run::command(tool::heapwise(), here)
        .args(["run", "--no-report", "-o"])
        .args([&own, OsStr::new("--"), &program, &h])
        .output();
    assert!(recorded.expect("it can be started").status.success());
    cases.push(case("", &[heapwise, o("report"), &own]));
    cases.push(case("", &[heapwise, o("diff"), &own, &names]));
    cases.push(case("", &[heapwise, o("replay"), &own, o("--runs"), o("0"), o("--with"), o("glibc")]));

    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { return };
                    let result = on_a_terminal(&script, here, number, case);
                    wrong.lock().expect("no thread has failed").extend(result.err());
                }
            });
        }
    });
    for (number, case) in in_repository.iter().enumerate() {
        let result = on_a_terminal(&script, &repo, number, case);
        wrong.lock().expect("no thread has failed").extend(result.err());
    }
    let wrong = wrong.into_inner().expect("no thread has failed");
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len() + in_repository.len(),
        wrong.join("\n\n")
    );
}

/// What shows that the test would see something.
#[test]
fn what_is_harmful_is_recognised() {
    for harmful in [
        HOSTILE,
        b"\x1b[0m",
        b"a\rb\r\n",
        "\u{9b}".as_bytes(),
        b"\xff",
        "\u{202e}".as_bytes(),
        b"x\r\nforged: y\r\n",
    ] {
        assert!(harm(harmful).is_some(), "{}", harmful.escape_ascii());
    }
    assert_eq!(harm("heapwise: é \\u{1b}[2J\\nforged\r\n\tx\r\n".as_bytes()), None);
}

/// With colours and progress, the only sequences are those that select colours and those of the progress bar.
#[test]
fn colours_are_ours_alone() {
    let Some(script) = programs::find("script") else { return };
    let folder = run::private_folder();
    let name = with("names ", ".hw");
    std::fs::write(folder.path().join(&name), hostile::recording()).expect("a file");
    for command in ["report", "annotate", "diff", "doctor"] {
        let mut line = quoted(tool::heapwise().as_os_str());
        let words: &[&OsStr] = match command {
            "report" => &[OsStr::new("report"), &name, OsStr::new("--stacks")],
            "annotate" => &[OsStr::new("annotate"), &name, OsStr::new("--full")],
            "diff" => &[OsStr::new("diff"), &name, &name],
            _ => &[OsStr::new("doctor"), OsStr::new("--"), OsStr::new("ls"), &hostile()],
        };
        for word in words {
            line.push(b' ');
            line.extend(quoted(word));
        }
        let mut shell = run::command(&script, folder.path());
        shell.env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1").env("MALLOC_CONF", hostile());
        shell.arg("-qec").arg(OsStr::from_bytes(&line)).arg("/dev/null");
        let outcome = run::finish(&mut shell, folder.path(), command);
        let text = outcome.text();
        assert!(
            text.contains("\x1b[1m") || text.contains("\x1b[2m"),
            "there are colours: {}",
            text.escape_debug()
        );
        let mut rest = text.as_str();
        let mut plain = String::new();
        while let Some((before, behind)) = rest.split_once('\x1b') {
            plain.push_str(before);
            let parameters = behind.strip_prefix('[').unwrap_or_else(|| panic!("{}", behind.escape_debug()));
            let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').expect("it ends");
            assert!(parameters[end..].starts_with(['m', 'K', 'A']), "{}", parameters.escape_debug());
            assert_ne!(&parameters[..end], "31", "that is the program's");
            rest = &parameters[end + 1..];
        }
        plain.push_str(rest);
        let harm = harm(plain.replace("\r\r", "\r").as_bytes());
        assert_eq!(harm, None, "{command}");
    }
}
