//! The rules that the compiler does not check. Each file here is one of them, with a test that shows how it fails.

mod architecture;
mod circles;
mod code;
mod exports;
mod layers;
mod length;
mod licences;
mod links;
mod packages;
mod plain_words;
mod printing;
mod tree;
mod words;

use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::path::Path;

/// A rule that is broken somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A file or a package, with the line if there is one.
    place: String,
    what: String,
}

impl Problem {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    /// In a line of a file; lines count from 0 here and from 1 for people.
    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self::new(format!("{path}:{}", line + 1), what)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Everything that is wrong with the workspace in a folder.
///
/// # Errors
/// When the workspace cannot be read.
pub fn problems(root: &Path) -> Result<Vec<Problem>> {
    let tree = tree::Tree::read(root)?;
    let packages = packages::Packages::parse(&cargo::metadata(true)?)?;
    let mut problems = layers::check(&packages);
    problems.extend(licences::check(&tree, &packages)?);
    // Separate workspaces that are passed on: libraries that the program carries, and the engine for questions.
    for manifest in ["allocators/Cargo.toml", "fleet/Cargo.toml"] {
        let workspace = packages::Packages::parse(&cargo::metadata_of(manifest)?)?;
        problems.extend(licences::check(&tree, &workspace)?);
    }
    problems.extend(architecture::check(&tree));
    for check in [
        circles::check,
        exports::check,
        length::check,
        links::check,
        plain_words::check,
        printing::check,
        words::check,
    ] {
        problems.extend(check(&tree));
    }
    Ok(problems)
}

/// Writes the list of crates into ARCHITECTURE.md.
///
/// # Errors
/// When the document cannot be read or written, or has no place for it.
pub fn write_layers() -> Result<()> {
    let path = cargo::root().join(architecture::DOCUMENT);
    let text = std::fs::read_to_string(&path)?;
    let list =
        architecture::with_list(&text, &layers::list()).context("the document has no place for the list")?;
    Ok(std::fs::write(&path, list)?)
}

/// Shows all problems of this workspace.
///
/// # Errors
/// When there are any.
pub fn run() -> Result<()> {
    eprintln!("xtask: tidy");
    let problems = problems(cargo::root())?;
    for problem in &problems {
        eprintln!("{problem}");
    }
    ensure!(problems.is_empty(), "the workspace is not tidy: {} problems", problems.len());
    Ok(())
}

#[cfg(test)]
fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}
