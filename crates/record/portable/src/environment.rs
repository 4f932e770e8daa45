//! What the environment asks for, on every system.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// Names the file of a recording of the whole program; `%p` in it is the process id.
pub const RECORD_TO: &str = "HEAPWISE_RECORD_TO";
/// At most how many bytes lie between two recorded blocks in such a recording.
const RECORD_EVERY: &str = "HEAPWISE_RECORD_EVERY";

/// A recording that the environment asks for.
#[derive(Debug)]
pub struct Wanted {
    /// The file.
    pub path: PathBuf,
    /// At most so many bytes lie between two recorded blocks; `None` for what is usual on the system. An error if the variable is no number.
    pub sample_bytes: io::Result<Option<u64>>,
}

/// What it asks for. Whether it can be trusted is for the caller to know.
pub fn wanted() -> Option<Wanted> {
    from(std::env::var_os(RECORD_TO), std::env::var_os(RECORD_EVERY))
}

fn from(path: Option<OsString>, every: Option<OsString>) -> Option<Wanted> {
    let path = path.filter(|path| !path.is_empty())?;
    let path = match path.to_str() {
        Some(text) => PathBuf::from(text.replace("%p", &std::process::id().to_string())),
        None => PathBuf::from(path),
    };
    let every = every.filter(|every| !every.is_empty());
    Some(Wanted { path, sample_bytes: every.as_deref().map(bytes).transpose() })
}

fn bytes(text: &OsStr) -> io::Result<u64> {
    let wrong = || io::Error::other(format!("{RECORD_EVERY} is {text:?} and not a number of bytes"));
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_distance() {
        let wanted = |path: &str, every: Option<&str>| from(Some(path.into()), every.map(Into::into));
        let id = std::process::id();
        let full = wanted("a.%p.hw", Some("4096")).expect("a file is named");
        assert_eq!(full.path, PathBuf::from(format!("a.{id}.hw")));
        assert_eq!(full.sample_bytes.expect("a number"), Some(4096));
        for usual in [None, Some("")] {
            assert_eq!(wanted("a.hw", usual).expect("a file is named").sample_bytes.expect("none"), None);
        }
        let wrong =
            wanted("a.hw", Some("4\nk")).expect("a file is named").sample_bytes.expect_err("no number");
        assert_eq!(wrong.to_string(), "HEAPWISE_RECORD_EVERY is \"4\\nk\" and not a number of bytes");
        assert!(wanted("", Some("1")).is_none() && from(None, None).is_none());
    }
}
