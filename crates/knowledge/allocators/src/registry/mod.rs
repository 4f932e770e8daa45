//! One file for each allocator, and the table of them.

mod glibc;
mod jemalloc;
mod mimalloc;
mod mimalloc2;
mod recognised;
mod rpmalloc;
mod snmalloc;
mod tcmalloc;
mod tcmalloc_google;

use crate::family::Family;
use crate::fix::Fix;
use crate::setting::Setting;
use crate::settings::Settings;

/// An allocator of the registry.
pub trait Allocator: Sync + std::fmt::Debug {
    /// What it is called on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What gives it away.
    fn family(&self) -> &'static Family;

    /// Where the library comes from.
    fn origin(&self) -> Origin;

    /// The settings that it has.
    fn settings(&self) -> &'static [Setting];

    /// The environment variables that set the chosen values.
    fn variables(&self, chosen: &Settings) -> Vec<(String, String)>;

    /// How to write it down.
    fn fix(&self, chosen: &Settings) -> Fix;

    /// Settings that are worth a try together.
    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        &[]
    }
}

/// Where an allocator's library comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// heapwise carries it.
    Bundled {
        /// The exact version, as the library reports it.
        version: &'static str,
        /// The crate with its source, with the exact version: "tikv-jemalloc-sys 0.7.1".
        source: &'static str,
    },
    /// heapwise carries it if it was built with it, which the usual build is not.
    OnRequest {
        /// The exact version, as the library reports it.
        version: &'static str,
        /// The crate with its source, with the exact version.
        source: &'static str,
    },
    /// It is used if it is installed.
    Installed {
        /// Names of its file, the one to be preferred first.
        files: &'static [&'static str],
        /// The package of Debian and Ubuntu that has it.
        package: &'static str,
    },
    /// It is the C library's own. heapwise carries a small library that passes calls on to it, for programs that link
    /// another allocator.
    CLibrary,
}

/// The table, in the order in which lists name them.
static REGISTRY: &[&dyn Allocator] = &[
    &glibc::Glibc,
    &jemalloc::Jemalloc,
    &mimalloc::Mimalloc,
    &mimalloc2::Mimalloc2,
    &snmalloc::Snmalloc,
    &rpmalloc::Rpmalloc,
    &tcmalloc::Tcmalloc,
    &tcmalloc_google::TcmallocGoogle,
];

/// All allocators of the registry.
pub fn all() -> &'static [&'static dyn Allocator] {
    REGISTRY
}

/// Those that a usual build of heapwise carries, each built from the folder of its name in `allocators/`.
pub fn bundled() -> impl Iterator<Item = &'static dyn Allocator> {
    let is_bundled = |origin| matches!(origin, Origin::Bundled { .. } | Origin::CLibrary);
    all().iter().copied().filter(move |allocator| is_bundled(allocator.origin()))
}

/// The allocator of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Allocator> {
    REGISTRY.iter().copied().find(|a| a.name() == name)
}

/// What to do for an allocator that heapwise is built with on request alone ([`Origin::OnRequest`]).
#[cfg(feature = "candidates")]
pub(crate) fn request(name: &str) -> String {
    format!("build it again with HEAPWISE_WITH_ALLOCATORS={name}")
}

/// The allocator of the C library, by name.
pub const GLIBC: &str = "glibc";
/// That of another C library, by the name of its family.
pub const MUSL: &str = "musl";

/// All that programs may have, each once: those of the table, and then others.
pub fn families() -> impl Iterator<Item = &'static Family> {
    let is_first = |at: usize, family| !all()[..at].iter().any(|other| std::ptr::eq(other.family(), family));
    let of_table = all().iter().map(|allocator| allocator.family()).enumerate();
    of_table
        .filter(move |(at, family)| is_first(*at, *family))
        .map(|(_, family)| family)
        .chain(recognised::RECOGNISED)
}

/// The family that a library belongs to, by the name of its file.
pub fn by_library(file: &str) -> Option<&'static Family> {
    families().find(|family| family.has_library(file))
}

/// The family that a type of Rust wraps, such as `tikv_jemallocator::Jemalloc`.
pub fn by_type(name: &str) -> Option<&'static Family> {
    let lower = name.to_lowercase();
    let is_whole_name = |family: &&Family| !family.name.is_empty() && family.name == name;
    // `tcmalloc` is a part of the name of another one.
    let by_word =
        || families().filter(|family| family.is_named_in(&lower)).max_by_key(|family| family.word.len());
    families().find(is_whole_name).or_else(by_word)
}

/// Whether a library with this file name takes the place of the C library's allocator.
pub fn replaces_malloc(file: &str) -> bool {
    families().any(|family| family.is_named_in(file))
}

/// Whether a function of this name, as a stack has it, is an allocator's own.
pub fn is_function(name: &str) -> bool {
    families().any(|family| family.frames.iter().any(|start| name.starts_with(start)))
}

/// Whether a variable configures an allocator. Such variables are removed from a candidate's environment, because they would
/// silently change what is measured.
#[cfg(feature = "candidates")]
pub(crate) fn is_heap_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    families().any(|family| family.reads(&upper))
}

/// What of the tunables of the C library is not about its allocator. `None` if that is nothing.
#[cfg(feature = "candidates")]
pub(crate) fn other_tunables(tunables: &str) -> Option<String> {
    let others: Vec<_> =
        tunables.split(':').filter(|t| !t.is_empty() && !t.starts_with("glibc.malloc.")).collect();
    (!others.is_empty()).then(|| others.join(":"))
}

/// The variables of an allocator that has one for each setting.
fn one_variable_each(prefix: &str, chosen: &Settings) -> Vec<(String, String)> {
    let name = |name: &str| format!("{prefix}{}", name.to_ascii_uppercase());
    chosen.iter().map(|(setting, value)| (name(setting), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidate;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_types_lead_to_their_own_family() {
        let family = |name: &str| by_type(name).map(|family| family.name);
        assert_eq!(family("tcmalloc"), Some("tcmalloc"));
        assert_eq!(family("tcmalloc-google"), Some("tcmalloc-google"));
        assert_eq!(family("tcmalloc_better::TCMalloc"), Some("tcmalloc-google"));
        assert_eq!(family("tikv_jemallocator::Jemalloc"), Some("jemalloc"));
        assert_eq!(family("mimalloc::MiMalloc"), Some("mimalloc"));
        assert_eq!(family("app::Arena"), None);
    }

    #[test]
    fn every_row_is_whole_and_takes_its_own_values() {
        let mut names = BTreeSet::new();
        for allocator in all() {
            let name = allocator.name();
            assert!(names.insert(name), "{name} is there twice");
            assert!(
                !allocator.version().is_empty() || matches!(allocator.origin(), Origin::Installed { .. })
            );
            let fix = allocator.fix(&Settings::default());
            assert!(!fix.other_languages.is_empty() && !fix.caveats.is_empty(), "{name}");
            let mut settings = BTreeSet::new();
            for setting in allocator.settings() {
                let what = format!("{name}:{}", setting.name);
                assert!(settings.insert(setting.name), "{what} is there twice");
                assert!(!setting.meaning.is_empty() && !setting.meaning.ends_with('.'), "{what}");
                assert!(
                    !setting.is_time() || setting.default.parse::<i64>().is_ok(),
                    "{what}: a replay has to divide its default"
                );
                for value in setting.worth_trying {
                    assert_eq!(setting.accept(value).as_deref(), Some(*value), "{what}={value}");
                    assert_ne!(*value, setting.default, "{what}");
                    let candidate = Candidate::parse(&format!("{what}={value}")).expect("it takes that");
                    assert!(!allocator.variables(candidate.settings()).is_empty(), "{what}");
                }
            }
            for combination in allocator.combinations() {
                let spec: String = combination.iter().map(|(s, v)| format!(":{s}={v}")).collect();
                Candidate::parse(&format!("{name}{spec}")).expect("a combination of its own settings");
            }
        }
    }

    #[test]
    fn what_is_recommended_is_what_is_bundled() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../allocators/Cargo.lock");
        let lock = std::fs::read_to_string(path).expect("the versions that are built");
        for allocator in all() {
            let (Origin::Bundled { source, .. } | Origin::OnRequest { source, .. }) = allocator.origin()
            else {
                continue;
            };
            let mut words = source.split([' ', ',']);
            let (krate, version) = (words.next().expect("a crate"), words.next().expect("its version"));
            // jemalloc's crate adds the version of the C library: 0.7.1+5.3.1-0-g81034ce….
            let entry = format!("name = \"{krate}\"\nversion = \"{version}");
            assert!(lock.contains(&entry), "{krate} {version} is not what is built");
            let fix = allocator.fix(&Settings::default());
            let line = fix.cargo.iter().find(|line| line.starts_with(&format!("{krate} = ")));
            let line = line.unwrap_or_else(|| panic!("{krate} is not pinned: {:?}", fix.cargo));
            assert!(line.contains(&format!("\"={version}\"")), "{line}");
            assert_eq!(fix.rust.iter().filter(|line| line.contains("global_allocator")).count(), 1);
        }
    }

    #[test]
    fn variables_of_allocators_are_known() {
        for name in [
            "MALLOC_ARENA_MAX",
            "MALLOC_CONF",
            "_RJEM_MALLOC_CONF",
            "MIMALLOC_VERBOSE",
            "mimalloc_purge_delay",
            "TCMALLOC_RELEASE_RATE",
            "JE_MALLOC_CONF",
            "HEAPWISE_TCMALLOC_MEMORY_LIMIT",
        ] {
            assert!(is_heap_variable(name), "{name}");
        }
        for name in ["PATH", "GLIBC_TUNABLES", "LD_PRELOAD", "PYTHONMALLOC", "HEAPWISE_BIN"] {
            assert!(!is_heap_variable(name), "{name}");
        }
        assert_eq!(
            other_tunables("glibc.malloc.arena_max=1:glibc.cpu.x86_ibt=on").as_deref(),
            Some("glibc.cpu.x86_ibt=on")
        );
        assert_eq!(other_tunables("glibc.malloc.arena_max=1"), None);
    }
}
