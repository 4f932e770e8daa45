//! The files of a project: near ones first, without what is built or downloaded, and with an end.

use crate::source::Refused;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that were found, and what kept others from being found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Regular files, and links to files, in the order of their depth and name.
    pub(crate) files: Vec<PathBuf>,
    /// Reported once if there was too much.
    pub(crate) refused: Option<Refused>,
}

/// Folders that hold what others wrote or machines made.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "target",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".cache",
    ".cargo-home",
    "DerivedData",
    "Pods",
];

/// More than large projects have; a home folder may have more.
const MOST_ENTRIES: usize = 200_000;
/// Deeper than sources usually are.
const DEEPEST: usize = 24;

/// Looks into a folder and those below it. Links to folders are not followed.
pub(crate) fn walk(folder: &Path) -> Walk {
    limited(folder, MOST_ENTRIES)
}

fn limited(folder: &Path, most: usize) -> Walk {
    let mut walk = Walk::default();
    let mut entries = 0;
    let mut folders = VecDeque::from([(folder.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop_front() {
        // A folder that cannot be read is skipped.
        let Ok(list) = fs::read_dir(&folder) else { continue };
        let mut list: Vec<_> = list.flatten().take(most - entries + 1).collect();
        list.sort_by_key(fs::DirEntry::file_name);
        for entry in list {
            entries += 1;
            if entries > most {
                let why = format!("has more than {most} files: the deepest ones were not examined");
                walk.refused = Some(Refused { file: folder, line: None, column: None, why });
                return walk;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
                // Cache folders have this file: <https://bford.info/cachedir/>.
                if !is_skipped && depth < DEEPEST && !path.join("CACHEDIR.TAG").exists() {
                    folders.push_back((path, depth + 1));
                }
            } else if kind.is_file() || (kind.is_symlink() && !path.is_dir()) {
                walk.files.push(path);
            } else if !kind.is_symlink() {
                // A pipe under the name of a configuration is refused by the tool that reads that kind of file.
                walk.files.push(path);
            }
        }
    }
    walk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_skipped_and_the_end_is_said() {
        let root = tempfile::tempdir().expect("there is room");
        for file in
            ["a/b/c.rs", "z.rs", "target/x.rs", "node_modules/y/z.rs", ".git/config", "cache/deep/x.rs"]
        {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("has one")).expect("can be made");
            fs::write(file, "").expect("can be written");
        }
        fs::write(root.path().join("cache/CACHEDIR.TAG"), "").expect("can be written");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), root.path().join("a/loop")).expect("can be made");
        let walk = super::walk(root.path());
        let names: Vec<_> =
            walk.files.iter().map(|f| f.strip_prefix(root.path()).expect("is below")).collect();
        assert_eq!(names, [Path::new("z.rs"), Path::new("a/b/c.rs")]);
        assert!(walk.refused.is_none());
        assert!(limited(root.path(), 3).refused.is_some_and(|r| r.why.contains("more than 3")));
    }
}
