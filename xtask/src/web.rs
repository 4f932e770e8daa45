//! `cargo xtask web`: the program inside of the HTML report.
//!
//! The output of `web/` is checked in, so that heapwise can be built without node. Hence it has to be compared with the sources:
//! [`check`] builds it anew and compares, byte by byte.

use crate::{build, cargo, install};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built.
const BUNDLE: [&str; 2] = ["report.js", "report.css"];

const TO_BUILD: &[install::Needed] = &[("node", "nodejs"), ("npm", "npm")];

/// Builds the program into the crate that carries it.
///
/// # Errors
/// When node or a package is missing, or the program does not build.
pub fn build(may_install: bool) -> Result<()> {
    install::programs(TO_BUILD, may_install)?;
    packages()?;
    npm(&["run", "--silent", "check"], &[])?;
    npm(&["run", "--silent", "build"], &[])
}

/// Checks types, tests the program's parts, compares what is checked in with a fresh build, and looks at pages in a
/// browser.
///
/// # Errors
/// When one of these fails.
pub fn check(may_install: bool) -> Result<()> {
    install::programs(needed(), may_install)?;
    packages()?;
    let target = cargo::target()?.join("web");
    let (fresh, pages) = (target.join("bundle"), target.join("pages"));
    npm(&["run", "--silent", "check"], &[])?;
    npm(&["test", "--silent"], &[])?;
    std::fs::create_dir_all(&fresh).with_context(|| format!("cannot make {}", fresh.display()))?;
    npm(&["run", "--silent", "build", "--", "--out", &fresh.to_string_lossy()], &[])?;
    compare(&cargo::root().join("crates/present/report/src/html/bundle"), &fresh)?;
    std::fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
    make_pages(&pages)?;
    npm(&["run", "--silent", "browser"], &[("HEAPWISE_PAGES", pages.as_os_str())])
}

/// Looks at the pages of a server in a browser.
///
/// # Errors
/// When a program is missing, or a page is not as it should be.
pub(crate) fn check_served(address: &str, may_install: bool) -> Result<()> {
    install::programs(needed(), may_install)?;
    packages()?;
    npm(&["run", "--silent", "fleet"], &[("HEAPWISE_FLEET", OsStr::new(address))])
}

/// Another browser may be named, where Debian's is not to be had.
fn needed() -> &'static [install::Needed] {
    if std::env::var_os("HEAPWISE_CHROMIUM").is_some() { TO_BUILD } else { install::FOR_WEB }
}

fn folder() -> PathBuf {
    cargo::root().join("web")
}

/// Fetches the packages that the lock file names, unless they are there.
fn packages() -> Result<()> {
    let lock =
        std::fs::read(folder().join("package-lock.json")).context("cannot read web/package-lock.json")?;
    // A copy of the lock file records what was fetched.
    let fetched = folder().join("node_modules/.fetched");
    if std::fs::read(&fetched).is_ok_and(|there| there == lock) {
        return Ok(());
    }
    npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], &[])?;
    std::fs::write(&fetched, lock).with_context(|| format!("cannot write {}", fetched.display()))
}

fn npm(arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<()> {
    let line = arguments.join(" ");
    eprintln!("xtask: npm {line}");
    let mut npm = Command::new("npm");
    npm.args(arguments).envs(variables.iter().copied()).current_dir(folder());
    let status = npm.status().context("cannot run npm")?;
    ensure!(status.success(), "`npm {line}` failed in web/");
    Ok(())
}

fn compare(checked_in: &Path, fresh: &Path) -> Result<()> {
    for name in BUNDLE {
        let read = |folder: &Path| {
            let path = folder.join(name);
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        ensure!(
            read(checked_in)? == read(fresh)?,
            "{name} is not what web/ builds; `cargo xtask web` builds it, and it has to be checked in"
        );
    }
    Ok(())
}

/// Pages that are made up, and that of a recording of the contest program.
fn make_pages(pages: &Path) -> Result<()> {
    let programs = build::workspace()?;
    start(Command::new(programs.join("examples/html_samples")).arg(pages).current_dir(cargo::root()))?;
    let contest = programs.join("poetry-contest");
    let arguments = ["v01", "--rounds", "5", "--entries", "2000"];
    // The first run generates the data; the recording should show the program and not that.
    start(Command::new(&contest).args(arguments))?;
    let mut record = Command::new(programs.join("heapwise"));
    record.args(["run", "--force", "--format", "html", "-o"]).arg(pages.join("contest.hw")).arg("--");
    start(record.arg(&contest).args(arguments))
}

/// What these programs print belongs to them; it is shown only if they fail.
fn start(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let output = command.output().with_context(|| format!("cannot run {}", Path::new(&program).display()))?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(
        output.status.success(),
        "{} ended with {}:\n{}",
        Path::new(&program).display(),
        output.status,
        String::from_utf8_lossy(&said)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_that_is_not_what_is_built_is_found() {
        let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in BUNDLE {
            std::fs::write(old.path().join(name), "same").unwrap();
            std::fs::write(new.path().join(name), "same").unwrap();
        }
        compare(old.path(), new.path()).unwrap();
        std::fs::write(old.path().join("report.css"), "changed by hand").unwrap();
        let said = compare(old.path(), new.path()).unwrap_err().to_string();
        assert!(said.starts_with("report.css is not"), "{said}");
        std::fs::remove_file(old.path().join("report.js")).unwrap();
        assert!(compare(old.path(), new.path()).is_err());
    }

    #[test]
    fn no_registry_is_named_in_the_lock_file() {
        let lock = std::fs::read_to_string(folder().join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && !lock.contains("://"), "see web/.npmrc");
        assert!(lock.contains("\"integrity\""), "but what is fetched is checked");
    }
}
