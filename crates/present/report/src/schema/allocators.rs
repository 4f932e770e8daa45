//! `heapwise.allocators/1`: which allocators there are, or what came of checking candidates.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.allocators/1";

/// What `heapwise allocators` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Allocators {
    /// Without candidates.
    List(List),
    /// With candidates.
    Checks(Checks),
}

/// Which allocators there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct List {
    /// All of them.
    pub allocators: Vec<Allocator>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
}

/// An allocator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Allocator {
    /// Whether this heapwise carries it, or the C library has it.
    pub is_bundled: bool,
    /// Whether programs can be tried with it here.
    pub is_there: bool,
    /// Its name on the command line.
    pub name: String,
    /// What can be set.
    pub settings: Vec<Setting>,
    /// What it is built from, or where it comes from.
    pub source: String,
    /// Its version; empty if only the allocator itself knows.
    pub version: String,
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Setting {
    /// Its value if it is not set; in words where the allocator computes it.
    pub default: String,
    /// Whether it is a time for which the allocator waits.
    pub is_time: bool,
    /// What kind of values it takes.
    pub kind: SettingKind,
    /// What it does.
    pub meaning: String,
    /// Its name on the command line.
    pub name: String,
    /// Which values it takes.
    pub range: Range,
    /// Values that are worth a try for any program, besides the default.
    pub worth_trying: Vec<String>,
}

/// A kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number,
    /// One of some words.
    Choice,
}

/// Which values a setting takes. Empty for a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Range {
    /// The smallest number. Only of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
    /// The largest number. Only of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
    /// What the number counts; empty for things. Only of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The words. Only of a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<String>>,
}

/// What came of checking candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Checks {
    /// Each candidate, in the order in which they were given.
    pub checks: Vec<Check>,
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
}

/// What came of checking a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Check {
    /// It is what it is called.
    Identity(Identity),
    /// It is not, or cannot be used.
    Failure(Failure),
}

/// What a candidate says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Identity {
    /// The candidate in its shortest form.
    pub candidate: String,
    /// Always null.
    pub error: (),
    /// What the allocator calls itself; null if it does not say.
    pub name: Option<String>,
    /// The path of the object that has `malloc`.
    pub object: String,
    /// Resident bytes of the small process that was asked.
    pub rss_bytes: u64,
    /// Chosen settings with the values in force; null where the allocator does not say.
    pub settings: BTreeMap<String, Option<String>>,
    /// Bytes of a block of which 100 were requested.
    pub usable_of_100: u64,
    /// The exact version that it says; null if it does not.
    pub version: Option<String>,
}

/// Why a candidate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Failure {
    /// The candidate in its shortest form.
    pub candidate: String,
    /// Why, in words.
    pub error: String,
}
