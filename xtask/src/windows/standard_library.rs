//! The standard library for Windows: rustup's, or one that is built here once.
//!
//! Where rustup cannot fetch a target, the sources of the standard library may still be had, from a distribution for
//! instance. It is built with cargo's `-Zbuild-std`, which a stable compiler takes with `RUSTC_BOOTSTRAP=1`, and put into a
//! folder that is then given as `--sysroot`. What is tested is built as ever.

use super::{TARGET, quietly, rust_src, rustup};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for `--sysroot`; `None` if the compiler has the target itself.
pub(super) fn prepare(folder: &Path, may_install: bool) -> Result<Option<PathBuf>> {
    if has_target() {
        return Ok(None);
    }
    if may_install && rustup(&["target", "add", TARGET]) && has_target() {
        return Ok(None);
    }
    let version = quietly(Command::new("rustc").arg("--version").current_dir(crate::cargo::root()))?;
    let version = version.split(' ').nth(1).context("rustc does not say its version")?.to_owned();
    let sysroot = folder.join(format!("sysroot-{version}"));
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    if !libraries.exists() {
        let source = rust_src::find(&version, folder, may_install)?;
        build(&source, folder, &libraries)?;
    }
    Ok(Some(sysroot))
}

/// Whether the compiler has the target's standard library.
fn has_target() -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(crate::cargo::root());
    let Ok(folder) = quietly(&mut rustc) else { return false };
    let files = std::fs::read_dir(folder.trim()).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Builds the standard library and puts it where a compiler looks.
fn build(source: &Path, folder: &Path, libraries: &Path) -> Result<()> {
    eprintln!("xtask: building the standard library for {TARGET}, once");
    let package = folder.join("standard-library");
    std::fs::create_dir_all(package.join("src"))
        .with_context(|| format!("cannot make {}", package.display()))?;
    // Any package will do: only its build of the standard library is needed.
    let manifest = "[package]\nname = \"nothing\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(package.join("Cargo.toml"), manifest)?;
    std::fs::write(package.join("src/lib.rs"), "")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "-Zbuild-std=std,panic_unwind,panic_abort,test", "--target", TARGET]);
    cargo.current_dir(&package).env("CARGO_TARGET_DIR", package.join("target")).env("RUSTC_BOOTSTRAP", "1");
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", "x86_64-w64-mingw32-gcc");
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.env_remove("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS");
    // Cargo's own tests use it for the folder of the sources; there is no other way to set it.
    cargo.env("__CARGO_TESTS_ONLY_SRC_ROOT", source);
    quietly(&mut cargo).context("the standard library for Windows did not build")?;
    // The folder appears under its name when all is in it.
    let unfinished = libraries.with_extension("unfinished");
    std::fs::create_dir_all(&unfinished)?;
    for file in std::fs::read_dir(package.join("target").join(TARGET).join("release/deps"))? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libnothing") {
            std::fs::copy(&path, unfinished.join(name))?;
        }
    }
    std::fs::rename(&unfinished, libraries).context("cannot name the folder of the standard library")?;
    // The rest is a few hundred megabytes that are not needed again.
    std::fs::remove_dir_all(package.join("target")).context("cannot tidy up")
}
