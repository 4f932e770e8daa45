//! What a worker says of itself.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

/// The version, and a digest of those of everything in it: plans are the engine's own structures, so they are only passed on between the same
/// versions of the engine.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let lock = Sha256::digest(include_bytes!("../../Cargo.lock"));
    let digest: String = lock.iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{digest}", env!("CARGO_PKG_VERSION"), heapwise_tables::VERSION)
});
const DIGEST_BYTES: usize = 8;

/// The version of a worker, and which fleets it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    version: String,
    fleets: BTreeSet<String>,
}

impl Identity {
    /// Of this program, which reads these fleets.
    pub(crate) fn here(fleets: impl IntoIterator<Item = String>) -> Self {
        Self { version: VERSION.clone(), fleets: fleets.into_iter().collect() }
    }

    /// What a worker has answered, whatever that is.
    pub(super) fn parse(text: &str) -> Self {
        let mut words = text.split(' ');
        let version = words.next().unwrap_or_default().to_owned();
        Self { version, fleets: words.map(str::to_owned).collect() }
    }

    /// Why it cannot answer this one. Fleets are pairs of what they are called here and their ids.
    pub(super) fn lacks(&self, fleets: &[(String, String)]) -> Option<String> {
        if self.version != *VERSION {
            return Some(
                "it is another build of heapwise-fleet: install the same one on all machines".to_owned(),
            );
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
