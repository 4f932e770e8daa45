//! Baselines: copies of benchmarks' files under a name.
//!
//! A baseline is replaced as a whole if all benchmarks ran, so that it forgets benchmarks that no longer exist. If only some were
//! chosen, the others stay as they are. In both cases the new folder is built under a temporary name and then renamed: a baseline
//! is never half written.

use super::folder::{self, Found};
use crate::{Failure, exit};
use anyhow::{Context, anyhow};
use heapwise_report::escape::terminal::escape;
use std::path::Path;

/// Names longer than this are refused by file systems.
const LONGEST: usize = 200;

/// A name that is a folder's, on every system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    /// Reads a name, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
        let is_edge = |c: char| c == '.' || c == '-';
        if text.is_empty()
            || text.len() > LONGEST
            || !text.chars().all(is_plain)
            || text.starts_with(is_edge)
            || text.ends_with('.')
        {
            return Err(format!(
                "invalid name of a baseline {:?}: use letters, digits, `_`, `-`, `.` and `+`, such as main or v1.2",
                escape(text)
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Reads a baseline, all of it: what cannot be read could be what became worse.
pub(crate) fn load(folder: &Path, name: &Name) -> Result<Vec<Found>, Failure> {
    let unreadable = |error| Failure::new(exit::UNREADABLE, error);
    let own = folder.join(name.text());
    let (found, problems) = folder::read(&own);
    if let Some(problem) = problems.into_iter().next() {
        let name = name.text();
        return Err(unreadable(anyhow!("{problem}; make the baseline again with --save-baseline {name}")));
    }
    if found.is_empty() {
        let others = others(folder);
        let others = if others.is_empty() { "no other".to_owned() } else { others.join(", ") };
        return Err(unreadable(anyhow!(
            "there is no baseline {0} in {1} ({others} is there); make it with `cargo heapwise bench --save-baseline {0}`",
            name.text(),
            folder.display()
        )));
    }
    Ok(found)
}

/// Names of baselines that there are.
fn others(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| Name::parse(&entry.file_name().to_string_lossy()).ok())
        .map(|name| name.0)
        .collect();
    names.sort();
    names
}

/// Keeps benchmarks as a baseline: in place of all that it had, or only of those that were measured again.
pub(crate) fn save(folder: &Path, name: &Name, new: &[Found], is_all: bool) -> Result<(), Failure> {
    let own = folder.join(name.text());
    let kept = if is_all { Vec::new() } else { folder::read(&own).0 };
    let kept = kept.iter().filter(|old| new.iter().all(|found| found.key() != old.key()));
    let context = || format!("cannot write the baseline {}", own.display());
    std::fs::create_dir_all(folder).with_context(context)?;
    let made = tempfile::Builder::new().prefix(".new-").tempdir_in(folder).with_context(context)?;
    for Found { place: [inner, file], bytes, .. } in kept.chain(new) {
        let inner = made.path().join(inner);
        std::fs::create_dir_all(&inner)
            .and_then(|()| std::fs::write(inner.join(file), bytes))
            .with_context(context)?;
    }
    // A folder cannot be renamed onto a non-empty one, so the old one is renamed first.
    let aside = tempfile::Builder::new().prefix(".old-").tempdir_in(folder).with_context(context)?;
    if own.exists() {
        std::fs::rename(&own, aside.path().join("old")).with_context(context)?;
    }
    std::fs::rename(made.keep(), &own).with_context(context)?;
    readable(&own).with_context(context)?;
    Ok(())
}

/// Temporary folders are readable by one user only; a baseline has the permissions of other files below the target folder.
fn readable(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let parent = folder.parent().map(std::fs::metadata).transpose()?;
        let mode = parent.map_or(0o755, |parent| parent.permissions().mode());
        std::fs::set_permissions(folder, PermissionsExt::from_mode(mode & 0o777))?;
    }
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::file::testing::bench;
    use super::*;

    fn found(id: &str, bytes: u64) -> Found {
        let bench = bench("t", id, [1, bytes, bytes]);
        let bytes = serde_json::to_vec(&bench).expect("JSON");
        Found { bench, place: ["t".into(), format!("{id}.json").into()], bytes }
    }

    fn ids(folder: &Path, name: &Name) -> Vec<(String, u64)> {
        let all = load(folder, name).expect("a baseline");
        all.iter().map(|found| (found.bench.id.clone(), found.bench.min.allocated_bytes)).collect()
    }

    #[test]
    fn names_stay_below_the_folder() {
        for name in ["main", "v1.2", "a_b-c+d", "0"] {
            assert_eq!(Name::parse(name).as_ref().map(Name::text), Ok(name));
        }
        let long = "x".repeat(201);
        for name in
            ["", ".", "..", "a/b", "../a", "a\\b", "a b", "-x", ".x", "x.", "\u{e4}", "a\n", "a\0", &long]
        {
            assert!(Name::parse(name).expect_err("no name").contains("invalid name of a baseline"), "{name}");
        }
    }

    #[test]
    fn a_baseline_is_replaced_as_a_whole_or_only_where_it_was_measured_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (folder, name) = (folder.path().join("new/baseline"), Name::parse("main").expect("a name"));
        save(&folder, &name, &[found("a", 1), found("b", 2)], true).expect("saved");
        assert_eq!(ids(&folder, &name), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        save(&folder, &name, &[found("b", 3)], false).expect("saved");
        assert_eq!(ids(&folder, &name), [("a".to_owned(), 1), ("b".to_owned(), 3)]);
        save(&folder, &name, &[found("b", 4)], true).expect("saved");
        assert_eq!(ids(&folder, &name), [("b".to_owned(), 4)]);
        let left: Vec<_> =
            std::fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["main"], "nothing temporary is left");
    }

    #[test]
    fn what_is_missing_or_damaged_is_unreadable() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = Name::parse("main").expect("a name");
        let failure = load(folder.path(), &name).expect_err("nothing");
        assert_eq!(failure.code, exit::UNREADABLE);
        assert!(failure.error.to_string().contains("no other is there"), "{}", failure.error);
        save(folder.path(), &Name::parse("old").expect("a name"), &[found("a", 1)], true).expect("saved");
        assert!(
            load(folder.path(), &name).expect_err("nothing").error.to_string().contains("(old is there)")
        );
        save(folder.path(), &name, &[found("a", 1)], true).expect("saved");
        std::fs::write(folder.path().join("main/t/a.json"), "{\"schema\": \"heapwise.bench/9\"}")
            .expect("a file");
        let failure = load(folder.path(), &name).expect_err("too new");
        assert_eq!(failure.code, exit::UNREADABLE);
        assert!(failure.error.to_string().contains("belong together"), "{}", failure.error);
    }
}
