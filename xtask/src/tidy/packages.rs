//! cargo's metadata of the packages, reduced to what the rules need.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// All packages that take part in a build.
#[derive(Debug, Default)]
pub(super) struct Packages {
    pub(super) all: Vec<Package>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    /// Where it lies in the workspace; empty if it lies elsewhere.
    pub(super) folder: String,
    pub(super) licence: Option<String>,
    /// Belongs to this workspace.
    pub(super) is_member: bool,
    /// Packages that it is built from.
    pub(super) dependencies: BTreeSet<String>,
    /// Packages that its tests and examples use besides.
    pub(super) test_dependencies: BTreeSet<String>,
}

impl Packages {
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.all.iter().filter(|package| package.is_member)
    }

    /// Reads the output of `cargo metadata`.
    pub(super) fn parse(metadata: &Value) -> Result<Self> {
        let list =
            |name: &str| metadata[name].as_array().with_context(|| format!("`cargo metadata` has no {name}"));
        let members: BTreeSet<_> = list("workspace_members")?.iter().filter_map(Value::as_str).collect();
        // What has no node in the graph is listed and not built. Packages of all platforms have one.
        let used: BTreeSet<_> = match metadata["resolve"]["nodes"].as_array() {
            Some(nodes) => nodes.iter().filter_map(|node| node["id"].as_str()).collect(),
            None => members.clone(),
        };
        let root = metadata["workspace_root"].as_str().unwrap_or_default();
        let mut all = Vec::new();
        for package in list("packages")? {
            let id = package["id"].as_str().context("a package has no id")?;
            if used.contains(id) {
                all.push(Package::parse(package, members.contains(id), root)?);
            }
        }
        Ok(Self { all })
    }
}

impl Package {
    fn parse(package: &Value, is_member: bool, root: &str) -> Result<Self> {
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_kind = |is_test: bool| {
            let chosen = dependencies.iter().filter(|d| (d["kind"].as_str() == Some("dev")) == is_test);
            chosen.filter_map(|d| d["name"].as_str().map(str::to_owned)).collect()
        };
        Ok(Self {
            name: package["name"].as_str().context("a package has no name")?.to_owned(),
            folder: package["manifest_path"]
                .as_str()
                .and_then(|path| path.strip_prefix(root)?.strip_suffix("/Cargo.toml"))
                .map_or_else(String::new, |folder| folder.trim_start_matches('/').to_owned()),
            licence: package["license"].as_str().map(str::to_owned),
            is_member,
            dependencies: of_kind(false),
            test_dependencies: of_kind(true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_and_kinds_of_dependencies_are_distinguished() {
        let metadata = json!({
            "workspace_root": "/w",
            "workspace_members": ["ours"],
            "resolve": { "nodes": [{ "id": "ours" }, { "id": "theirs" }] },
            "packages": [
                { "id": "ours", "name": "own", "license": "MIT", "manifest_path": "/w/a/b/Cargo.toml", "dependencies": [
                    { "name": "theirs", "kind": null }, { "name": "cc", "kind": "build" },
                    { "name": "proptest", "kind": "dev" },
                ] },
                { "id": "theirs", "name": "theirs", "license": null, "dependencies": [] },
                { "id": "elsewhere", "name": "winapi", "license": "MIT", "dependencies": [] },
            ],
        });
        let packages = Packages::parse(&metadata).unwrap();
        assert_eq!(packages.all.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["own", "theirs"]);
        let own = packages.members().next().unwrap();
        assert_eq!(own.folder, "a/b");
        assert!(own.dependencies.contains("cc") && own.dependencies.contains("theirs"));
        assert_eq!(own.test_dependencies, ["proptest".to_owned()].into());
    }

    #[test]
    fn packages_of_other_platforms_are_seen() {
        let packages =
            Packages::parse(&crate::cargo::metadata(true).expect("cargo reads the workspace")).unwrap();
        let has = |name: &str| packages.all.iter().any(|package| package.name == name);
        assert!(has("rustix") && has("windows-sys"), "for Linux and for Windows");
    }
}
