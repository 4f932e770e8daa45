//! mimalloc 2: the version before, which returns memory sooner and is still what distributions have.

use super::mimalloc::{self, LONGEST_MS};
use super::{Allocator, Origin};
use crate::family::Family;
use crate::fix::Fix;
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Mimalloc2;

static SETTINGS: &[Setting] = &[
    Setting {
        name: "purge_delay",
        meaning: "how long free pages are kept; 0 returns them to the system at once, -1 never",
        kind: Kind::Number { least: -1, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "10",
        worth_trying: &["0", "100"],
    },
    Setting {
        name: "purge_extend_delay",
        meaning: "by how much the delay is prolonged when a neighbour becomes free",
        kind: Kind::Number { least: 0, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "1",
        worth_trying: &[],
    },
    Setting {
        name: "arena_purge_mult",
        meaning: "by what the delay is multiplied for arenas",
        kind: Kind::Number { least: 0, most: 1000, unit: Unit::Count },
        default: "10",
        worth_trying: &["1"],
    },
    mimalloc::PURGE_DECOMMITS,
    Setting {
        name: "abandoned_page_purge",
        meaning: "returns free pages to the system when a thread ends",
        kind: Kind::Switch,
        default: "false",
        worth_trying: &["true"],
    },
    Setting {
        name: "abandoned_reclaim_on_free",
        meaning: "segments of ended threads are taken over on a free",
        kind: Kind::Switch,
        default: "false",
        worth_trying: &["true"],
    },
    Setting {
        name: "eager_commit",
        meaning: "segments of 4 MiB are committed at once",
        kind: Kind::Switch,
        default: "true",
        worth_trying: &[],
    },
    Setting {
        name: "eager_commit_delay",
        meaning: "the first segments of a thread that are committed in parts all the same",
        kind: Kind::Number { least: 0, most: 1000, unit: Unit::Count },
        default: "1",
        worth_trying: &[],
    },
    Setting {
        name: "target_segments_per_thread",
        meaning: "segments beyond this number are left to other threads; 0 for never",
        kind: Kind::Number { least: 0, most: 100_000, unit: Unit::Count },
        default: "0",
        worth_trying: &[],
    },
    mimalloc::ARENA_EAGER_COMMIT,
    mimalloc::ARENA_RESERVE,
    mimalloc::GENERIC_COLLECT,
    mimalloc::ALLOW_THP,
    mimalloc::LARGE_OS_PAGES,
];

impl Allocator for Mimalloc2 {
    fn name(&self) -> &'static str {
        "mimalloc2"
    }

    fn family(&self) -> &'static Family {
        &super::mimalloc::FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Bundled { version: "2.3.2", source: "libmimalloc-sys 0.1.49, feature v2" }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        mimalloc::variables(SETTINGS, chosen)
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        let version = mimalloc::Version {
            cargo: r#"mimalloc = { version = "=0.1.52", features = ["v2"] }"#,
            options: mimalloc::numbers::V2,
            link: "Link mimalloc 2, -lmimalloc, or start the program with LD_PRELOAD=libmimalloc.so.2 (Debian 12: \
                   libmimalloc2.0, an older 2.0); see that its version is the one above.",
        };
        mimalloc::fix(&version, self.variables(chosen), chosen)
    }

    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        &[&[("purge_delay", "0"), ("abandoned_page_purge", "true")]]
    }
}
