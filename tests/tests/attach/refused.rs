//! Processes to which heapwise does not attach: it says why, and they go on.

use super::process::{BUSY, FILTERED, detached, ended, started};
use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::{programs, run};
use std::path::Path;

/// What heapwise says that does not attach.
fn refused(pid: i32, folder: &Path) -> String {
    let recording = Recording::new(folder);
    let outcome = run::finish(&mut recording.attach_command(pid), folder, "refused");
    assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(!recording.file().exists(), "nothing is left of it");
    outcome.stderr
}

#[test]
fn each_refusal_says_why_and_the_process_goes_on() {
    let folder = run::private_folder();
    assert!(refused(i32::MAX - 1, folder.path()).contains("there is no such process"));
    assert!(refused(std::process::id() as i32, folder.path()).contains("have started it"));
    let program = compile_text("cc", &[], BUSY, folder.path(), "busy");
    // Recorded by another one.
    let running = started(&program, &["1"], folder.path());
    let other = run::private_folder();
    let recording = Recording::new(other.path());
    let attached = recording.attach(running.pid());
    assert!(refused(running.pid(), folder.path()).contains("records it already"));
    detached(&recording, attached);
    assert_eq!(ended(running).code(), 5);
    if !programs::is_root() {
        eprintln!("SKIPPED: only root reads filters of system calls");
        return;
    }
    let filtered = compile_text("cc", &[], FILTERED, folder.path(), "filtered");
    let forbidden = libc::SYS_mremap.to_string();
    let running = started(&filtered, &[&forbidden], folder.path());
    assert!(refused(running.pid(), folder.path()).contains("does not allow mremap"));
    assert_eq!(ended(running).code(), 128 + libc::SIGTERM);
    // It sleeps for a millisecond at a time, and does not sleep longer for having been stopped.
    let harmless = libc::SYS_ptrace.to_string();
    let running = started(&filtered, &[&harmless], folder.path());
    let recording = Recording::new(folder.path()).with(&["--duration", "100ms"]);
    let recorded = recording.wait(recording.attach(running.pid()));
    assert!(recorded.report().totals.allocations > 10, "{}", recorded.outcome.stderr);
    assert_eq!(ended(running).code(), 128 + libc::SIGTERM);
}
