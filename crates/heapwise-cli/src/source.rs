//! Lines of source files of this machine, for the report.
//!
//! A recording may come from somebody else, and its paths may be anything. So only ordinary files of a moderate size with
//! the ending of a source file are read. A file that changed after the recording began has other lines by now: a wrong
//! line would be worse than none.

use heapwise_report::Sources;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

const ENDINGS: [&str; 9] = ["rs", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "inc"];
const MOST_BYTES: u64 = 4 << 20;

/// Lines of files that are as old as a recording that began then.
pub(crate) fn of_files(started_unix_ns: u64) -> Sources {
    let files: Mutex<HashMap<String, Option<String>>> = Mutex::default();
    Sources::new(move |path, number| {
        let mut files = files.lock().ok()?;
        let text = files.entry(path.to_owned()).or_insert_with(|| read(Path::new(path), started_unix_ns));
        text.as_ref()?.lines().nth(usize::try_from(number.checked_sub(1)?).ok()?).map(str::to_owned)
    })
}

fn read(path: &Path, started_unix_ns: u64) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let about = std::fs::metadata(path).ok()?;
    let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    let fit = ENDINGS.contains(&ending) && path.is_absolute() && about.is_file() && about.len() <= MOST_BYTES;
    (fit && about.modified().ok()? <= began).then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unchanged_source_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for name in ["a.rs", "secret"] {
            std::fs::write(file(name), "first\n  second\n").expect("it can be written");
        }
        let later = SystemTime::now() + Duration::from_secs(60);
        let later = later.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        let sources = of_files(later);
        assert_eq!(sources.line(&file("a.rs"), 2).as_deref(), Some("second"));
        assert_eq!([sources.line(&file("a.rs"), 3), sources.line(&file("a.rs"), 0)], [None, None]);
        assert_eq!([sources.line(&file("secret"), 1), sources.line(&file("none.rs"), 1)], [None, None]);
        assert_eq!(sources.line("/dev/zero", 1), None);
        assert_eq!(of_files(1).line(&file("a.rs"), 1), None, "it changed since");
    }
}
