//! A user's files outside of the project: settings and `.lldbinit`, on three systems.

use heapwise_doctor::{Answer, Places, Survey, survey};
use heapwise_environment::facts::System;
use std::fs;
use std::path::Path;

struct Home {
    project: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("there is room");
        Self { project: folder(), home: folder() }
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("has one")).expect("can be made");
        fs::write(file, text).expect("can be written");
    }

    fn look(&self, system: System) -> Survey {
        let mut places = Places::only(self.project.path(), system);
        places.home = Some(self.home.path().to_owned());
        survey(&places)
    }
}

const LAUNCH: &str = r#"{"configurations": [{"type": "lldb", "request": "launch", "name": "n"}]}"#;
const PLACES: [(System, &str); 3] = [
    (System::Windows, "AppData/Roaming"),
    (System::MacOs, "Library/Application Support"),
    (System::Linux, ".config"),
];

#[test]
fn a_users_settings_reach_every_project() {
    for (system, place) in PLACES {
        for editor in ["Code", "Code - Insiders", "VSCodium"] {
            let home = Home::new();
            Home::write(home.project.path(), ".vscode/launch.json", LAUNCH);
            assert_eq!(home.look(system).launches[0].debug_heap.answer, Answer::Yes);
            let settings = format!("{place}/{editor}/User/settings.json");
            Home::write(home.home.path(), &settings, r#"{"lldb.launch.env": {"_NO_DEBUG_HEAP": "1"}}"#);
            let survey = home.look(system);
            assert_eq!(survey.launches[0].debug_heap.answer, Answer::No, "{system:?} {editor}");
            assert_eq!(survey.proposals, []);
        }
    }
}

#[test]
fn a_project_is_stronger_than_its_user() {
    let home = Home::new();
    Home::write(
        home.home.path(),
        ".config/Code/User/settings.json",
        r#"{"lldb.launch.env": {"_NO_DEBUG_HEAP": "1"}}"#,
    );
    Home::write(home.project.path(), ".vscode/launch.json", LAUNCH);
    Home::write(
        home.project.path(),
        ".vscode/settings.json",
        r#"{"lldb.launch.env": {"_NO_DEBUG_HEAP": "no"}}"#,
    );
    let survey = home.look(System::Linux);
    assert_eq!(survey.launches[0].debug_heap.answer, Answer::Yes);
    assert_eq!(survey.proposals.len(), 1, "{:#?}", survey.proposals);
    assert_eq!(survey.proposals[0].finding.check, "no-debug-heap-value");
    survey.edits()[0].apply().expect("nothing is in the way");
    assert_eq!(home.look(System::Linux).proposals, []);
}

#[test]
fn what_belongs_to_the_user_is_only_changed_on_windows() {
    for (system, place) in PLACES {
        let home = Home::new();
        Home::write(
            home.home.path(),
            &format!("{place}/Code/User/settings.json"),
            "{\n  \"rust-analyzer.checkOnSave\": true\n}\n",
        );
        Home::write(home.home.path(), ".lldbinit", "settings set target.x86-disassembly-flavor intel");
        let survey = home.look(system);
        assert_eq!(survey.launches.len(), 2);
        let expected = if system == System::Windows { 2 } else { 0 };
        assert_eq!(survey.edits().len(), expected, "{system:?}");
        for edit in survey.edits() {
            edit.apply().expect("nothing is in the way");
        }
        assert_eq!(home.look(system).edits(), []);
        if system == System::Windows {
            let lldbinit = fs::read_to_string(home.home.path().join(".lldbinit")).expect("is there");
            let added = "settings append target.env-vars _NO_DEBUG_HEAP=1\n";
            assert_eq!(lldbinit, format!("settings set target.x86-disassembly-flavor intel\n{added}"));
        }
    }
}

#[test]
fn what_editors_inherit_counts_by_the_same_rule() {
    let home = Home::new();
    Home::write(home.project.path(), ".vscode/launch.json", LAUNCH);
    let with = |value: &str| {
        let mut places = Places::only(home.project.path(), System::Windows);
        places.inherited = Some(value.to_owned());
        survey(&places).launches[0].debug_heap.answer
    };
    assert_eq!(with("1"), Answer::No);
    assert_eq!(with("true"), Answer::Yes);
}

#[test]
fn a_home_that_is_the_project_is_read_once() {
    let home = Home::new();
    Home::write(home.home.path(), ".lldbinit", "env _NO_DEBUG_HEAP=1\n");
    Home::write(home.home.path(), "sub/file", "");
    for folder in [home.home.path().to_owned(), home.home.path().join("sub/..")] {
        let mut places = Places::only(folder, System::Linux);
        places.home = Some(home.home.path().to_owned());
        assert_eq!(survey(&places).launches.len(), 1);
    }
}

#[test]
fn what_is_installed_decides_what_rust_analyzer_starts() {
    let home = Home::new();
    Home::write(home.project.path(), ".vscode/settings.json", "{\"rust-analyzer.checkOnSave\": true}");
    let answer = |system| home.look(system).launches[0].debug_heap.answer;
    assert_eq!(answer(System::Windows), Answer::Yes, "nothing is known");
    let extensions = home.home.path().join(".vscode/extensions");
    Home::write(&extensions, "ms-vscode.cpptools-extension-pack-1.3.0/package.json", "{}");
    assert_eq!(answer(System::Windows), Answer::Yes, "a pack has no debugger");
    Home::write(&extensions, "ms-vscode.cpptools-1.22.11-win32-x64/package.json", "{}");
    assert_eq!(answer(System::Windows), Answer::No);
    assert_eq!(answer(System::Linux), Answer::Yes, "what is installed here says nothing about Windows");
    Home::write(&extensions, "vadimcn.vscode-lldb-1.11.4/package.json", "{}");
    assert_eq!(answer(System::Windows), Answer::Yes);
}

#[test]
fn a_guess_changes_nothing_on_other_systems() {
    let home = Home::new();
    Home::write(home.project.path(), ".vscode/settings.json", "{\"rust-analyzer.checkOnSave\": true}");
    let survey = home.look(System::Linux);
    assert_eq!(survey.edits(), []);
    assert_eq!(survey.proposals[0].finding.severity, heapwise_environment::Severity::Note);
    assert_eq!(home.look(System::Windows).edits().len(), 1);
    Home::write(home.project.path(), ".vscode/launch.json", LAUNCH);
    assert_eq!(home.look(System::Linux).edits().len(), 1, "a launch is no guess");
}
