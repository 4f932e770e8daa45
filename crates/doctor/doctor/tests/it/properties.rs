//! For any layout of a file: nothing outside of the edit changes, and the edit has its intended effect.

use heapwise_doctor::{Answer, Edit, Places, Survey, survey_file};
use heapwise_environment::facts::System;
use proptest::prelude::*;
use std::path::Path;

fn look(name: &str, bytes: &[u8]) -> Survey {
    survey_file(Path::new(name), bytes, &Places::only("project", System::Windows))
}

/// Whether a text comes from another one by insertions alone.
fn is_subsequence(before: &[u8], after: &[u8]) -> bool {
    let mut rest = after.iter();
    before.iter().all(|byte| rest.any(|other| other == byte))
}

/// What is between tokens: blanks, line ends and comments.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(" ".to_owned()),
        2 => Just("\t".to_owned()),
        4 => Just("\n".to_owned()),
        1 => "[ -)+-.0-~é😀,{}\"]{0,8}".prop_map(|text| format!("//{text}\n")),
        1 => "[ -)+-.0-~é😀,{}\"\n]{0,8}".prop_map(|text| format!("/*{text}*/")),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// A launch.json with some configurations and these gaps between its parts.
fn launch_json(gaps: &[String], trailing: bool, has_env: bool, mark: bool, crlf: bool) -> Vec<u8> {
    let mut gaps = gaps.iter().cycle();
    let mut text = String::new();
    let comma = if trailing { "," } else { "" };
    let env = ["\"env\"", ":", "{", "\"A\"", ":", "\"x, // }\"", comma, "}", ","];
    let env = if has_env { &env[..] } else { &[] };
    let one = ["{", "\"name\"", ":", "\"n\"", ",", "\"type\"", ":", "\"lldb\"", ","];
    let end = ["\"request\"", ":", "\"launch\"", comma, "}"];
    let head = ["{", "\"configurations\"", ":", "["];
    let tail = [comma, "]", comma, "}"];
    let configuration = || one.iter().chain(env).chain(&end);
    let tokens = head.iter().chain(configuration()).chain(&[","]).chain(configuration()).chain(&tail);
    for token in tokens {
        text.push_str(token);
        text.push_str(gaps.next().expect("there are some"));
    }
    let text = if crlf { text.replace('\n', "\r\n") } else { text };
    let mark: &[u8] = if mark { b"\xef\xbb\xbf" } else { b"" };
    [mark, text.as_bytes()].concat()
}

/// Files of real shape, and what they are called.
const REAL: &[(&str, &str)] = &[
    (".vscode/launch.json", "codelldb-generated/dot-vscode/launch.json.before"),
    (".vscode/launch.json", "windows-programs/dot-vscode/launch.json.before"),
    (".vscode/launch.json", "mistakes/dot-vscode/launch.json.before"),
    (".vscode/settings.json", "rust-analyzer/dot-vscode/settings.json.before"),
    ("a.code-workspace", "multi-root/all.code-workspace.before"),
    (".idea/workspace.xml", "jetbrains/dot-idea/workspace.xml.before"),
    ("a.vcxproj.user", "visual-studio/old.vcxproj.user.before"),
    (".zed/debug.json", "zed/dot-zed/debug.json.before"),
    (".lldbinit", "mistakes/dot-lldbinit.before"),
    ("a.xcscheme", "xcode/App.xcodeproj/xcshareddata/xcschemes/App.xcscheme.before"),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_of_json_only_inserts_and_works(
        gaps in prop::collection::vec(gap(), 1..20),
        trailing: bool, has_env: bool, mark: bool, crlf: bool,
    ) {
        let name = ".vscode/launch.json";
        let before = launch_json(&gaps, trailing, has_env, mark, crlf);
        let survey = look(name, &before);
        prop_assert_eq!(&survey.refused, &[]);
        prop_assert_eq!(survey.launches.iter().filter(|l| l.debug_heap.answer == Answer::Yes).count(), 2);
        let edits = survey.edits();
        prop_assert_eq!(edits.len(), 1);
        let Edit { after, .. } = &edits[0];
        prop_assert!(is_subsequence(&before, after), "{}", String::from_utf8_lossy(after));
        let again = look(name, after);
        prop_assert_eq!(&again.refused, &[], "{}", String::from_utf8_lossy(after));
        prop_assert_eq!(again.launches.iter().filter(|l| l.debug_heap.answer == Answer::No).count(), 2);
        prop_assert_eq!(again.edits(), vec![]);
        // Line ends stay of one kind.
        if crlf && before.contains(&b'\n') {
            let bare = after.windows(2).filter(|w| w[1] == b'\n' && w[0] != b'\r').count();
            prop_assert_eq!(bare, 0);
        }
    }

    #[test]
    fn an_edit_of_xml_changes_the_environment_alone(
        blanks in prop::collection::vec("[ \t\n]{0,3}|\n *<!-- [a-z<&>\"]{0,8} -->", 6),
        form in 0..4, mark: bool, crlf: bool,
    ) {
        let [a, b, c, d, e, f] = &blanks[..] else { unreachable!("there are six") };
        let envs = match form {
            0 => String::new(),
            1 => format!("<envs />{c}"),
            2 => format!("<envs>{c}</envs>{d}"),
            _ => format!("<envs>{c}<env name='A' value=\"&lt;1&gt;\"/>{d}</envs>{e}"),
        };
        let text = format!(
            "<?xml version=\"1.0\"?>\n<component name=\"x\">{a}<configuration name=\"n\" type=\"CargoCommandRunConfiguration\">{b}\
            <option name=\"command\" value=\"run\"/>{c}{envs}<method v=\"2\"/>{e}</configuration>{f}</component>"
        );
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let mark: &[u8] = if mark { b"\xef\xbb\xbf" } else { b"" };
        let before = [mark, text.as_bytes()].concat();
        let name = ".run/n.run.xml";
        let survey = look(name, &before);
        prop_assert_eq!(&survey.refused, &[]);
        let edits = survey.edits();
        prop_assert_eq!(edits.len(), 1);
        let Edit { after, .. } = &edits[0];
        // `<envs />` loses its slash, and nothing else of the file is lost.
        let kept = text.replace("<envs />", "<envs>");
        prop_assert!(is_subsequence(kept.as_bytes(), after), "{}", String::from_utf8_lossy(after));
        let again = look(name, after);
        prop_assert_eq!(&again.refused, &[], "{}", String::from_utf8_lossy(after));
        prop_assert_eq!(again.launches[0].debug_heap.answer, Answer::No);
        prop_assert_eq!(again.edits(), vec![]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in [".vscode/launch.json", ".idea/workspace.xml", "a.vcxproj.user", ".lldbinit"] {
            look(name, &bytes);
        }
    }

    #[test]
    fn files_of_real_shape_stay_whole_whatever_is_done_to_them(
        which in 0..REAL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3, any::<prop::sample::Index>()), 0..6),
    ) {
        let (name, file) = REAL[which];
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(file);
        let mut bytes = std::fs::read(file).expect("is there");
        for (at, what, other) in changes {
            let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
            match what {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, bytes[other]),
                _ => drop(bytes.splice(at..at, bytes[other..(other + 40).min(bytes.len())].to_vec())),
            }
        }
        let survey = look(name, &bytes);
        for edit in survey.edits() {
            prop_assert_eq!(&edit.before, &bytes);
            let again = look(name, &edit.after);
            let after = || String::from_utf8_lossy(&edit.after).into_owned();
            prop_assert_eq!(&again.refused, &[], "{}", after());
            // A setting for CodeLLDB is a sign that it is used, so there may be a launch more.
            prop_assert!(again.launches.len() >= survey.launches.len());
            prop_assert_eq!(again.edits(), vec![], "{}", after());
        }
    }

    #[test]
    fn a_cut_or_changed_file_never_does_harm(cut in 0..2000_usize, at in 0..2000_usize, byte: u8) {
        let whole = launch_json(&["\n  ".to_owned()], true, true, false, false);
        let mut bytes = whole[..cut.min(whole.len())].to_vec();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        let survey = look(".vscode/launch.json", &bytes);
        for edit in survey.edits() {
            prop_assert_eq!(look(".vscode/launch.json", &edit.after).refused, vec![]);
        }
    }
}
