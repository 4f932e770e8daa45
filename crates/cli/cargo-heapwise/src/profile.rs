//! Line tables for what is recorded: without them the report names functions and no lines.
//!
//! The profile `release` has none unless the project sets `debug`, and a profile may strip them. Both are corrected through
//! variables (`CARGO_PROFILE_RELEASE_DEBUG`), which change no file and apply to this build alone. A profile that has line tables,
//! or more, is left unchanged. Its settings are looked up where cargo looks: the variable, configuration files, the manifest of
//! the workspace, then the same for the profile that it inherits from. `--config` takes precedence over variables, so it always
//! applies.

use crate::config::{Config, in_profile, variable_name};
use std::path::Path;
use toml::{Table, Value};

/// Profiles inherit from profiles only a few times.
const MOST_STEPS: usize = 16;

/// Variables to build a profile with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Additions {
    pub(crate) variables: Vec<(String, &'static str)>,
}

/// What a profile lacks.
pub(crate) fn additions(workspace: &Path, config: &Config, profile: &str) -> Additions {
    let manifest = std::fs::read_to_string(workspace.join("Cargo.toml"));
    let manifest = manifest.ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    of(&manifest, config, profile)
}

fn of(manifest: &Table, config: &Config, profile: &str) -> Additions {
    let chain = chain(manifest, config, profile);
    let setting = |key| {
        chain.iter().find_map(|name| config.profile(name, key).or_else(|| in_profile(manifest, name, key)))
    };
    let has_lines = match setting("debug") {
        Some(value) => names_lines(&value),
        // What cargo's own profiles have.
        None => chain.iter().any(|name| name == "dev"),
    };
    let mut variables = Vec::new();
    let name = variable_name(profile);
    if !has_lines {
        variables.push((format!("CARGO_PROFILE_{name}_DEBUG"), "line-tables-only"));
    }
    if setting("strip").is_some_and(|value| strips(&value)) {
        variables.push((format!("CARGO_PROFILE_{name}_STRIP"), "none"));
    }
    Additions { variables }
}

/// The profile and those that it inherits from.
fn chain(manifest: &Table, config: &Config, profile: &str) -> Vec<String> {
    let mut chain = vec![profile.to_owned()];
    while chain.len() < MOST_STEPS {
        let last = chain.last().map_or("", String::as_str);
        let next = match last {
            "dev" | "release" => break,
            "test" | "doc" => Some("dev".to_owned()),
            "bench" => Some("release".to_owned()),
            other => {
                let inherited =
                    config.profile(other, "inherits").or_else(|| in_profile(manifest, other, "inherits"));
                inherited.and_then(|value| value.as_str().map(str::to_owned))
            }
        };
        let Some(next) = next.filter(|next| !chain.contains(next)) else { break };
        chain.push(next);
    }
    chain
}

/// Whether this much debug information has line tables. Variables are text whatever they mean.
fn names_lines(value: &Value) -> bool {
    match value {
        Value::Boolean(on) => *on,
        Value::Integer(level) => *level > 0,
        Value::String(text) => !["0", "false", "none", "line-directives-only"].contains(&text.as_str()),
        _ => false,
    }
}

fn strips(value: &Value) -> bool {
    match value {
        Value::Boolean(on) => *on,
        Value::String(text) => !["none", "false"].contains(&text.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::testing::config;

    fn set(manifest: &str, files: &[&str], variables: &[(&str, &str)], profile: &str) -> Vec<String> {
        let manifest = manifest.parse().expect("a table");
        let additions = of(&manifest, &config(files, variables), profile);
        additions.variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    const LINES: &str = "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only";

    #[test]
    fn what_lacks_lines_gets_them() {
        assert_eq!(set("", &[], &[], "release"), [LINES]);
        for debug in ["0", "false", "\"none\"", "\"line-directives-only\""] {
            assert_eq!(
                set(&format!("[profile.release]\ndebug = {debug}"), &[], &[], "release"),
                [LINES],
                "{debug}"
            );
        }
        let own = "[profile.very-small]\ninherits = \"release\"\n";
        assert_eq!(set(own, &[], &[], "very-small"), ["CARGO_PROFILE_VERY_SMALL_DEBUG=line-tables-only"]);
        assert_eq!(set("", &[], &[("CARGO_PROFILE_RELEASE_DEBUG", "0")], "release"), [LINES]);
        assert_eq!(
            set("[profile.dev]\ndebug = 0", &[], &[], "test"),
            ["CARGO_PROFILE_TEST_DEBUG=line-tables-only"]
        );
    }

    #[test]
    fn what_has_them_or_more_stays_as_it_is() {
        for debug in ["1", "2", "true", "\"full\"", "\"limited\"", "\"line-tables-only\""] {
            assert!(
                set(&format!("[profile.release]\ndebug = {debug}"), &[], &[], "release").is_empty(),
                "{debug}"
            );
        }
        for profile in ["dev", "test"] {
            assert!(set("", &[], &[], profile).is_empty(), "{profile}");
        }
        assert!(set("", &["[profile.release]\ndebug = 2"], &[], "release").is_empty());
        assert!(set("", &[], &[("CARGO_PROFILE_RELEASE_DEBUG", "full")], "release").is_empty());
        let own = "[profile.release]\ndebug = true\n[profile.small]\ninherits = \"release\"\n";
        assert!(set(own, &[], &[], "small").is_empty());
        let file = ["[profile.release]\ndebug = 0"];
        assert_eq!(set("[profile.release]\ndebug = 2", &file, &[], "release"), [LINES], "files come first");
    }

    #[test]
    fn what_is_stripped_is_kept() {
        let both = [LINES, "CARGO_PROFILE_RELEASE_STRIP=none"];
        for strip in ["true", "\"symbols\"", "\"debuginfo\""] {
            assert_eq!(
                set(&format!("[profile.release]\nstrip = {strip}"), &[], &[], "release"),
                both,
                "{strip}"
            );
        }
        assert_eq!(set("[profile.release]\nstrip = \"none\"", &[], &[], "release"), [LINES]);
    }

    #[test]
    fn profiles_in_a_circle_end() {
        let circle = "[profile.a]\ninherits = \"b\"\n[profile.b]\ninherits = \"a\"\n";
        assert_eq!(set(circle, &[], &[], "a"), ["CARGO_PROFILE_A_DEBUG=line-tables-only"]);
    }
}
