//! Names of recordings below the target folder.

use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};

/// More recordings of one program than a folder is expected to have.
const MOST: u32 = 100_000;

/// The first unused name for a recording of a program: `<program>.<number>.hw`, such that the name of its report is unused, too.
pub(crate) fn free(folder: &Path, executable: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = executable.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut candidates = (1..=MOST).map(|number| folder.join(format!("{name}.{number}.hw")));
    candidates
        .find(|path| !path.exists() && !path.with_extension("html").exists())
        .ok_or_else(|| anyhow!("{} is full of recordings of {name}; remove them", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_numbered() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("new folder");
        let next = || free(&below, Path::new("/x/my program")).expect("a name");
        assert_eq!(next(), below.join("my program.1.hw"));
        std::fs::write(next(), "").expect("a file");
        std::fs::write(next().with_extension("html"), "").expect("a file");
        assert_eq!(next(), below.join("my program.3.hw"));
    }
}
