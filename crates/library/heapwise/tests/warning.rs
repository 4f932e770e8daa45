//! The warning at the start of a real program, which has a variable that slows its heap.
//!
//! The program is this test itself: it starts itself again with one test only, in another environment.

use std::process::Command;

/// Set for the second process.
const INNER: &str = "HEAPWISE_TEST_INNER";

#[test]
fn warn() {
    if std::env::var_os(INNER).is_some() {
        heapwise::warn_at_start();
    }
}

fn said(variables: &[(&str, &str)]) -> String {
    let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
    again.args(["--exact", "warn", "--nocapture"]).env(INNER, "1").env_remove(heapwise::QUIET);
    let output = again.envs(variables.iter().copied()).output().expect("it can be started again");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stderr).expect("it is text");
    lines.lines().filter(|line| line.starts_with("heapwise: ")).collect::<Vec<_>>().join("\n")
}

#[test]
#[cfg(target_os = "linux")]
fn a_slow_heap_is_reported_in_one_line_unless_quiet_is_requested() {
    let slow = ("MALLOC_PERTURB_", "165");
    let warning = said(&[slow]);
    let is_it = warning.starts_with("heapwise: warning: ") && warning.contains("MALLOC_PERTURB_");
    assert!(is_it && warning.lines().count() == 1, "{warning}");
    assert_eq!(said(&[slow, (heapwise::QUIET, "1")]), "");
}

#[test]
fn a_usual_heap_is_no_news() {
    assert_eq!(said(&[]), "");
}
