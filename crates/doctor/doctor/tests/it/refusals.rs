//! Files that are left alone because of what they are.

use heapwise_doctor::{Places, Survey, survey};
use heapwise_environment::facts::System;
use std::fs;
use std::path::Path;

fn look(folder: &Path) -> Survey {
    survey(&Places::only(folder, System::Windows))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    fs::create_dir(folder.path().join(".vscode")).expect("can be made");
    folder
}

const LAUNCH: &str = r#"{"configurations": [{"type": "lldb", "request": "launch", "name": "n"}]}"#;

#[test]
fn a_huge_file_is_not_read() {
    let folder = folder();
    let file = folder.path().join(".vscode/launch.json");
    fs::write(&file, format!("{LAUNCH}{}", " ".repeat(8 << 20))).expect("can be written");
    let survey = look(folder.path());
    assert_eq!(survey.edits(), []);
    assert!(survey.refused[0].why.contains("8 MiB"), "{:?}", survey.refused);
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let folder = folder();
    let file = folder.path().join(".vscode/launch.json");
    fs::write(&file, "[".repeat(1 << 20)).expect("can be written");
    assert_eq!(look(folder.path()).refused.len(), 1);
    fs::write(&file, format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20))).expect("can be written");
    assert_eq!(look(folder.path()).refused.len(), 1);
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_folder_and_stay_links() {
    use std::os::unix::fs::symlink;
    let (folder, other) = (folder(), tempfile::tempdir().expect("there is room"));
    let outside = other.path().join("launch.json");
    fs::write(&outside, LAUNCH).expect("can be written");
    let link = folder.path().join(".vscode/launch.json");
    symlink(&outside, &link).expect("can be made");
    let survey = look(folder.path());
    assert_eq!(survey.edits(), []);
    assert!(survey.refused[0].why.contains("outside"), "{:?}", survey.refused);

    fs::remove_file(&link).expect("is there");
    let inside = folder.path().join("common.json");
    fs::write(&inside, LAUNCH).expect("can be written");
    symlink("../common.json", &link).expect("can be made");
    let edits = look(folder.path()).edits();
    edits[0].apply().expect("nothing is in the way");
    assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
    assert!(fs::read_to_string(&inside).expect("is there").contains("_NO_DEBUG_HEAP"));
    assert_eq!(look(folder.path()).edits(), []);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let folder = folder();
    let pipe = folder.path().join(".vscode/launch.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo");
    assert!(made.success());
    let survey = look(folder.path());
    assert!(survey.refused[0].why.contains("regular"), "{:?}", survey.refused);
}

#[test]
fn names_in_files_cannot_control_a_terminal() {
    let folder = folder();
    let file = folder.path().join(".vscode/launch.json");
    fs::write(file, LAUNCH.replace("\"n\"", "\"\\u001b[2J\\u202e\"")).expect("can be written");
    let survey = look(folder.path());
    let harmful = |text: &str| text.contains(['\u{1b}', '\u{202e}']);
    assert!(!harmful(&survey.launches[0].name));
    assert!(!harmful(&survey.proposals[0].finding.title));
}

#[test]
fn a_value_that_is_not_cut_out_for_certain_is_named_and_left() {
    let folder = folder();
    let line = "settings set target.env-vars _NO_DEBUG_HEAP=x\"set target.env-vars _NO_DEBUG_HEAP=1\n";
    fs::write(folder.path().join(".lldbinit"), line).expect("can be written");
    let survey = look(folder.path());
    assert_eq!(survey.edits(), []);
    assert_eq!(survey.proposals[0].finding.check, "no-debug-heap-value");
}
