//! The files of an archive, at the places where a system looks for them below a prefix such as `/usr`.

use super::{Package, fresh, licences};
use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs.
const PROGRAMS: [&str; 2] = ["heapwise", "cargo-heapwise"];
/// Where each shell looks for completions, and what it wants them to be called.
const SHELLS: [(&str, &str, &str, &str); 3] = [
    ("bash", "share/bash-completion/completions", "", ""),
    ("zsh", "share/zsh/site-functions", "_", ""),
    ("fish", "share/fish/vendor_completions.d", "", ".fish"),
];
/// What is read by people.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// A package for Linux, with licences. Manual pages and completions are those of `heapwise`, which knows the words of the others that it
/// starts.
pub(super) fn linux(package: Package, programs: &Path, tree: &Path) -> Result<()> {
    fresh(tree)?;
    match package {
        Package::Heapwise => {
            for name in PROGRAMS {
                let program = program(programs, name, tree)?;
                described(name, &program, tree)?;
            }
        }
        Package::Fleet => drop(program(programs, package.name(), tree)?),
    }
    documents(package, &tree.join("share/doc").join(package.name()))
}

/// Copies a program.
fn program(programs: &Path, name: &str, tree: &Path) -> Result<PathBuf> {
    let program = copy(&programs.join(name), &tree.join("bin").join(name))?;
    // Names and lines of heapwise itself are of no use to those who have the archive.
    let _ = Command::new("strip").arg("--strip-debug").arg(&program).status();
    Ok(program)
}

/// Manual pages and completions, as the program makes them itself.
fn described(name: &str, program: &Path, tree: &Path) -> Result<()> {
    let man = tree.join("share/man/man1");
    fs::create_dir_all(&man)?;
    ask(program, [OsStr::new("man"), man.as_os_str()])?;
    for (shell, folder, before, behind) in SHELLS {
        let script = ask(program, ["completions".as_ref(), OsStr::new(shell)])?;
        write(&tree.join(folder).join(format!("{before}{name}{behind}")), &script)?;
    }
    for page in fs::read_dir(&man)? {
        let page = page?.path();
        if page.extension().is_some_and(|extension| extension == "gz") {
            continue;
        }
        let packed = Command::new("gzip").args(["-9", "-n", "-f"]).arg(&page).status();
        ensure!(packed.context("cannot run gzip")?.success(), "cannot compress {}", page.display());
    }
    Ok(())
}

/// The program for Windows, with licences.
pub(super) fn windows(program: &Path, tree: &Path) -> Result<()> {
    fresh(tree)?;
    copy(program, &tree.join("heapwise.exe"))?;
    documents(Package::Heapwise, tree)
}

fn documents(package: Package, folder: &Path) -> Result<()> {
    for name in DOCUMENTS {
        copy(&cargo::root().join(name), &folder.join(name))?;
    }
    write(&folder.join("THIRD-PARTY.md"), licences::notices(package)?.as_bytes())
}

/// What a program of ours prints.
fn ask<const N: usize>(program: &Path, words: [&OsStr; N]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(words).output();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(output.status.success(), "{} {words:?} ended with {}", program.display(), output.status);
    Ok(output.stdout)
}

fn copy(from: &Path, to: &Path) -> Result<PathBuf> {
    fs::create_dir_all(to.parent().context("a place in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(to.to_owned())
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a place in a folder")?)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
