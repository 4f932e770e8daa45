//! `cargo heapwise run`, `test` and `flamegraph` on their own packages: what cargo builds is recorded, with lines, and everything
//! else is as without heapwise.

use heapwise_tests::run::{self, Outcome, PATIENCE, private_folder};
use heapwise_tests::tool::{cargo_heapwise, heapwise};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// How many blocks the program asks for, at a separate line.
const BLOCKS: u64 = 1234;

const MAIN: &str = r#"use std::{env, process};

#[inline(never)]
fn blocks(n: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::with_capacity(n);
    for at in 0..n {
        all.push(vec![1; 100 + at % 7]); // here
    }
    all
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    println!("words {words:?}, folder {:?}", env::var_os("CARGO_MANIFEST_DIR"));
    for (name, _) in env::vars_os().map(|(n, v)| (n.into_string().unwrap(), v)) {
        assert!(!name.ends_with("_RUNNER") && !name.starts_with("HEAPWISE_CARGO"), "{name}");
    }
    println!("{}", blocks(1234).iter().map(Vec::len).sum::<usize>());
    if words.first().is_some_and(|word| word == "wait") {
        println!("waits");
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    process::exit(words.first().and_then(|word| word.parse().ok()).unwrap_or(0));
}
"#;

const LIBRARY: &str = r#"/// Adds.
/// ```
/// assert_eq!(package::add(1, 2), 3);
/// ```
pub fn add(a: u8, b: u8) -> u8 { a + b }

#[test]
fn adds() {
    let all: Vec<Vec<u8>> = (0..500).map(|n| vec![n as u8; 10]).collect();
    assert_eq!(add(all[1][0], 2), 3);
}
"#;

const TEST: &str = r#"#[test]
fn is_where_cargo_puts_it() {
    assert!(std::path::Path::new("Cargo.toml").exists());
    assert_eq!(std::env::var("CARGO_PKG_NAME").unwrap(), "package");
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_package")).exists());
}

#[test]
fn fails_if_it_is_to() {
    assert!(std::env::var_os("FIXTURE_FAIL").is_none());
}
"#;

/// A package in a folder with a space in its name.
struct Package {
    folder: TempDir,
    root: PathBuf,
}

impl Package {
    fn new() -> Self {
        let folder = private_folder();
        let root = folder.path().join("a package");
        let package = Self { folder, root };
        package
            .write("Cargo.toml", "[package]\nname = \"package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        package.write("src/main.rs", MAIN);
        package.write("src/lib.rs", LIBRARY);
        package.write("tests/integration.rs", TEST);
        package
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn add_to_manifest(&self, text: &str) {
        let manifest = fs::read_to_string(self.root.join("Cargo.toml")).expect("a manifest");
        self.write("Cargo.toml", &(manifest + text));
    }

    fn command(&self, words: &[&str]) -> Command {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let mut command = run::command(PROGRAM.get_or_init(cargo_heapwise), &self.root);
        command.arg("heapwise").args(words).env("HEAPWISE", heapwise());
        command
    }

    fn finish(&self, command: &mut Command) -> Outcome {
        run::finish(command, self.folder.path(), "cargo-heapwise")
    }

    fn run(&self, words: &[&str]) -> Outcome {
        self.finish(&mut self.command(words))
    }

    fn recording(&self, name: &str) -> PathBuf {
        self.root.join("target/heapwise/recordings").join(name)
    }
}

fn report(recording: &Path) -> Value {
    let output = Command::new(heapwise()).args(["report", "--format", "json"]).arg(recording).output();
    serde_json::from_slice(&output.expect("a process").stdout).expect("JSON")
}

/// How many blocks were asked for at the line of the fixture that says so.
fn blocks_at_the_line(recording: &Path) -> u64 {
    let line = 1 + MAIN.lines().position(|line| line.ends_with("// here")).expect("the line");
    let report = report(recording);
    let sites = report["sites"].as_array().expect("sites").iter();
    let ours = sites.filter(|site| {
        let Some(frame) = site["user_frame"].as_u64() else { return false };
        let index = site["stack"][frame as usize].as_u64().expect("an index");
        let frame = &report["frames"][index as usize];
        frame["line"] == line && frame["file"].as_str().is_some_and(|file| file.ends_with("src/main.rs"))
    });
    ours.map(|site| site["allocations"].as_u64().expect("a number")).sum()
}

#[test]
fn a_program_is_built_optimised_and_with_lines_and_ends_as_it_does() {
    let package = Package::new();
    let manifest = fs::read_to_string(package.root.join("Cargo.toml")).expect("a manifest");
    let outcome = package.run(&["run", "--offline", "--", "7", "two words"]);
    assert_eq!(outcome.code(), 7, "{outcome:#?}");
    let words = format!("words [\"7\", \"two words\"], folder Some({:?})\n", package.root);
    assert!(outcome.text().starts_with(&words), "{outcome:#?}");
    let said = "heapwise: building with the profile release and CARGO_PROFILE_RELEASE_DEBUG=line-tables-only";
    assert!(outcome.stderr.contains(said), "{outcome:#?}");
    assert_eq!(blocks_at_the_line(&package.recording("package.1.hw")), BLOCKS);
    let page = fs::read_to_string(package.recording("package.1.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    assert_eq!(fs::read_to_string(package.root.join("Cargo.toml")).expect("a manifest"), manifest);
    let outcome = package.run(&["run", "--offline", "--format", "text"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(outcome.stderr.contains("\nTOTALS\n"), "{outcome:#?}");
    assert!(package.recording("package.2.hw").exists() && !package.recording("package.2.html").exists());
}

#[test]
fn options_of_recordings_are_those_of_heapwise() {
    let package = Package::new();
    let flags =
        ["--no-follow", "--wait", "--no-source", "--force", "--recorder", "preload", "--max-size", "99MiB"];
    let times =
        ["--duration", "2h", "--snapshot-every", "1h 5m", "--report-file", "own page.html", "-o", "own.hw"];
    let outcome = package.run(&[&["run", "--offline"][..], &flags, &times].concat());
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(
        package.root.join("own page.html").exists() && !package.root.join("own.html").exists(),
        "{outcome:#?}"
    );
    assert_eq!(blocks_at_the_line(&package.root.join("own.hw")), BLOCKS);
    let outcome = package.run(&["run", "--offline", "--delay", "1h", "-o", "late.hw"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert_eq!(blocks_at_the_line(&package.root.join("late.hw")), 0, "nothing was recorded so early");
    // What heapwise refuses is reported by it, and nothing is replaced.
    let outcome = package.run(&["run", "--offline", "-o", "late.hw"]);
    assert_eq!(outcome.code(), 125, "{outcome:#?}");
    assert!(outcome.stderr.contains("--force"), "{outcome:#?}");
}

#[test]
fn a_profile_that_has_more_stays_as_it_is_and_one_that_strips_does_not() {
    let package = Package::new();
    package.add_to_manifest("[profile.release]\ndebug = true\n");
    let outcome = package.run(&["run", "--offline", "-v"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(
        outcome.stderr.contains("debuginfo=2") && !outcome.stderr.contains("building with"),
        "{outcome:#?}"
    );
    let package = Package::new();
    package.add_to_manifest("[profile.release]\nstrip = true\n[profile.own]\ninherits = \"release\"\n");
    let outcome = package.run(&["run", "--offline", "--profile", "own", "-o", "own.hw"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    let said = "profile own and CARGO_PROFILE_OWN_DEBUG=line-tables-only CARGO_PROFILE_OWN_STRIP=none";
    assert!(outcome.stderr.contains(said), "{outcome:#?}");
    assert_eq!(blocks_at_the_line(&package.root.join("own.hw")), BLOCKS);
    // What stands on the command line comes before variables.
    let outcome = package.run(&["run", "--offline", "-v", "--config", "profile.release.debug=2"]);
    assert!(outcome.stderr.contains("debuginfo=2"), "{outcome:#?}");
}

#[test]
fn of_several_programs_one_has_to_be_named() {
    let package = Package::new();
    package.write("src/bin/other.rs", "fn main() { println!(\"the other\"); }");
    package.write("examples/third.rs", "fn main() { println!(\"the third\"); }");
    let outcome = package.run(&["run", "--offline"]);
    assert_eq!(outcome.code(), 101, "{outcome:#?}");
    assert!(outcome.stderr.contains("--bin") && outcome.stderr.contains("other, package"), "{outcome:#?}");
    assert!(!package.recording("").exists());
    for (words, said) in [(["--bin", "other"], "the other\n"), (["--example", "third"], "the third\n")] {
        let outcome = package.run(&[&["run", "--offline"][..], &words].concat());
        assert_eq!((outcome.code(), outcome.text().as_str()), (0, said), "{outcome:#?}");
        assert!(package.recording(&format!("{}.1.hw", words[1])).exists());
    }
}

#[test]
fn packages_of_a_workspace_targets_and_folders_are_found() {
    let package = Package::new();
    package.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n[profile.release]\ndebug = 1\n",
    );
    for name in ["one", "two"] {
        package.write(
            &format!("{name}/Cargo.toml"),
            &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n"),
        );
        package.write(&format!("{name}/src/main.rs"), &format!("fn main() {{ println!(\"{name}\"); }}"));
    }
    let outcome = package.run(&["run", "--offline", "-p", "two"]);
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, "two\n"), "{outcome:#?}");
    assert!(!outcome.stderr.contains("building with"), "the profile of the workspace counts: {outcome:#?}");
    // From elsewhere, into another folder, and for a target by its name.
    let manifest = package.root.join("one/Cargo.toml");
    let words = [
        "run",
        "--offline",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--target-dir",
        "else where",
        "--manifest-path",
    ];
    let mut command = package.command(&words);
    let outcome = package.finish(command.arg(manifest).current_dir(package.folder.path()));
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, "one\n"), "{outcome:#?}");
    assert!(package.folder.path().join("else where/heapwise/recordings/one.1.hw").exists());
    let mut command = package.command(&["run", "--offline", "-p", "one"]);
    let outcome = package.finish(command.env("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu"));
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(package.recording("one.1.hw").exists());
}

#[test]
fn each_test_executable_is_recorded_and_nothing_else_differs() {
    let package = Package::new();
    let outcome = package.run(&["test", "--offline"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(outcome.text().contains("test src/lib.rs - add (line 2) ... ok"), "{outcome:#?}");
    assert!(!outcome.stderr.contains("WARNING"), "{outcome:#?}");
    let files = fs::read_dir(package.recording("")).expect("recordings").flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name().into_string().expect("a name")).collect();
    names.sort();
    let stems: Vec<_> = names.iter().map(|name| name.split('-').next().expect("a name")).collect();
    assert_eq!(stems, ["integration", "package", "package"], "{names:?}");
    let table: Vec<_> = outcome.stderr.lines().skip_while(|line| !line.contains("test executable")).collect();
    assert_eq!(table.len(), 5, "{outcome:#?}");
    let mut most = 0;
    for row in &table[1..4] {
        let cells: Vec<_> = row.split_whitespace().collect();
        let recording = package.recording(&format!("{}.hw", cells.last().expect("a name")));
        let totals = report(&recording)["totals"].clone();
        let number = |name: &str| totals[name].as_u64().expect("a number");
        let cell_value = |cell: usize| cells[cell].replace(',', "").parse::<u64>().expect("a number");
        assert_eq!(cell_value(1), number("allocations") + number("reallocations"), "{row}");
        assert_eq!(
            (cell_value(2), cell_value(3)),
            (number("allocated_bytes"), number("peak_live_bytes")),
            "{row}"
        );
        most = most.max(number("allocations"));
    }
    assert!(most >= 500, "the library's test asks for 500 blocks: {most}");
    // A second run replaces them; a filter and arguments go through.
    let outcome = package.run(&["test", "--offline", "--lib", "adds", "--", "--exact"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert!(
        outcome.text().contains("1 filtered out") || outcome.text().contains("0 filtered out"),
        "{outcome:#?}"
    );
    assert_eq!(fs::read_dir(package.recording("")).expect("recordings").count(), 3);
}

#[test]
fn a_test_that_fails_ends_as_with_cargo() {
    let package = Package::new();
    let mut command = package.command(&["test", "--offline", "--test", "integration"]);
    let outcome = package.finish(command.env("FIXTURE_FAIL", "1"));
    assert_eq!(outcome.code(), 101, "{outcome:#?}");
    assert!(outcome.text().contains("1 passed; 1 failed"), "{outcome:#?}");
    assert!(outcome.stderr.contains("test executable"), "it is recorded all the same: {outcome:#?}");
}

#[test]
fn a_flame_graph_is_a_page_stacks_or_a_picture() {
    let package = Package::new();
    let outcome = package.run(&["flamegraph", "--offline"]);
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    let page = package.recording("package.1.html");
    assert!(page.exists() && outcome.stderr.contains("/package.1.html#flame\n"), "{outcome:#?}");
    assert!(
        outcome.stderr.contains("flame graph in file:///") && outcome.stderr.contains("/a%20package/"),
        "{outcome:#?}"
    );

    let outcome =
        package.run(&["flamegraph", "--offline", "--measure", "allocations", "-o", "run.folded", "--", "3"]);
    assert_eq!(outcome.code(), 3, "{outcome:#?}");
    let folded = fs::read_to_string(package.root.join("run.folded")).expect("stacks");
    let counts = folded
        .lines()
        .map(|line| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number"));
    let allocations = &report(&package.recording("package.2.hw"))["totals"]["allocations"];
    assert_eq!(Some(counts.sum::<u64>()), allocations.as_u64());

    let words = ["flamegraph", "--offline", "--measure", "peak_bytes", "-o", "run.svg"];
    let outcome = package.finish(package.command(&words).env("PATH", "/usr/bin:/bin"));
    if outcome.code() != 0 {
        assert_eq!(outcome.code(), 127, "{outcome:#?}");
        assert!(
            outcome.stderr.contains("cargo install inferno") && !outcome.text().contains("words"),
            "{outcome:#?}"
        );
    }
    let tools = program(&package, "inferno-flamegraph", "echo \"<svg> $*\"; cat; echo '</svg>'");
    let outcome = package.finish(package.command(&words).env("PATH", tools));
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    let picture = fs::read_to_string(package.root.join("run.svg")).expect("a picture");
    assert!(
        picture.starts_with("<svg> --title heapwise --countname bytes at the peak\n")
            && picture.contains(";package::blocks")
    );

    for words in [&["-o", "run.png"][..], &["--measure", "peak_bytes"]] {
        let outcome = package.run(&[&["flamegraph", "--offline"][..], words].concat());
        assert_eq!(outcome.code(), 2, "{outcome:#?}");
    }
}

/// A `PATH` that begins with a folder that has a program of the test's.
fn program(package: &Package, name: &str, script: &str) -> std::ffi::OsString {
    let tools = package.folder.path().join("tools");
    fs::create_dir_all(&tools).expect("a folder");
    let path = tools.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&others))).expect("a path")
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    let package = Package::new();
    let alone = package.folder.path().join("al one");
    fs::create_dir_all(&alone).expect("a folder");
    let copy = alone.join("cargo-heapwise");
    fs::copy(cargo_heapwise(), &copy).expect("a copy");
    let error = |outcome: &Outcome| {
        let lines: Vec<_> = outcome.stderr.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "{outcome:#?}");
        lines[0].clone()
    };
    let words = ["run", "--offline"];
    let outcome = package.finish(run::command(&copy, &package.root).args(words));
    assert_eq!(outcome.code(), 127, "{outcome:#?}");
    assert!(error(&outcome).contains("cargo install") && error(&outcome).contains("HEAPWISE"));
    let outcome = package.finish(package.command(&words).env("HEAPWISE", "/no/such/heapwise"));
    assert_eq!(outcome.code(), 127, "{outcome:#?}");
    assert!(error(&outcome).contains("HEAPWISE names /no/such/heapwise"));
    let outcome = package.finish(package.command(&words).env("HEAPWISE", package.root.join("Cargo.toml")));
    assert_eq!(outcome.code(), 127, "{outcome:#?}");
    assert!(outcome.stderr.contains("heapwise: error: cannot start"), "{outcome:#?}");
    let outcome = package.run(&["run", "--offline", "--delay", "soon"]);
    assert_eq!(outcome.code(), 2, "{outcome:#?}");
    let outcome = package.run(&["run-for-cargo", "ls"]);
    assert_eq!(outcome.code(), 2, "{outcome:#?}");
    assert!(error(&outcome).contains("cargo heapwise run"));
    package.write("src/main.rs", "fn main() { 1 }");
    let outcome = package.run(&words);
    assert_eq!(outcome.code(), 101, "{outcome:#?}");
    assert!(
        outcome.stderr.contains("mismatched types") && !package.recording("package.1.hw").exists(),
        "{outcome:#?}"
    );

    // The copy, in a folder with a space, beside a link to heapwise.
    package.write("src/main.rs", MAIN);
    std::os::unix::fs::symlink(heapwise(), alone.join("heapwise")).expect("a link");
    let outcome = package.finish(run::command(&copy, &package.root).args(words));
    assert_eq!(outcome.code(), 0, "{outcome:#?}");
    assert_eq!(blocks_at_the_line(&package.recording("package.1.hw")), BLOCKS);
}

#[test]
fn a_runner_of_the_user_is_replaced_or_cell_value() {
    let package = Package::new();
    for runner in ["\"false\"", "[\"false\", \"with words\"]"] {
        package
            .write(".cargo/config.toml", &format!("[target.x86_64-unknown-linux-gnu]\nrunner = {runner}\n"));
        let outcome = package.run(&["run", "--offline"]);
        assert_eq!(outcome.code(), 0, "{outcome:#?}");
    }
    fs::remove_file(package.root.join(".cargo/config.toml")).expect("a file");
    package.write("src/main.rs", "fn main() {}");
    let runner = "target.x86_64-unknown-linux-gnu.runner='env'";
    for command in ["run", "test"] {
        let outcome = package.run(&[command, "--offline", "--config", runner]);
        assert_eq!(outcome.code(), 1, "{outcome:#?}");
        assert!(outcome.stderr.contains("a runner that is given with --config"), "{outcome:#?}");
    }
}

#[test]
fn an_interrupt_goes_to_the_program_and_the_report_still_comes() {
    let package = Package::new();
    let mut command = package.command(&["run", "--offline", "--", "wait"]);
    let mut running = run::start(&mut command, package.folder.path(), "interrupted");
    running.wait_for("waits");
    running.signal_group(2);
    let outcome = running.wait(PATIENCE);
    assert_eq!(outcome.code(), 130, "{outcome:#?}");
    assert!(outcome.stderr.contains("heapwise: report in"), "{outcome:#?}");
    assert_eq!(blocks_at_the_line(&package.recording("package.1.hw")), BLOCKS);
}

#[test]
fn a_report_is_opened_in_a_terminal_only() {
    let package = Package::new();
    let path =
        program(&package, "xdg-open", "printf '%s' \"$1\" > \"$OPENED.new\"; mv \"$OPENED.new\" \"$OPENED\"");
    let opened = package.folder.path().join("opened");
    let program = cargo_heapwise();
    let in_terminal = |words: &str| {
        let _ = fs::remove_file(&opened);
        let line = format!("exec '{}' {words} --offline", program.display());
        let mut command = run::command("script", &package.root);
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("PATH", &path).env("OPENED", &opened).env("HEAPWISE", heapwise()).env("SHELL", "/bin/sh");
        let outcome = package.finish(&mut command);
        assert_eq!(outcome.code(), 0, "{outcome:#?}");
        // It goes on by itself, and the program does not wait for it.
        for _ in 0..100 {
            if let Ok(text) = fs::read_to_string(&opened) {
                return text;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        String::new()
    };
    assert_eq!(in_terminal("run"), package.recording("package.1.html").to_str().expect("a path"));
    let address = in_terminal("flamegraph");
    assert!(
        address.starts_with("file:///")
            && address.ends_with("/a%20package/target/heapwise/recordings/package.2.html#flame")
    );
    assert_eq!(in_terminal("run --no-open"), "");
    let outcome =
        package.finish(package.command(&["run", "--offline"]).env("PATH", &path).env("OPENED", &opened));
    assert!(outcome.code() == 0 && !opened.exists(), "{outcome:#?}");
}
