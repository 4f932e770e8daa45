//! The program `heapwise`, which does what there is to do with recordings.

use crate::{Failure, exit};
use anyhow::anyhow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names it.
pub(crate) const VARIABLE: &str = "HEAPWISE";

/// Its path: from the variable, from the folder of this program, or from `PATH`.
pub(crate) fn heapwise() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().ok();
    let found = find(
        std::env::var_os(VARIABLE).as_deref(),
        own.as_deref().and_then(Path::parent),
        std::env::var_os("PATH").as_deref(),
    );
    // The program may be started in another folder.
    let found = found.and_then(|path| std::path::absolute(path).map_err(|error| error.to_string()));
    found.map_err(|error| Failure::new(exit::NO_SUCH_PROGRAM, anyhow!(error)))
}

fn find(variable: Option<&OsStr>, beside: Option<&Path>, path: Option<&OsStr>) -> Result<PathBuf, String> {
    if let Some(given) = variable.filter(|given| !given.is_empty()) {
        let given = PathBuf::from(given);
        return if given.is_file() {
            Ok(given)
        } else {
            Err(format!(
                "{VARIABLE} names {}, and there is no such file; unset it, or name the program heapwise",
                given.display()
            ))
        };
    }
    let beside = beside.map(|folder| folder.join(format!("heapwise{}", std::env::consts::EXE_SUFFIX)));
    beside.filter(|path| path.is_file()).or_else(|| in_path("heapwise", path)).ok_or_else(|| {
        format!(
            "there is no program heapwise beside cargo-heapwise or in PATH; install it (cargo install --path \
             crates/cli/heapwise-cli, in heapwise's sources), or set {VARIABLE} to its path"
        )
    })
}

/// Finds a program in `PATH`, as a shell does.
pub(crate) fn in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let mut candidates =
        std::env::split_paths(path?).filter(|f| !f.as_os_str().is_empty()).map(|f| f.join(&name));
    candidates.find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_first_then_what_is_beside_then_the_path() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
        let programs =
            folders.each_ref().map(|f| f.path().join(format!("heapwise{}", std::env::consts::EXE_SUFFIX)));
        let [beside, path] = folders.each_ref().map(|folder| folder.path());
        let find = |variable: Option<&Path>| {
            find(variable.map(Path::as_os_str), Some(beside), Some(path.as_os_str()))
        };
        assert!(find(None).expect_err("nothing").contains("cargo install"));
        std::fs::write(&programs[1], "").expect("a file");
        assert_eq!(find(None).as_deref(), Ok(programs[1].as_path()));
        std::fs::write(&programs[0], "").expect("a file");
        assert_eq!(find(None).as_deref(), Ok(programs[0].as_path()));
        assert_eq!(find(Some(&programs[1])).as_deref(), Ok(programs[1].as_path()));
        assert!(
            find(Some(Path::new("/no/such"))).expect_err("nothing").starts_with("HEAPWISE names /no/such")
        );
    }
}
