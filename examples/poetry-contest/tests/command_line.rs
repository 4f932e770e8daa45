//! The two programs as a user meets them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const CONTEST: &str = env!("CARGO_BIN_EXE_poetry-contest");
const GENERATE: &str = env!("CARGO_BIN_EXE_poetry-generate");

/// Starts a program that keeps its generated data in `temp`.
fn start(program: &str, temp: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).env("TMPDIR", temp).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn run(program: &str, arguments: &[&str]) -> Output {
    let temp = tempfile::tempdir().unwrap();
    start(program, temp.path(), arguments).wait_with_output().unwrap()
}

/// Checks that a program refuses its arguments with one line that contains `reason`.
fn refuses(program: &str, arguments: &[&str], code: i32, reason: &str) {
    let output = run(program, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.contains(reason) && message.lines().count() == 1, "{arguments:?}: {message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn wrong_arguments_are_refused() {
    refuses(CONTEST, &[], 2, "the version is missing");
    refuses(CONTEST, &["v09"], 2, "there is no version \"v09\"");
    refuses(CONTEST, &["v01", "v02"], 2, "v02");
    refuses(CONTEST, &["v01", "--rounds", "many"], 2, "--rounds needs a whole number");
    refuses(CONTEST, &["v01", "--repeat", "0"], 2, "--repeat must be at least 1");
    refuses(CONTEST, &["v01", "--data", ".", "--seed", "1"], 2, "--seed has no effect");
    refuses(CONTEST, &["v01", "--data", "does-not-exist"], 1, "does-not-exist has no manifest.json");
    refuses(GENERATE, &[], 2, "--out DIR is missing");
    refuses(GENERATE, &["--out", "x", "--entries", "-1"], 2, "--entries needs a whole number");
    refuses(GENERATE, &["--verbose"], 2, "--verbose");
}

#[test]
fn help_is_printed() {
    for program in [CONTEST, GENERATE] {
        let output = run(program, &["--help"]);
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: poetry-"));
    }
}

/// Programs that start at the same time without data must not see the unfinished data of each other.
#[test]
fn data_is_made_once_and_kept() {
    let temp = tempfile::tempdir().unwrap();
    let arguments = ["v01", "--rounds", "2", "--entries", "400", "--seed", "7"];
    let children: Vec<Child> = (0..4).map(|_| start(CONTEST, temp.path(), &arguments)).collect();
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    for output in &outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, outputs[0].stdout);
    }

    let kept: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "only the data should be left: {kept:?}");
    let data = kept[0].to_str().unwrap();
    let again = start(CONTEST, temp.path(), &["v08", "--data", data, "--repeat", "2"]);
    assert_eq!(again.wait_with_output().unwrap().stdout, outputs[0].stdout);
}

#[test]
fn both_programs_generate_the_same() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("made");
    let options = ["--rounds", "1", "--entries", "300"];
    let mut arguments = vec!["--out", out.to_str().unwrap()];
    arguments.extend(options);
    assert!(start(GENERATE, temp.path(), &arguments).wait().unwrap().success());

    let explicit = run(CONTEST, &["v03", "--data", out.to_str().unwrap()]);
    let implicit = run(CONTEST, &["v03", "--rounds", "1", "--entries", "300"]);
    assert!(explicit.status.success());
    assert_eq!(explicit.stdout, implicit.stdout);
}
