//! Paths of the sources, and of what cargo builds.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The folder of this crate.
pub fn tests_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the whole project.
pub fn workspace() -> PathBuf {
    let here = tests_folder();
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// The folder of the profile that the tests were built with: `target/debug`, say.
///
/// Test executables lie in its subfolder `deps`. Cargo passes the paths of programs of its own package to a test, and no others.
pub fn profile_folder() -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own file");
    let deps = exe.parent().expect("a file lies in a folder");
    if deps.ends_with("deps") { deps.parent().unwrap_or(deps).to_path_buf() } else { deps.to_path_buf() }
}

/// The name of that profile as cargo's option `--profile` knows it.
pub fn profile_name() -> String {
    let folder = profile_folder();
    match folder.file_name().and_then(|n| n.to_str()) {
        Some("debug") | None => "dev".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// The folder above, into which cargo builds everything.
pub fn target_folder() -> PathBuf {
    let profile = profile_folder();
    profile.parent().unwrap_or(&profile).to_path_buf()
}

/// Lets only one process or thread at a time do what `name` stands for, until the returned file is dropped.
pub fn exclusively(name: &str) -> File {
    let folder = target_folder().join("victims");
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    let path = folder.join(format!(".{name}.lock"));
    let file = File::create(&path).unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()));
    file.lock().unwrap_or_else(|e| panic!("cannot lock {}: {e}", path.display()));
    file
}
