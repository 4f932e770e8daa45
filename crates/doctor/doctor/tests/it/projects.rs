//! Each folder of `tests/files` is a project; see the README there.

use heapwise_doctor::{Places, Survey, survey};
use heapwise_environment::facts::System;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of a project, in which files have their real names.
struct Project {
    origin: PathBuf,
    copy: tempfile::TempDir,
    /// For each file its real path and that in `tests/files`, without `.before`.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Project {
    fn new(name: &str) -> Self {
        let origin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
        let copy = tempfile::tempdir().expect("there is room");
        let mut files = Vec::new();
        collect(&origin, &mut |file| {
            let Some(stem) = file.to_str().and_then(|name| name.strip_suffix(".before")) else { return };
            let relative = Path::new(stem).strip_prefix(&origin).expect("is below");
            let real: PathBuf = relative
                .components()
                .map(|part| part.as_os_str().to_str().expect("is ASCII").replacen("dot-", ".", 1))
                .collect();
            let real = copy.path().join(real);
            fs::create_dir_all(real.parent().expect("has one")).expect("can be made");
            fs::copy(file, &real).expect("can be copied");
            files.push((real, PathBuf::from(stem)));
        });
        assert!(!files.is_empty(), "{name} has no files");
        Self { origin, copy, files }
    }

    fn survey(&self) -> Survey {
        survey(&Places::only(self.copy.path(), System::Windows))
    }

    /// All files of the copy.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut contents = BTreeMap::new();
        collect(self.copy.path(), &mut |file| {
            contents.insert(file.to_owned(), fs::read(file).expect("can be read"));
        });
        contents
    }
}

fn collect(folder: &Path, each: &mut impl FnMut(&Path)) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("is a folder").map(|e| e.expect("is one").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { collect(&entry, each) } else { each(&entry) }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A survey as text, with paths as they are in the project.
fn describe(survey: &Survey, root: &Path) -> String {
    let mut text = String::new();
    let short = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    for launch in &survey.launches {
        let (heap, file) = (&launch.debug_heap, short(&launch.file));
        let _ = writeln!(
            text,
            "{file}:{}: {}: {}\n    {}: {}",
            launch.line, launch.tool, launch.name, heap.answer, heap.why
        );
    }
    for proposal in &survey.proposals {
        let finding = &proposal.finding;
        assert_eq!(finding.fixable, proposal.fix.is_some());
        let fixable = if finding.fixable { ", can be fixed" } else { "" };
        let _ = writeln!(text, "\n{} ({}{fixable}): {}", finding.check, finding.severity.id(), finding.title);
        for line in &finding.evidence {
            let _ = writeln!(text, "    {line}");
        }
        let _ = writeln!(text, "    > {}", finding.remedy);
    }
    for refused in &survey.refused {
        let place = refused.line.zip(refused.column).map(|(line, column)| format!(":{line}:{column}"));
        let _ = writeln!(
            text,
            "\nrefused {}{}: {}",
            short(&refused.file),
            place.unwrap_or_default(),
            refused.why
        );
    }
    // Expectations have the slashes of Unix; nothing else in them is a backslash.
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

#[track_caller]
fn check(name: &str) {
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let project = Project::new(name);
    let root = project.copy.path();
    let before = project.contents();
    let survey = project.survey();
    assert_eq!(project.contents(), before, "looking changes nothing");

    let expected = project.origin.join("expected.txt");
    let found = describe(&survey, root);
    if update {
        fs::write(&expected, &found).expect("can be written");
    }
    assert_eq!(found, fs::read_to_string(&expected).expect("there is one"), "what is said about {name}");

    let edits = survey.edits();
    for edit in &edits {
        assert_eq!(before[&edit.file], edit.before, "an edit knows the whole file");
        let backup = edit.apply().expect("nothing is in the way");
        assert_eq!(fs::read(backup).expect("is there"), edit.before, "the backup is the file as it was");
    }
    for (real, stem) in &project.files {
        let bytes = fs::read(real).expect("is there");
        let after = with_suffix(stem, ".after");
        let is_changed = bytes != before[real];
        assert_eq!(is_changed, edits.iter().any(|edit| edit.file == *real));
        if update {
            match is_changed {
                true => fs::write(&after, &bytes).expect("can be written"),
                false => drop(fs::remove_file(&after)),
            }
        }
        assert_eq!(is_changed, after.exists(), "{}", real.display());
        if is_changed {
            let expected = fs::read(&after).expect("is there");
            let text = String::from_utf8_lossy;
            assert!(bytes == expected, "{}:\n{}\nand not\n{}", real.display(), text(&bytes), text(&expected));
        }
    }
    assert_eq!(project.contents().len(), before.len() + edits.len(), "besides backups, there is nothing new");

    // A second look has nothing more to do.
    let again = project.survey();
    assert_eq!(again.edits(), [], "{}", describe(&again, root));
    assert_eq!(again.refused, survey.refused);
    assert_eq!(again.launches.len(), survey.launches.len());
}

macro_rules! projects {
    ($($test:ident => $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn each_project_is_looked_at() {
            let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
            let folders = fs::read_dir(files).expect("is there").map(|e| e.expect("is one").path()).filter(|p| p.is_dir());
            let mut names: Vec<_> = folders.map(|p| p.file_name().expect("has one").to_str().expect("is ASCII").to_owned()).collect();
            names.sort();
            let mut known = vec![$($name),*];
            known.sort_unstable();
            assert_eq!(names, known);
        }
    };
}

projects! {
    what_codelldb_generates_is_fixed_in_each_configuration => "codelldb-generated",
    a_file_of_windows_keeps_its_mark_line_ends_and_tabs => "windows-programs",
    one_setting_helps_all_launches_and_rust_analyzer => "rust-analyzer",
    a_workspace_of_several_folders_is_read_as_one => "multi-root",
    values_that_do_nothing_are_corrected => "mistakes",
    run_configurations_of_jetbrains_are_fixed => "jetbrains",
    old_visual_studio_is_fixed_and_new_needs_nothing => "visual-studio",
    scenarios_of_zed_are_fixed => "zed",
    schemes_of_xcode_lose_what_slows_malloc => "xcode",
    lldb_24_is_not_talked_out_of_it => "lldb",
    what_is_malformed_is_refused_with_its_place => "malformed",
    sources_that_come_too_late_are_named => "late",
    what_is_right_stays_as_it_is => "clean",
}

#[test]
fn on_other_systems_the_same_is_said_in_a_lower_voice() {
    use heapwise_environment::Severity;
    let project = Project::new("codelldb-generated");
    let severities = |system| {
        let survey = survey(&Places::only(project.copy.path(), system));
        survey.proposals.iter().map(|p| p.finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(severities(System::Windows), [Severity::High; 3]);
    assert_eq!(severities(System::Linux), [Severity::Low; 3]);
    let xcode = Project::new("xcode");
    let on = |system| survey(&Places::only(xcode.copy.path(), system)).proposals[0].finding.severity;
    assert_eq!((on(System::MacOs), on(System::Linux)), (Severity::High, Severity::Low));
}

#[test]
fn each_proposal_stands_on_its_own_too() {
    for name in
        ["codelldb-generated", "windows-programs", "multi-root", "mistakes", "jetbrains", "visual-studio"]
    {
        let n = Project::new(name).survey().proposals.len();
        for one in 0..n {
            let project = Project::new(name);
            let survey = project.survey();
            let Some(fix) = &survey.proposals[one].fix else { continue };
            fix.edit().expect("it changes something").apply().expect("nothing is in the way");
            let left = project.survey();
            assert!(left.proposals.len() < n, "{name}: {}", survey.proposals[one].finding.title);
            assert_eq!(left.refused, survey.refused);
        }
    }
}
