//! The shelf as a list for machines and for a document, and whether candidates are what they are called.

use crate::identity::{Identity, IdentityError};
use crate::libraries::{Error, Libraries};
use crate::registry::{self, Allocator, Origin};
use crate::setting::{Kind, Setting};
use crate::spec::Candidate;
use serde_json::{Value, json};
use std::fmt::Write;

/// The name and version of the JSON that [`catalogue_json`] and [`check_json`] make.
pub const SCHEMA: &str = "heapwise.allocators/1";

/// How a program gets an allocator, in words.
pub fn source(allocator: &dyn Allocator, libraries: &Libraries) -> String {
    let is_there = libraries.has(allocator);
    match allocator.origin() {
        Origin::Carried { source } | Origin::OnRequest { source } if is_there => {
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

fn setting_json(setting: &Setting) -> Value {
    let (kind, range) = match setting.kind {
        Kind::Switch => ("switch", json!({})),
        Kind::Number { least, most, unit } => {
            ("number", json!({"least": least, "most": most, "unit": unit.suffix()}))
        }
        Kind::Choice(words) => ("choice", json!({"words": words})),
    };
    json!({
        "name": setting.name, "meaning": setting.meaning, "kind": kind, "range": range, "default": setting.default,
        "is_time": setting.is_time(), "worth_trying": setting.worth_trying,
    })
}

/// The same for machines.
pub fn catalogue_json(libraries: &Libraries) -> String {
    let one = |allocator: &&'static dyn Allocator| {
        let (origin, is_carried) = match allocator.origin() {
            Origin::Carried { source } => (source, true),
            Origin::OnRequest { source } => (source, libraries.has(*allocator)),
            Origin::CLibrary => ("the C library", true),
            Origin::Installed { .. } => ("installed", false),
        };
        json!({
            "name": allocator.name(), "version": allocator.version(), "is_there": libraries.has(*allocator),
            "is_carried": is_carried, "source": origin,
            "settings": allocator.settings().iter().map(setting_json).collect::<Vec<_>>(),
        })
    };
    let all: Vec<_> = registry::all().iter().map(one).collect();
    format!("{:#}\n", json!({"schema": SCHEMA, "allocators": all}))
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
pub fn check(libraries: &Libraries, candidates: &[Candidate]) -> Vec<Check> {
    let one = |candidate: &Candidate| -> Result<Identity, CheckError> {
        Ok(crate::identify(&libraries.prepare(candidate)?)?)
    };
    candidates.iter().map(|c| (c.clone(), one(c))).collect()
}

/// The checks for machines.
pub fn check_json(checks: &[Check]) -> String {
    let one = |(candidate, result): &Check| match result {
        Ok(identity) => json!({
            "candidate": candidate.to_string(), "name": identity.name, "version": identity.version,
            "object": identity.object, "usable_of_100": identity.usable_of_100, "rss_bytes": identity.rss_bytes,
            "settings": identity.settings, "error": null,
        }),
        Err(error) => json!({"candidate": candidate.to_string(), "error": error.to_string()}),
    };
    format!("{:#}\n", json!({"schema": SCHEMA, "checks": checks.iter().map(one).collect::<Vec<_>>()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_all_and_says_what_is_not_there() {
        let libraries = Libraries::new(&[("jemalloc", b"bytes")]);
        let json: Value = serde_json::from_str(&catalogue_json(&libraries)).expect("JSON");
        assert_eq!(json["schema"], SCHEMA);
        let all = json["allocators"].as_array().expect("a list");
        assert_eq!(all.len(), registry::all().len());
        let jemalloc = all.iter().find(|a| a["name"] == "jemalloc").expect("it is there");
        assert_eq!(jemalloc["is_there"], true);
        let google = all.iter().find(|a| a["name"] == "tcmalloc-google").expect("it is listed");
        assert_eq!((&google["is_there"], &google["is_carried"]), (&json!(false), &json!(false)));
        assert_eq!(jemalloc["settings"][1]["range"]["most"], 86_400_000);
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

    #[test]
    fn one_that_fails_is_told_beside_the_others() {
        let candidates = Candidate::parse_list("mimalloc,/none/such.so").expect("a list");
        let checks = check(&Libraries::new(&[]), &candidates);
        assert_eq!(checks.len(), 2);
        let json: Value = serde_json::from_str(&check_json(&checks)).expect("JSON");
        assert!(json["checks"][0]["error"].as_str().expect("an error").contains("built without mimalloc"));
        assert!(json["checks"][1]["error"].as_str().expect("an error").contains("cannot read"));
    }
}
