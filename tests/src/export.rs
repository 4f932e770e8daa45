//! Exports, read by their readers: each format by the program that it is made for.

pub mod dh_view;
pub mod firefox;
pub mod hostile;
pub mod pprof;

use crate::run::{self, Outcome};
use crate::tool::heapwise;
use std::path::{Path, PathBuf};

pub fn export(recording: &Path, arguments: &[&str], folder: &Path) -> Outcome {
    let mut command = run::command(heapwise(), folder);
    command.arg("export").arg(recording).args(arguments);
    run::finish(&mut command, folder, "export")
}

/// An export in a file.
///
/// # Panics
/// If it fails or says anything.
pub fn exported(recording: &Path, arguments: &[&str], folder: &Path) -> PathBuf {
    let path = folder.join(format!("export.{}", arguments.join("-").replace('/', "_")));
    let mut all = arguments.to_vec();
    let out = path.to_string_lossy().into_owned();
    // The same export may be asked for again.
    all.extend(["--force", "-o", &out]);
    let outcome = export(recording, &all, folder);
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, ""), "{}", outcome.stderr);
    path
}
