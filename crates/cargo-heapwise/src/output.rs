//! Files that results go to.

use crate::Failure;
use anyhow::Context;
use std::fs::OpenOptions;
use std::path::Path;

/// Sees that there will be a place for a result, before the work of minutes whose result it is. What is there stays as it is. Pipes
/// and devices are not opened: that would wait for a reader.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Ok(());
    }
    let context = || format!("cannot write {}", path.display());
    let is_new = path.symlink_metadata().is_err();
    OpenOptions::new().write(true).create(true).truncate(false).open(path).with_context(context)?;
    if is_new {
        // It is made again when there is something to be written; without that it would only be left behind.
        std::fs::remove_file(path).with_context(context)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_not_is_not_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result");
        check(&path).expect("a place");
        assert!(!path.exists());
        std::fs::write(&path, "old").expect("a file");
        check(&path).expect("a place");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "old");
        for nowhere in [folder.path(), &folder.path().join("no/such"), &path.join("below")] {
            let failure = check(nowhere).expect_err("no place");
            assert!(failure.error.to_string().starts_with("cannot write "), "{}", failure.error);
        }
    }
}
