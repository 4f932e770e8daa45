//! The expected reports, in files next to the tests.

/// Compares with a file's content, or writes it if `UPDATE_SNAPSHOTS` is set.
#[track_caller]
pub(crate) fn compare(actual: &str, file: &str, expected: &str) {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let path = format!("{}/tests/it/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, actual).expect("the source folder is writable");
        return;
    }
    assert_eq!(actual, expected, "\n{actual}\nIf this is right, run again with UPDATE_SNAPSHOTS=1.");
}
