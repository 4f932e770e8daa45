//! The few settings of cargo's configuration that are needed here: from the files of the current folder, of those above it, and
//! of the user.
//!
//! Cargo prints its configuration only in unstable versions (`cargo config get`), so the files are read here. A file that cannot
//! be read is skipped: cargo reports what is wrong with it when it builds.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Tables of configuration, the nearest first.
#[derive(Debug, Default)]
pub(crate) struct Config {
    files: Vec<Table>,
    variables: Vec<(String, String)>,
}

impl Config {
    /// Of this process: found as cargo finds it, from the current folder upwards.
    pub(crate) fn of_process() -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let variable = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let user = variable.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        let mut folders: Vec<PathBuf> = here.ancestors().map(|folder| folder.join(".cargo")).collect();
        folders.extend(user);
        // Other names have to be text as well, or cargo could not read them.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("CARGO_"));
        Self {
            files: folders.iter().filter_map(|folder| file(folder)).collect(),
            variables: variables.collect(),
        }
    }

    /// The value of a profile's key, if it is set outside of the manifest.
    pub(crate) fn profile(&self, profile: &str, key: &str) -> Option<Value> {
        let name = format!("CARGO_PROFILE_{}_{}", variable_name(profile), variable_name(key));
        let variable = self.variable(&name).map(|text| Value::String(text.to_owned()));
        variable.or_else(|| self.files.iter().find_map(|file| in_profile(file, profile, key)))
    }

    /// The targets that cargo builds for if the command line names none.
    pub(crate) fn build_targets(&self) -> Vec<String> {
        if let Some(text) = self.variable("CARGO_BUILD_TARGET") {
            return vec![text.to_owned()];
        }
        let targets = self.files.iter().find_map(|file| file.get("build")?.get("target"));
        match targets {
            Some(Value::String(target)) => vec![target.clone()],
            Some(Value::Array(list)) => list.iter().filter_map(|t| t.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(candidate, _)| candidate == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// A key of a profile in a manifest, or in a file of configuration.
pub(crate) fn in_profile(table: &Table, profile: &str, key: &str) -> Option<Value> {
    table.get("profile")?.get(profile)?.get(key).cloned()
}

/// As cargo makes the names of variables.
pub(crate) fn variable_name(key: &str) -> String {
    key.to_uppercase().replace('-', "_")
}

/// Of the two names that the file may have, cargo takes the older one if there are both.
fn file(folder: &Path) -> Option<Table> {
    let names = ["config", "config.toml"];
    let text = names.iter().find_map(|name| std::fs::read_to_string(folder.join(name)).ok())?;
    text.parse().ok()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Made-up configuration.
    pub(crate) fn config(files: &[&str], variables: &[(&str, &str)]) -> Config {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Config {
            files: files.iter().map(|text| text.parse().expect("a table")).collect(),
            variables: variables.iter().map(own).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::config;
    use super::*;

    #[test]
    fn the_nearest_file_counts_and_variables_before_files() {
        let files = [
            "[profile.release]\ndebug = 1\n",
            "[profile.release]\ndebug = 2\n[build]\ntarget = [\"a\", \"b\"]",
        ];
        let read = config(&files, &[]);
        assert_eq!(read.profile("release", "debug"), Some(Value::Integer(1)));
        assert_eq!(read.profile("dev", "debug"), None);
        assert_eq!(read.build_targets(), ["a", "b"]);
        let read = config(&files, &[("CARGO_PROFILE_RELEASE_DEBUG", "full"), ("CARGO_BUILD_TARGET", "c")]);
        assert_eq!(read.profile("release", "debug"), Some(Value::String("full".to_owned())));
        assert_eq!(read.build_targets(), ["c"]);
    }

    #[test]
    fn a_file_that_is_none_says_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(file(folder.path()).is_none());
        std::fs::write(folder.path().join("config.toml"), "[build\n").expect("a file");
        assert!(file(folder.path()).is_none());
        std::fs::write(folder.path().join("config.toml"), "[build]\ntarget = 'x'\n").expect("a file");
        assert!(file(folder.path()).is_some());
    }
}
