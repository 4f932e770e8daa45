//! Any bytes as a configuration file of an editor or a debugger. The first byte says which kind.

#![no_main]

use heapwise_doctor::{Places, survey_file};
use heapwise_environment::facts::System;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const NAMES: &[&str] = &[
    ".vscode/launch.json",
    ".vscode/settings.json",
    "a.code-workspace",
    ".run/a.run.xml",
    "a.vcxproj.user",
    ".zed/debug.json",
    ".lldbinit",
    "a.xcscheme",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let name = Path::new(NAMES[usize::from(*first) % NAMES.len()]);
    // A folder that does not exist: files that a configuration names are not read.
    let places = Places::only("/nowhere/project", System::Windows);
    let survey = survey_file(name, bytes, &places);
    for proposal in &survey.proposals {
        assert_eq!(proposal.finding.fixable, proposal.fix.is_some());
        assert!(
            !proposal.finding.title.contains(|c: char| c.is_control()),
            "a message controls the terminal"
        );
    }
    let edits = survey.edits();
    assert!(edits.len() <= 1, "there is one file");
    if let Some(edit) = edits.first() {
        assert_eq!(edit.before, bytes);
        assert!(!edit.diff("a file").is_empty());
        let again = survey_file(name, &edit.after, &places);
        assert_eq!(again.refused, [], "an edit never breaks a file");
        // A setting for CodeLLDB is a sign that it is used, so there may be a launch more.
        assert!(again.launches.len() >= survey.launches.len());
        assert_eq!(again.edits(), [], "an edit is made once");
    }
});
