//! Folders of files of benchmarks: one folder for each executable, in it one file for each benchmark.

use super::escape::escape;
use super::file::Bench;
use std::ffi::OsString;
use std::path::Path;

/// A benchmark, and the file that it was in.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) bench: Bench,
    /// Names of its folder and its file.
    pub(crate) place: [OsString; 2],
    /// What was in it.
    pub(crate) bytes: Vec<u8>,
}

impl Found {
    /// What tells benchmarks apart.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.bench.target, &self.bench.id)
    }
}

/// Reads all files, in the order of their names, and says which cannot be read, a line each. A folder that is not there has none.
pub(crate) fn read(folder: &Path) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut problems) = (Vec::<Found>::new(), Vec::new());
    for inner in names(folder) {
        for name in names(&folder.join(&inner)) {
            let path = folder.join(&inner).join(&name);
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match Bench::read(&path) {
                Ok((bench, bytes)) => found.push(Found { bench, place: [inner.clone(), name], bytes }),
                Err(error) => problems.push(format!("cannot read {}: {}", path.display(), escape(&error))),
            }
        }
    }
    found.sort_by(|a, b| a.key().cmp(&b.key()));
    found.dedup_by(|second, first| {
        let is_twice = second.key() == first.key();
        if is_twice {
            let [folder, name] = &second.place;
            let path = Path::new(folder).join(name);
            let id = escape(&first.bench.id).into_owned();
            problems.push(format!("two files are about benchmark {id}; {} is not regarded", path.display()));
        }
        is_twice
    });
    (found, problems)
}

/// What is in a folder, in order; names that begin with a dot are temporary files.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = entries.filter(|name| !name.as_encoded_bytes().starts_with(b".")).collect();
    names.sort();
    names
}
