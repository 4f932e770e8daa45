//! The three ways to start a program, as an experiment uses them.

use heapwise_doctor::launch::{Condition, ErrorKind, Launch};

#[test]
#[cfg(not(windows))]
fn elsewhere_there_is_nothing_to_start_without() {
    let error = Launch::new(["true"], Condition::Plain).run().expect_err("this is not Windows");
    assert_eq!(error.kind(), ErrorKind::NotWindows);
}

/// A program that prints more than fits into a pipe, on both: this one, with one test only.
#[test]
#[cfg(windows)]
fn talkative() {
    if std::env::var_os("HEAPWISE_TEST_INNER").is_some() {
        for line in 0..3000 {
            println!("out {line} of many");
            eprintln!("error {line} of many");
        }
        std::process::exit(5);
    }
}

#[test]
#[cfg(windows)]
fn output_and_exit_code_are_kept_in_each_condition() {
    for condition in [Condition::Plain, Condition::Debugged, Condition::DebuggedWithVariable] {
        let mut command =
            std::process::Command::new(std::env::current_exe().expect("a test knows its own file"));
        command.args(["--exact", "talkative", "--nocapture"]).env("HEAPWISE_TEST_INNER", "1");
        let outcome = heapwise_doctor::launch::output_of(&mut command, condition).expect("it runs");
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(" of many").count();
        assert_eq!(
            (outcome.code, lines(&outcome.stdout), lines(&outcome.stderr)),
            (5, 3000, 3000),
            "{condition:?}"
        );
    }
}

#[test]
#[cfg(windows)]
fn only_a_debugger_without_the_variable_needs_the_emulation() {
    let wine = heapwise_environment::facts::windows::wine_version();
    let emulated = |launch: Launch| launch.capture().run().expect("cmd.exe runs").emulated_by;
    let command = ["cmd", "/d", "/c", "exit"];
    assert_eq!(emulated(Launch::new(command, Condition::Debugged)), wine);
    assert_eq!(emulated(Launch::new(command, Condition::DebuggedWithVariable)), None);
    assert_eq!(emulated(Launch::new(command, Condition::Plain)), None);
    assert_eq!(emulated(Launch::without_debug_heap(command)), None);
}

#[test]
#[cfg(windows)]
fn a_prepared_command_keeps_its_own_environment() {
    let value = |own: &str, condition| {
        let mut command = std::process::Command::new("cmd");
        command.args(["/d", "/c", "echo %_NO_DEBUG_HEAP%"]).env("_no_debug_heap", own);
        let outcome = heapwise_doctor::launch::output_of(&mut command, condition).expect("cmd.exe runs");
        (String::from_utf8_lossy(&outcome.stdout).trim().to_owned(), outcome.emulated_by)
    };
    let wine = heapwise_environment::facts::windows::wine_version();
    assert_eq!(value("2", Condition::Debugged), ("2".to_owned(), None));
    assert_eq!(value("0", Condition::Debugged), ("0".to_owned(), wine));
    assert_eq!(value("0", Condition::DebuggedWithVariable), ("1".to_owned(), None));
}

#[test]
#[cfg(windows)]
fn what_cannot_be_started_is_distinguished() {
    let kind =
        |command: &[&str]| Launch::new(command, Condition::Debugged).run().expect_err("it fails").kind();
    assert_eq!(kind(&["no such program"]), ErrorKind::NoSuchProgram);
    assert_eq!(kind(&[]), ErrorKind::Failed);
}
