//! A debugger gives a program the debug heap: found, explained, turned off, and gone.

use crate::tool::{HEAPWISE, INNER, clean, findings, finish, heapwise, program, wine};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A program that uses the library, under a debugger.
fn debugged(options: &[&str]) -> Command {
    let mut command = heapwise(&["launch", "--debugged"]);
    command.args(options).arg("--").args(program()).env(INNER, "look");
    command
}

#[test]
fn a_program_that_looks_at_itself_finds_it_and_the_variable_is_the_cure() {
    let (code, output, errors) = finish(debugged(&[]));
    assert_eq!(code, 3, "{output}{errors}");
    assert!(output.contains("high · windows-debug-heap"), "{output}");
    assert!(output.contains("NtGlobalFlag is 0x70, ForceFlags of the heap are 0x40000060"), "{output}");
    // At its start it warned, in one line.
    let warnings: Vec<_> = errors.lines().filter(|line| line.starts_with("heapwise: warning: ")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("_NO_DEBUG_HEAP=1"), "{errors}");
    // Under Wine the output names the emulation.
    assert_eq!(errors.contains("as an emulation of Windows"), wine().is_some(), "{errors}");
    assert_eq!(output.contains("it is an emulation"), wine().is_some(), "{output}");

    let (code, output, errors) = finish(debugged(&["--with-variable"]));
    assert_eq!((code, errors.contains("heapwise: ")), (0, false), "{output}{errors}");
    assert!(output.contains("nothing outside of the code slows the heap"), "{output}");
}

#[test]
fn only_a_number_in_the_environment_helps() {
    for (value, code) in [("1", 0), ("2", 0), ("0x10", 0), ("0", 3), ("true", 3), ("yes", 3)] {
        let mut command = debugged(&[]);
        command.env("_NO_DEBUG_HEAP", value);
        let (found, output, errors) = finish(command);
        assert_eq!(found, code, "{value}: {output}{errors}");
        assert_eq!(output.contains("no-debug-heap-value"), code == 3, "{value}: {output}");
    }
    // A value that does nothing is replaced, and one that works is not.
    for (value, kept) in [("true", "1"), ("2", "2")] {
        let mut command = heapwise(&["launch", "--", "cmd", "/c", "echo %_NO_DEBUG_HEAP%"]);
        command.env("_NO_DEBUG_HEAP", value);
        assert_eq!(finish(command).1.trim(), kept);
    }
}

#[test]
fn a_variable_that_is_set_in_main_is_too_late() {
    let mut command = debugged(&[]);
    command.env(INNER, "too late");
    let (code, output, _) = finish(command);
    assert!(code == 3 && output.contains("_NO_DEBUG_HEAP=1 was set too late"), "{output}");
}

#[test]
fn a_program_that_wants_quiet_has_it() {
    let mut command = debugged(&[]);
    command.env("HEAPWISE_QUIET", "1");
    let (code, _, errors) = finish(command);
    assert!(code == 3 && !errors.contains("warning"), "{errors}");
}

#[test]
fn the_doctor_finds_it_in_its_own_process() {
    let doctor = [HEAPWISE, "doctor", "--format", "json"];
    let run = |options: &[&str]| {
        let mut command = heapwise(&["launch"]);
        command.args(options).arg("--").args(doctor);
        findings(command)
    };
    let (code, found, json) = run(&["--debugged"]);
    assert_eq!((code, found), (3, vec![("windows-debug-heap".to_owned(), "high".to_owned())]), "{json}");
    assert!(json["findings"][0]["remedy"].as_str().is_some_and(|remedy| remedy.contains("_NO_DEBUG_HEAP=1")));
    for options in [&["--debugged", "--with-variable"][..], &[]] {
        let (code, found, _) = run(options);
        assert_eq!((code, found), (0, vec![]));
    }
}

#[test]
fn the_doctor_finds_it_in_another_process() {
    for (options, expected) in [(&["--debugged"][..], 3), (&[], 0)] {
        let mut launch = heapwise(&["launch"]);
        launch.args(options).arg("--").args(program()).env(INNER, "wait");
        let mut child = launch
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let pid =
            output.lines().map_while(Result::ok).find_map(|line| Some(line.split_once("pid ")?.1.to_owned()));
        let pid = pid.expect("it says its own");
        let (code, found, json) =
            findings(clean(Command::new(HEAPWISE), &["doctor", "--pid", &pid, "--format", "json"]));
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
        assert_eq!(code, expected, "{json}");
        assert_eq!(found.iter().any(|(id, _)| id == "windows-debug-heap"), expected == 3, "{json}");
    }
}
