//! snmalloc, which sends blocks that another thread freed to their owner in batches. It has no settings.

use super::{Allocator, Origin};
use crate::family::{Family, Sign::Exact, Sign::Mangled};
use crate::fix::Fix;
use crate::setting::Setting;
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Snmalloc;

static FAMILY: Family = Family {
    name: "snmalloc",
    word: "snmalloc",
    libraries: &["libsnmalloc"],
    symbols: &[Exact("sn_rust_alloc"), Exact("sn_malloc"), Mangled("8snmalloc")],
    also_defines: &["mallocx", "rallocx", "sdallocx", "sn_mallocx", "sn_rallocx", "sn_sdallocx"],
    frames: &["sn_rust_"],
    variables: &["SNMALLOC_*"],
    free_pages: "snmalloc returns pages lazily (MADV_FREE): the kernel takes them when memory is short, and until then they count as \
                resident. See whether memory is short before acting.",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for Snmalloc {
    fn name(&self) -> &'static str {
        "snmalloc"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Bundled { version: "0.7.6", source: "snmalloc-sys 0.7.6" }
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
                r#"snmalloc-rs = { version = "=0.7.6", default-features = false, features = ["build_cc"] }"#.into(),
                r#"snmalloc-sys = { version = "=0.7.6", default-features = false } # the version that was measured"#.into(),
            ],
            rust: vec![
                "use snmalloc_rs::SnMalloc;".into(),
                "#[global_allocator]".into(),
                "static GLOBAL: SnMalloc = SnMalloc;".into(),
            ],
            other_languages: vec![
                "Build its libsnmallocshim.so (github.com/microsoft/snmalloc), and link or preload it.".into(),
            ],
            caveats: vec![
                "Free pages are returned lazily (MADV_FREE): they count as resident until the kernel needs them. A limit \
                 that looks at RSS alone sees no difference."
                    .into(),
                "It has no settings at run time.".into(),
            ],
            ..Fix::default()
        }
    }
}
