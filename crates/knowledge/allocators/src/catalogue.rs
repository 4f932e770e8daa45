//! The shelf as a list: what there is, and what it can be told.

use crate::identity::{Identity, IdentityError};
use crate::libraries::{Error, Libraries};
use crate::registry::{self, Allocator, Origin};
use crate::spec::Candidate;
use std::fmt::Write;

/// How a program gets an allocator, in words.
fn source(allocator: &dyn Allocator, libraries: &Libraries) -> String {
    let is_there = libraries.has(allocator);
    match allocator.origin() {
        Origin::Carried { source, .. } | Origin::OnRequest { source, .. } if is_there => {
            format!("carried by heapwise, built from {source}")
        }
        Origin::CLibrary if is_there => {
            "the C library's own, by a library of heapwise's that passes calls on".into()
        }
        Origin::Carried { .. } | Origin::CLibrary => "not there: this heapwise was built without it".into(),
        Origin::OnRequest { .. } => {
            format!("not there: this heapwise was built without it; {}", registry::request(allocator.name()))
        }
        Origin::Installed { files, .. } if is_there => {
            format!("installed with the system ({})", files.join(" or "))
        }
        Origin::Installed { package, .. } => {
            format!("not installed: on Debian and Ubuntu, apt-get install {package}")
        }
    }
}

/// For people: each allocator, and its settings with what they take.
pub fn catalogue_text(libraries: &Libraries) -> String {
    let mut text = String::new();
    for allocator in registry::all().iter().copied() {
        let line = format!("{} {}", allocator.name(), allocator.version());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}\n  {}", line.trim_end(), source(allocator, libraries));
        for setting in allocator.settings() {
            let _ = writeln!(text, "  {}: {} [default: {}]", setting.name, setting.range(), setting.default);
            let _ = writeln!(text, "      {}", setting.meaning);
        }
        text.push('\n');
    }
    text.push_str("Any other by its path; default is the program as it is.\n");
    text
}

/// The settings as tables of a document: docs/allocators.md has them.
pub fn settings_markdown() -> String {
    let mut text = String::new();
    for allocator in registry::all().iter().filter(|a| !a.settings().is_empty()) {
        let _ = writeln!(text, "### {}\n", allocator.name());
        text.push_str("| setting | what it does | values | default |\n|---|---|---|---|\n");
        for setting in allocator.settings() {
            let (name, meaning, range, default) =
                (setting.name, setting.meaning, setting.range(), setting.default);
            let _ = writeln!(text, "| `{name}` | {meaning} | {range} | {default} |");
        }
        text.push('\n');
    }
    text
}

/// What came of seeing whether a candidate is what it is called.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum CheckError {
    /// It could not be made ready.
    Prepare(#[from] Error),
    /// It is not.
    Identity(#[from] IdentityError),
}

/// A candidate, and what came of it.
pub type Check = (Candidate, Result<Identity, CheckError>);

/// Makes each candidate ready and asks who it is; those that fail do not keep the others from it.
pub fn check(libraries: &Libraries, candidates: &[Candidate], run: crate::Run<'_>) -> Vec<Check> {
    let one = |candidate: &Candidate| -> Result<Identity, CheckError> {
        Ok(crate::identify(&libraries.prepare(candidate)?, run)?)
    };
    candidates.iter().map(|c| (c.clone(), one(c))).collect()
}

/// One line for each that is what it is called. Others are errors, which the caller shows.
pub fn check_text(candidate: &Candidate, identity: &Identity) -> String {
    let name = identity.name.as_deref().unwrap_or("an allocator that does not say its name");
    let version = identity.version.as_deref().unwrap_or_default();
    let mut line = format!("{candidate}: {name} {version}");
    line.truncate(line.trim_end().len());
    for (setting, value) in &identity.settings {
        let _ = match value {
            Some(value) => write!(line, ", {setting} is {value}"),
            None => write!(line, ", {setting} is not told"),
        };
    }
    let _ = write!(line, "; {} bytes for 100", identity.usable_of_100);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_all_and_says_what_is_not_there() {
        let libraries = Libraries::new(&[("jemalloc", b"bytes")]);
        let text = catalogue_text(&libraries);
        assert!(text.contains("jemalloc 5.3.1\n  carried by heapwise, built from tikv-jemalloc-sys 0.7.1\n"));
        assert!(text.contains("snmalloc 0.7.6\n  not there: this heapwise was built without it\n"));
        let remedy = "built without it; build it again with HEAPWISE_WITH_ALLOCATORS=tcmalloc-google\n";
        assert!(text.contains(remedy), "{text}");
        let with = Libraries::new(&[("tcmalloc-google", b"bytes")]);
        assert!(catalogue_text(&with).contains("  carried by heapwise, built from libtcmalloc-sys 0.1.14\n"));
        assert!(text.contains("  dirty_decay_ms: a whole number from -1 to 86400000 ms [default: 10000]\n"));
    }

    #[test]
    fn the_document_has_the_settings_as_they_are() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/allocators.md");
        let document = std::fs::read_to_string(path).expect("the document");
        let (start, end) = ("<!-- settings -->\n\n", "<!-- end of settings -->");
        let before = document.find(start).expect("where they begin") + start.len();
        let after = document.find(end).expect("where they end");
        if document[before..after] != settings_markdown() {
            let renewed = format!("{}{}{}", &document[..before], settings_markdown(), &document[after..]);
            let renew = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
            assert!(renew, "docs/allocators.md has other settings: UPDATE_SNAPSHOTS=1 renews it");
            std::fs::write(path, renewed).expect("the document can be written");
        }
    }
}
