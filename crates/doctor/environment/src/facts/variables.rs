//! Environment variables, as far as they concern the heap.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables that concern the heap. Others are not kept: they may be secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Keeps what concerns the heap. Names and values that are no Unicode are kept with replacement characters.
    pub fn of(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |s: OsString| s.to_string_lossy().into_owned();
        // On Windows names have no case, and all that concern the heap there are known in capitals.
        let name_of = |name: OsString| match text(name) {
            name if cfg!(windows) && !crate::is_heap_variable(&name) => name.to_ascii_uppercase(),
            name => name,
        };
        let all = all.into_iter().map(|(name, value)| (name_of(name), text(value)));
        Self(all.filter(|(name, _)| crate::is_heap_variable(name)).collect())
    }

    /// Those of this process.
    pub fn own() -> Self {
        Self::of(std::env::vars_os())
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of one, if it is set to something.
    pub fn set(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// All whose names begin so.
    pub fn starting_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.0.iter().filter(move |(name, _)| name.starts_with(prefix));
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.starting_with("")
    }

    /// What `GLIBC_TUNABLES` sets: names and values, in their order. As glibc does, a part without
    /// `=` is passed over.
    pub fn glibc_tunables(&self) -> Vec<(&str, &str)> {
        let list = self.get("GLIBC_TUNABLES").unwrap_or_default();
        list.split(':').filter_map(|part| part.split_once('=')).collect()
    }

    /// The value of a malloc setting of glibc, which has two names: the variable, and the tunable that it is an alias of. The
    /// tunable wins. Also returns where it was found, as `NAME=VALUE`.
    pub fn glibc(&self, variable: &str, tunable: &str) -> Option<(&str, String)> {
        let tunables = self.glibc_tunables();
        let of_tunable = tunables.iter().rev().find(|(name, _)| *name == tunable);
        if let Some((name, value)) = of_tunable {
            return Some((value, format!("GLIBC_TUNABLES has {name}={value}")));
        }
        self.set(variable).map(|value| (value, format!("{variable}={value}")))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Variables {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self::of(pairs.map(|(name, value)| (name.into(), value.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_heap_variables_are_kept() {
        let variables = Variables::from([("PASSWORD", "secret"), ("MALLOC_PERTURB_", "1")]);
        assert_eq!(variables.iter().collect::<Vec<_>>(), [("MALLOC_PERTURB_", "1")]);
    }

    #[test]
    fn a_tunable_wins_over_its_alias() {
        let variables = Variables::from([
            ("MALLOC_PERTURB_", "1"),
            ("GLIBC_TUNABLES", "glibc.malloc.check=3:nonsense:glibc.malloc.perturb=5"),
        ]);
        let (value, evidence) =
            variables.glibc("MALLOC_PERTURB_", "glibc.malloc.perturb").expect("it is set");
        assert_eq!((value, evidence.as_str()), ("5", "GLIBC_TUNABLES has glibc.malloc.perturb=5"));
        assert_eq!(variables.glibc_tunables().len(), 2);
        assert_eq!(variables.glibc("MALLOC_ARENA_MAX", "glibc.malloc.arena_max"), None);
    }
}
