//! rpmalloc, in which each thread has spans of 64 KiB for itself. It has nothing that could be set at run time.

use super::{Allocator, Origin};
use crate::family::{Family, Sign::Exact};
use crate::fix::Fix;
use crate::setting::Setting;
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Rpmalloc;

static FAMILY: Family = Family {
    name: "rpmalloc",
    word: "rpmalloc",
    libraries: &["librpmalloc"],
    symbols: &[Exact("rpmalloc"), Exact("rpmalloc_initialize")],
    frames: &["rpmalloc", "_rpmalloc_", "rpcalloc", "rprealloc", "rpfree", "rpaligned_"],
    free_pages: "rpmalloc keeps what its caches of threads and the global one take, and unmaps the rest. Nothing empties the \
                caches at run time but the end of a thread; build it with smaller ones, or without the global one.",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for Rpmalloc {
    fn name(&self) -> &'static str {
        "rpmalloc"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Bundled { version: "1.4.3", source: "rpmalloc-sys 0.2.3" }
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn variables(&self, _: &Settings) -> Vec<(String, String)> {
        Vec::new()
    }

    fn fix(&self, _: &Settings) -> Fix {
        Fix {
            cargo: vec![
                r#"rpmalloc = "=0.2.2""#.into(),
                r#"rpmalloc-sys = "=0.2.3" # rpmalloc 1.4.3, the version that was measured"#.into(),
            ],
            rust: vec![
                "#[global_allocator]".into(),
                "static GLOBAL: rpmalloc::RpMalloc = rpmalloc::RpMalloc;".into(),
            ],
            other_languages: vec![
                "Build its librpmallocwrap.so (github.com/mjansson/rpmalloc, version 1.4.3), and link or preload it.".into(),
            ],
            caveats: vec![
                "Blocks that are aligned to 64 KiB or more are refused.".into(),
                "It has no handlers for fork: a child of a program with threads may wait for ever for a lock that one of them \
                 had, unless it executes another program at once."
                    .into(),
                "It has no settings at run time.".into(),
            ],
            ..Fix::default()
        }
    }
}
