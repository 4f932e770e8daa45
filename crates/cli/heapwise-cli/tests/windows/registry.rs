//! Keys that `gflags` and heap tracing leave in the registry.

use crate::tool::{HEAPWISE, clean, findings, finish, heapwise, wine};
use std::path::PathBuf;
use std::process::Command;

const OPTIONS: &str = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options";

/// A copy of heapwise under another name, with a registry key for that name; both are removed when this is dropped.
struct Named {
    folder: tempfile::TempDir,
    name: String,
}

impl Named {
    /// `None` if this user may not write to the registry: only an administrator may, and under Wine every user is one.
    fn new(name: &str, values: &[(&str, &str, &str)]) -> Option<Self> {
        let name = format!("hw-{name}-{}.exe", std::process::id());
        let named = Self { folder: tempfile::tempdir().expect("a folder"), name };
        std::fs::copy(HEAPWISE, named.path()).expect("a program can be copied");
        let mut adds: Vec<Vec<&str>> = vec![vec![]];
        adds.extend(values.iter().map(|(value, kind, data)| vec!["/v", *value, "/t", *kind, "/d", *data]));
        for add in adds {
            let mut reg = Command::new("reg");
            let (code, ..) = finish({
                reg.arg("add").arg(named.key()).args(add).arg("/f");
                reg
            });
            if code != 0 {
                assert_eq!(wine(), None, "under Wine every user may write to the registry");
                eprintln!("SKIPPED: this user may not write to the registry");
                return None;
            }
        }
        Some(named)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    fn key(&self) -> String {
        format!(r"{OPTIONS}\{}", self.name)
    }

    /// What it finds out about itself.
    fn doctor(&self) -> (i32, Vec<(String, String)>, serde_json::Value) {
        findings(clean(Command::new(self.path()), &["doctor", "--format", "json"]))
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = Command::new("reg").arg("delete").arg(self.key()).arg("/f").output();
    }
}

fn ids(found: &[(String, String)]) -> Vec<&str> {
    found.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn a_leftover_global_flag_is_found_and_its_remedy_works() {
    let Some(named) = Named::new("flag", &[("GlobalFlag", "REG_DWORD", "0x70")]) else { return };
    let (code, found, json) = named.doctor();
    assert_eq!((code, ids(&found)), (3, vec!["windows-debug-heap"]), "{json}");
    let finding = &json["findings"][0];
    assert!(finding["evidence"].to_string().contains("GlobalFlag=0x70"), "{json}");

    // From outside, before it is started.
    let path = named.path();
    let command = heapwise(&["doctor", "--format", "json", "--", &path.to_string_lossy()]);
    let (code, found, json) = findings(command);
    assert_eq!((code, ids(&found)), (3, vec!["windows-debug-heap"]), "{json}");

    // The remedy, word by word.
    let remedy = finding["remedy"].as_str().expect("there is one");
    let line = remedy.split_once("reg delete ").expect("it is a command").1;
    let script = named.folder.path().join("fix.bat");
    std::fs::write(&script, format!("reg delete {line}\r\n")).expect("a file");
    let (code, output, errors) = finish({
        let mut cmd = Command::new("cmd");
        cmd.arg("/c").arg(&script);
        cmd
    });
    assert_eq!(code, 0, "{line}: {output}{errors}");

    // The key is still there: worth a note, since debuggers now behave in an unexpected way.
    let (code, found, json) = named.doctor();
    assert_eq!(
        (code, found),
        (0, vec![("image-file-execution-options".to_owned(), "note".to_owned())]),
        "{json}"
    );
}

#[test]
fn page_heap_and_the_verifier_have_findings_of_their_own() {
    let values = [("GlobalFlag", "REG_SZ", "0x02000100"), ("VerifierDlls", "REG_SZ", "vrfcore.dll")];
    let Some(named) = Named::new("verifier", &values) else { return };
    // It is not started: the real verifier would stop it.
    let path = named.path();
    let (code, found, json) =
        findings(heapwise(&["doctor", "--format", "json", "--", &path.to_string_lossy()]));
    let expected = vec!["windows-page-heap", "windows-application-verifier"];
    assert_eq!((code, ids(&found)), (3, expected), "{json}");
    assert!(json["findings"][1]["evidence"].to_string().contains("vrfcore.dll"), "{json}");
}

#[test]
fn heap_tracing_that_was_left_on_is_found() {
    let Some(named) = Named::new("tracing", &[("TracingFlags", "REG_DWORD", "1")]) else { return };
    let (code, found, json) = named.doctor();
    let expected = vec![("image-file-execution-options".to_owned(), "medium".to_owned())];
    assert_eq!((code, found), (3, expected), "{json}");
}

#[test]
fn a_key_keeps_a_debugger_from_giving_the_debug_heap() {
    let Some(named) = Named::new("key", &[]) else { return };
    let path = named.path();
    let command =
        heapwise(&["launch", "--debugged", "--", &path.to_string_lossy(), "doctor", "--format", "json"]);
    let (code, found, json) = findings(command);
    assert_eq!((code, ids(&found)), (0, vec!["image-file-execution-options"]), "{json}");
}
