//! Recordings that were made on Linux are read here. That their reports are the same, byte by byte, is compared by
//! `cargo xtask windows`, which can run both.

use crate::tool::{finish, heapwise};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../record/trace/tests/golden/v2.0.hw");

#[test]
fn a_recording_of_linux_is_reported_compared_and_exported() {
    let (code, output, errors) = finish(heapwise(&["report", GOLDEN, "--format", "json"]));
    let report: serde_json::Value = serde_json::from_str(&output).expect("it is JSON");
    assert_eq!((code, &report["totals"]["allocations"]), (0, &10.into()), "{errors}");
    let (code, output, _) = finish(heapwise(&["diff", GOLDEN, GOLDEN]));
    assert!(code == 0 && output.contains("TOTALS"), "{output}");
    let (code, output, _) = finish(heapwise(&["export", GOLDEN, "--to", "folded"]));
    assert!(code == 0 && output.lines().all(|line| line.rsplit_once(' ').is_some()), "{output}");
}

#[test]
fn the_command_line_describes_itself() {
    for shell in ["bash", "powershell"] {
        let (code, output, _) = finish(heapwise(&["completions", shell]));
        assert!(code == 0 && output.contains("launch"), "{shell}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(finish(heapwise(&["man", &folder.path().to_string_lossy()])).0, 0);
    assert!(folder.path().join("heapwise-launch.1").exists());
}
