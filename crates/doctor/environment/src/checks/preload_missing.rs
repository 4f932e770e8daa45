//! Preloads that do not exist: the loader prints a line that is easily missed, and goes on without.

use super::Check;
use crate::facts::{Origin, System};
use crate::{Facts, Finding, Severity};

/// Placeholders that the loader replaces.
const PLACEHOLDERS: [&str; 3] = ["$ORIGIN", "$LIB", "$PLATFORM"];

pub(super) struct PreloadMissing;

impl Check for PreloadMissing {
    fn id(&self) -> &'static str {
        "preload-missing"
    }

    fn about(&self) -> &'static str {
        "LD_PRELOAD or /etc/ld.so.preload names a file that does not exist"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["LD_PRELOAD"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system != System::Linux {
            return Vec::new();
        }
        let preloads =
            facts.libraries.iter().filter(|l| matches!(l.origin, Origin::Preload | Origin::SystemPreload));
        let missing = preloads.filter(|library| {
            let path = library.path.to_string_lossy();
            // Names without a slash are searched for by the loader.
            path.contains('/')
                && !PLACEHOLDERS.iter().any(|word| path.contains(word))
                && !library.path.exists()
        });
        missing
            .map(|library| {
                let title = format!("{} does not exist, and is not loaded", library.path.display());
                let remedy = format!("correct its path, or {}", super::without(library));
                Finding::new(self.id(), Severity::Low, title, remedy)
                    .because(super::loaded(library).replace("is loaded", "is named"))
                    .costs("it has no effect: a comparison of allocators would measure glibc")
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Library;

    #[test]
    fn only_paths_can_be_missing() {
        let look = |path: &str| {
            let libraries = vec![Library { path: path.into(), origin: Origin::Preload }];
            PreloadMissing.look(&Facts { system: System::Linux, libraries, ..Facts::default() }).len()
        };
        assert_eq!(look("/nowhere/libjemalloc.so"), 1);
        assert_eq!(look("/proc/self/exe"), 0);
        assert_eq!(look("libjemalloc.so.2"), 0);
        assert_eq!(look("/usr/$LIB/libjemalloc.so"), 0);
    }
}
