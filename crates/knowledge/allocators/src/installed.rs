//! Libraries that the system has.

use std::path::{Path, PathBuf};

/// Where the loader finds the first of these files that is installed.
pub fn find_installed(files: &[&str]) -> Option<PathBuf> {
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = [multiarch.as_str(), "/usr/lib64", "/usr/lib", "/usr/local/lib"];
    let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed: Vec<PathBuf> = std::env::split_paths(&listed).filter(|f| f.is_absolute()).collect();
    let folders = || listed.iter().map(PathBuf::as_path).chain(folders.iter().map(Path::new));
    let fits = |path: &PathBuf| path.is_file() && is_fit(path);
    files.iter().find_map(|file| folders().map(|folder| folder.join(file)).find(fits))
}

/// Whether the loader takes this path for one.
pub(crate) fn is_fit(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().any(|b| b" \t\n:".contains(b))
}
