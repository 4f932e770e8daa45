//! What is in the programs and was written by others: each package with its licence, and the texts of the licences that came with it.

use super::Package;
use crate::cargo;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The packages whose programs are passed on.
const PROGRAMS: [&str; 2] = ["heapwise-cli", "cargo-heapwise"];
/// Names of files with licences begin like this.
const TEXTS: [&str; 4] = ["LICENSE", "LICENCE", "COPYING", "NOTICE"];

/// Whether a package is one of the programs that are passed on.
type IsProgram<'a> = &'a dyn Fn(&Value) -> bool;

/// The list, as Markdown. A text that several packages have is there once.
pub(super) fn notices(package: Package) -> Result<String> {
    let (mut list, mut texts) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    let ours = |package: &Value| PROGRAMS.iter().any(|name| package["name"] == *name);
    // The allocators that are inside of heapwise are a separate workspace, of which everything is passed on.
    let member = |package: &Value| package["source"].is_null();
    let fleet = |package: &Value| package["name"] == Package::Fleet.name();
    let workspaces: Vec<(Value, IsProgram<'_>)> = match package {
        Package::Heapwise => {
            vec![(cargo::metadata(true)?, &ours), (cargo::metadata_of("allocators/Cargo.toml")?, &member)]
        }
        Package::Fleet => vec![(cargo::metadata_of("fleet/Cargo.toml")?, &fleet)],
    };
    for (metadata, is_program) in &workspaces {
        for package in contained(metadata, is_program)? {
            let word = |name: &str| package[name].as_str().unwrap_or_default();
            if word("source").is_empty() {
                continue;
            }
            let name = format!("{} {}", word("name"), word("version"));
            let folder = Path::new(word("manifest_path")).parent().context("a manifest is in a folder")?;
            for text in licence_texts(folder)? {
                texts.entry(text).or_default().insert(name.clone());
            }
            list.insert(format!("- {name}: {}\n", word("license")));
        }
    }
    let list: String = list.into_iter().collect();
    let mut out = format!(
        "# What others wrote\n\n{} contains these packages, and what some of them contain:\n\n{list}",
        package.name()
    );
    for (text, names) in texts {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        out.push_str(&format!("\n## {names}\n\n```text\n{}\n```\n", text.trim_end()));
    }
    Ok(out)
}

/// What is linked into programs: all that they need when they run, and no tools of builds and tests.
fn contained<'a>(metadata: &'a Value, is_program: IsProgram<'_>) -> Result<Vec<&'a Value>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo resolved nothing")?;
    let nodes: HashMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let mut open: Vec<&str> =
        packages.iter().filter(|p| is_program(p)).filter_map(|p| p["id"].as_str()).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in nodes.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked = kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()));
            open.extend(dependency["pkg"].as_str().filter(|_| is_linked));
        }
    }
    Ok(packages.iter().filter(|p| p["id"].as_str().is_some_and(|id| found.contains(id))).collect())
}

/// The texts that came with a package, those of C code in it included.
fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            if entry.file_type()?.is_dir() && depth < 3 {
                open.push((entry.path(), depth + 1));
            } else if TEXTS.iter().any(|start| name.starts_with(start)) {
                // What is no text is no licence.
                found.extend(fs::read_to_string(entry.path()).ok());
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
