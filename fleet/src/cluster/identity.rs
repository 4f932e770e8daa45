//! What a worker says of itself.

use std::collections::BTreeSet;
use std::fmt;

/// Plans are only passed on between the same versions: they are the engine's own structures.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of a worker, and which fleets it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    version: String,
    fleets: BTreeSet<String>,
}

impl Identity {
    /// Of this program, which reads these fleets.
    pub(crate) fn here(fleets: impl IntoIterator<Item = String>) -> Self {
        Self { version: VERSION.to_owned(), fleets: fleets.into_iter().collect() }
    }

    /// What a worker has answered, whatever that is.
    pub(super) fn parse(text: &str) -> Self {
        let mut words = text.split(' ');
        let version = words.next().unwrap_or_default().to_owned();
        Self { version, fleets: words.map(str::to_owned).collect() }
    }

    /// Why it cannot answer this one. Fleets are pairs of what they are called here and their ids.
    pub(super) fn lacks(&self, fleets: &[(String, String)]) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("it is not heapwise-fleet {VERSION}"));
        }
        let missing = fleets.iter().find(|(_, id)| !self.fleets.contains(id));
        missing.map(|(name, _)| {
            format!("it does not read {name}: name it when the worker is started, as it is called here")
        })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)?;
        self.fleets.iter().try_for_each(|id| write!(f, " {id}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_the_same_version_and_the_fleets_that_are_asked() {
        let worker = Identity::parse(&Identity::here(["a1".to_owned(), "b2".to_owned()]).to_string());
        let fleet = |name: &str, id: &str| (name.to_owned(), id.to_owned());
        assert_eq!(worker.lacks(&[fleet("fleet/", "b2")]), None);
        assert!(worker.lacks(&[fleet("other/", "c3")]).is_some_and(|why| why.contains("other/")));
        assert!(Identity::parse("0.0.9 b2").lacks(&[]).is_some());
        assert!(Identity::parse("").lacks(&[]).is_some());
    }
}
