//! The registry as a list for machines and for a document, and whether candidates are what they are called.

use crate::identity::{Identity, IdentityError};
use crate::libraries::{Error, Libraries};
use crate::registry::{self, Allocator, Origin};
use crate::spec::Candidate;
use std::fmt::Write;

/// How a program gets an allocator, in words.
pub fn source(allocator: &dyn Allocator, libraries: &Libraries) -> String {
    let is_there = libraries.has(allocator);
    match allocator.origin() {
        Origin::Bundled { source, .. } | Origin::OnRequest { source, .. } if is_there => {
            format!("bundled with heapwise, built from {source}")
        }
        Origin::CLibrary if is_there => {
            "the C library's own, by a library of heapwise's that passes calls on".into()
        }
        Origin::Bundled { .. } | Origin::CLibrary => "not there: this heapwise was built without it".into(),
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

/// The result of checking whether a candidate is what it is called.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum CheckError {
    /// It could not be made ready.
    Prepare(#[from] Error),
    Identity(#[from] IdentityError),
}

/// A candidate and the result of its check.
pub type Check = (Candidate, Result<Identity, CheckError>);

/// Prepares and identifies each candidate; the failure of one does not stop the others.
pub fn check(libraries: &Libraries, candidates: &[Candidate], run: crate::Run<'_>) -> Vec<Check> {
    let one = |candidate: &Candidate| -> Result<Identity, CheckError> {
        Ok(crate::identify(&libraries.prepare(candidate)?, run)?)
    };
    candidates.iter().map(|c| (c.clone(), one(c))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
