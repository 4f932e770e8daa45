//! A program's exit code is passed on, and heapwise's own are those of docs/exit-codes.md.

use crate::tool::{INNER, finish, heapwise, program};

fn code(arguments: &[&str]) -> i32 {
    finish(heapwise(arguments)).0
}

#[test]
fn the_programs_own_code_is_passed_on_whole() {
    for how in [&["launch"][..], &["launch", "--debugged"], &["run"]] {
        for program in [0, 77, 0x1_2345, -1_073_741_819] {
            let exit = format!("exit {program}");
            let arguments = [how, &["--", "cmd", "/c", &exit]].concat();
            assert_eq!(code(&arguments), program, "{arguments:?}");
        }
    }
}

/// How the test program ends if it does this, with and without a debugger.
fn ends(what: &str) -> [(i32, String); 2] {
    [&["launch"][..], &["launch", "--debugged"]].map(|how| {
        let mut command = heapwise(how);
        command.arg("--").args(program()).env(INNER, what);
        let (code, output, _) = finish(command);
        (code, output)
    })
}

#[test]
fn a_crash_ends_a_program_under_our_debugger_as_without() {
    const ACCESS_VIOLATION: i32 = 0xC000_0005_u32 as i32;
    for (code, output) in ends("crash") {
        assert_eq!(code, ACCESS_VIOLATION, "{output}");
    }
}

#[test]
fn exceptions_stay_the_programs_own_under_our_debugger() {
    // A panic is an exception to Windows, and the test program catches it.
    for (code, output) in ends("panic") {
        assert!(
            code == 101 && output.contains("test result: FAILED. 0 passed; 1 failed"),
            "{code}: {output}"
        );
    }
}

#[test]
fn a_program_that_does_not_exist_is_distinguished() {
    for how in [&["launch"][..], &["launch", "--debugged"], &["run"]] {
        assert_eq!(code(&[how, &["--", "no such program"]].concat()), 127);
    }
}

#[test]
fn run_says_that_nothing_is_recorded_and_sets_the_variable() {
    let (found, output, errors) =
        finish(heapwise(&["run", "-o", "x.hw", "--", "cmd", "/c", "echo [%_NO_DEBUG_HEAP%]"]));
    assert_eq!((found, output.trim()), (0, "[1]"), "{errors}");
    let lines: Vec<_> = errors.lines().filter(|line| line.starts_with("heapwise: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("recording is for Linux"), "{errors}");
    assert!(!std::path::Path::new("x.hw").exists());
}

#[test]
fn errors_have_the_documented_codes() {
    assert_eq!(code(&["launch"]), 2);
    assert_eq!(code(&["report", "no such file"]), 4);
    assert_eq!(code(&["doctor", "--pid", "4294967280"]), 1);
    assert_eq!(code(&["doctor", "--", "no such program"]), 127);
}
