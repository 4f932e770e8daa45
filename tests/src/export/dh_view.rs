//! The viewer of valgrind's DHAT, run by node.

use crate::{programs, run};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What the viewer adds up, and what it shows.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Viewed {
    pub total_bytes: u64,
    pub total_blocks: u64,
    pub lifetimes: u64,
    pub peak_bytes: u64,
    pub peak_blocks: u64,
    pub end_bytes: u64,
    pub end_blocks: u64,
    /// All of its text, by total bytes.
    pub shown: String,
}

/// Loads a file into the viewer; `None` if there is no viewer and the test may be skipped.
///
/// # Panics
/// If the viewer refuses the file.
pub fn view(file: &Path, folder: &Path) -> Option<Viewed> {
    let (node, viewer) = (programs::find("node")?, viewer()?);
    let script = folder.join("dh_view.js");
    std::fs::write(&script, include_str!("dh_view.js")).expect("a file can be written");
    let mut command = run::command(node, folder);
    let outcome = run::finish(command.arg(script).arg(viewer).arg(file), folder, "dh_view");
    assert_eq!(outcome.code(), 0, "the viewer refuses {}: {}", file.display(), outcome.stderr);
    Some(serde_json::from_slice(&outcome.stdout).expect("the script prints JSON"))
}

/// It lies next to valgrind's other files, whose folder depends on the distribution.
fn viewer() -> Option<PathBuf> {
    let valgrind = programs::find("valgrind")?;
    let prefix = valgrind.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    let folders = ["libexec/valgrind", "lib/valgrind", "lib/x86_64-linux-gnu/valgrind", "lib64/valgrind"];
    let found = folders.iter().map(|f| prefix.join(f).join("dh_view.js")).find(|path| path.is_file());
    assert!(found.is_some(), "valgrind is there without its viewer dh_view.js");
    found
}
