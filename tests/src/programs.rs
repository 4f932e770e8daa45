//! Real programs that tests record.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Set it where not all programs can be installed: tests whose program is missing then do nothing.
pub const SKIP: &str = "HEAPWISE_SKIP_MISSING";

/// Path of a program.
///
/// `None` if it is missing and [`SKIP`] is set. Otherwise a missing program makes the test fail: a test that silently
/// does nothing proves nothing.
pub fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        let skip = std::env::var_os(SKIP).is_some_and(|value| value == "1");
        assert!(skip, "{name} is not installed: install it, or set {SKIP}=1 to skip the tests that need it");
        eprintln!("SKIPPED: {name} is not installed");
    }
    found
}

/// Path of a shared library that may be preloaded; the rules for a missing one are those of [`find`].
pub fn library(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let found = folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
    if found.is_none() {
        let skip = std::env::var_os(SKIP).is_some_and(|value| value == "1");
        assert!(skip, "{name} is not installed: install it, or set {SKIP}=1 to skip the tests that need it");
        eprintln!("SKIPPED: {name} is not installed");
    }
    found
}

/// Path of the Python interpreter itself; `python3` may be a script that looks for it.
pub fn python() -> Option<PathBuf> {
    let python = find("python3")?;
    let output = Command::new(python).args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.expect("python3 can be started");
    Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Path of a Python interpreter with the packages of `tests/python/requirements.txt`, which `cargo xtask test` installs; the rules for a
/// missing one are those of [`find`].
pub fn python_with_packages() -> Option<PathBuf> {
    let python = crate::folders::target_folder().join("python/bin/python3");
    if python.with_file_name("../installed.txt").exists() {
        return Some(python);
    }
    let skip = std::env::var_os(SKIP).is_some_and(|value| value == "1");
    assert!(
        skip,
        "{} lacks packages: `cargo xtask test` installs them, {SKIP}=1 skips the tests",
        python.display()
    );
    eprintln!("SKIPPED: {} lacks packages", python.display());
    None
}

/// Path of a tool of the Rust toolchain itself; `rustc` may be a program that chooses one.
pub fn rust_tool(name: &str) -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc can be started");
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Path::new(&sysroot).join("bin").join(name)
}

/// Whether the tests run as root: only root may mount file systems and change its user id.
pub fn is_root() -> bool {
    // SAFETY: no arguments; returns a number.
    unsafe { libc::geteuid() == 0 }
}
