//! The text files of the workspace, in memory: the rules are tried on small trees that exist nowhere else.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Text files by their path from the root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    /// Paths of files that are no text, such as pictures.
    others: BTreeSet<String>,
}

impl Tree {
    /// Reads what git has, or would have if everything were added. Without git, reads all but what is built.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut paths = tracked(root).unwrap_or_default();
        if paths.is_empty() {
            walk(root, "", &mut paths)?;
        }
        let mut tree = Self::default();
        for path in paths {
            // Files that were deleted and not yet committed are listed, and some files are no text.
            match std::fs::read(root.join(&path)).map(String::from_utf8) {
                Ok(Ok(text)) => _ = tree.files.insert(path, text),
                Ok(Err(_)) => _ = tree.others.insert(path),
                Err(_) => {}
            }
        }
        Ok(tree)
    }

    /// Path and text of all files.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Path and text of the files with one of these extensions.
    pub(super) fn with_extension<'a>(
        &'a self,
        extensions: &'a [&str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.all().filter(|(path, _)| {
            extensions.iter().any(|e| Path::new(path).extension().is_some_and(|x| x == *e))
        })
    }

    /// The text of a file.
    pub(super) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a file or a folder of this path, whatever is in it.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let mut paths = self.files.keys().chain(&self.others);
        paths.any(|file| file == path || file.starts_with(&folder))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        Self { files, others: BTreeSet::new() }
    }
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(listing).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.status.success().then_some(output.stdout)?).ok()?;
    Some(text.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    let here = root.join(folder);
    for entry in std::fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !root.join(&path).is_dir() {
            paths.push(path);
        } else if name != "target" && name != ".git" {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

/// Whether a path is one of these: a file, or below a folder that is written with a slash at its end.
pub(super) fn is_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_what_is_built_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/lib.rs", "target/debug/made.rs", "src/deep/er.rs"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "text").unwrap();
        }
        std::fs::write(folder.path().join("binary"), [0xff, 0xfe]).unwrap();
        let mut paths = Vec::new();
        walk(folder.path(), "", &mut paths).unwrap();
        paths.sort();
        assert_eq!(paths, ["binary", "src/deep/er.rs", "src/lib.rs"]);
        let tree = Tree::read(folder.path()).unwrap();
        assert_eq!(tree.all().map(|(path, _)| path).collect::<Vec<_>>(), ["src/deep/er.rs", "src/lib.rs"]);
        assert!(["binary", "src", "src/deep", "src/lib.rs"].iter().all(|path| tree.has(path)));
        assert!(["", "sr", "src/", "target", "src/lib"].iter().all(|path| !tree.has(path)));
    }

    #[test]
    fn a_place_is_a_file_or_a_folder() {
        assert!(is_in("a/b.rs", &["a/"]) && is_in("a/b.rs", &["a/b.rs"]));
        assert!(!is_in("a/b.rs", &["a"]) && !is_in("ab/c.rs", &["a/"]));
    }
}
