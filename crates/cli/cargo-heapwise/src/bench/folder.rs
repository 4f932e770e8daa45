//! Folders of files of benchmarks: one folder for each executable, in it one file for each benchmark.

use super::file::Bench;
use heapwise_report::escape::terminal::escape;
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
    /// What distinguishes benchmarks.
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
                Err(error) => problems.push(format!("cannot read {}: {error}", path.display())),
            }
        }
    }
    found.sort_by(|a, b| a.key().cmp(&b.key()));
    found.dedup_by(|second, first| {
        let is_twice = second.key() == first.key();
        if is_twice {
            let [folder, name] = &second.place;
            let path = Path::new(folder).join(name);
            let id = &first.bench.id;
            problems.push(format!("two files are about benchmark {id}; {} is ignored", path.display()));
        }
        is_twice
    });
    // Names of files and of benchmarks are not trusted.
    (found, problems.iter().map(|problem| escape(problem).into_owned()).collect())
}

/// What is in a folder, in order; names that begin with a dot are temporary files.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = entries.filter(|name| !name.as_encoded_bytes().starts_with(b".")).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::super::file::testing::bench;
    use super::*;
    use std::fs;

    #[test]
    fn what_cannot_be_read_or_is_there_twice_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |place: &str, text: &[u8]| {
            let path = folder.path().join(place);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let text = |id| serde_json::to_vec(&bench("t", id, [1, 1, 1])).expect("JSON");
        write("t/b.json", &text("b"));
        write("t/a.json", &text("a"));
        write("t/z.json", &text("a\u{1b}"));
        write("t/zz.json", &text("a\u{1b}"));
        write("t/.temporary.json", b"half");
        write("t/notes.txt", b"");
        write("file.json", b"");
        write("t/c\u{1b}.json", b"");
        fs::create_dir_all(folder.path().join("t/folder.json")).expect("a folder");
        let (found, problems) = read(folder.path());
        assert_eq!(
            found.iter().map(|found| found.bench.id.as_str()).collect::<Vec<_>>(),
            ["a", "a\u{1b}", "b"]
        );
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("c\\u{1b}.json: it is damaged"), "{problems:?}");
        assert!(problems[1].contains("folder.json: it is not a file"), "{problems:?}");
        assert!(problems[2].starts_with("two files are about benchmark a\\u{1b}; t/zz.json"), "{problems:?}");
        assert!(read(Path::new("/no/such/folder")).0.is_empty());
    }
}
