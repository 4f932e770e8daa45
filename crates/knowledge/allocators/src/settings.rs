//! Values that were chosen for an allocator.

use std::collections::BTreeMap;

/// Chosen values of an allocator's settings, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings(pub(crate) BTreeMap<&'static str, String>);

impl Settings {
    /// The value that was chosen for a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All that were chosen, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
