//! The tcmalloc of gperftools, where it is installed. Google's newer one of the same name is another allocator.

use super::{Allocator, Origin, one_variable_each};
use crate::family::{Family, Interface, Sign::Exact, Sign::Mangled};
use crate::fix::{Call, Fix};
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Tcmalloc;

/// The minimal one first: the other one has a profiler, which a variable can start.
const FILES: &[&str] = &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"];

static SETTINGS: &[Setting] = &[
    Setting {
        name: "release_rate",
        meaning: "how eagerly free pages are returned to the system; 0 for never",
        kind: Kind::Number { least: 0, most: 1000, unit: Unit::Count },
        default: "1",
        worth_trying: &["10", "100"],
    },
    Setting {
        name: "aggressive_decommit",
        meaning: "returns each free range to the system at once",
        kind: Kind::Switch,
        default: "false",
        worth_trying: &["true"],
    },
    Setting {
        name: "max_total_thread_cache_bytes",
        meaning: "what all threads together keep for themselves at most",
        // The library's own bounds: half a MiB and a GiB.
        kind: Kind::Number { least: 512 << 10, most: 1 << 30, unit: Unit::Bytes },
        default: "33554432",
        worth_trying: &["8388608"],
    },
    Setting {
        name: "transfer_num_obj",
        meaning: "how many blocks go from a thread to the others at a time at most",
        kind: Kind::Number { least: 2, most: 65536, unit: Unit::Count },
        default: "32",
        worth_trying: &[],
    },
    Setting {
        name: "heap_limit_mb",
        meaning: "how large the heap may become, in MiB; 0 for no limit. Beyond it, allocations fail",
        kind: Kind::Number { least: 0, most: 1 << 24, unit: Unit::Count },
        default: "0",
        worth_trying: &[],
    },
];

/// The one of gperftools.
static FAMILY: Family = Family {
    name: "tcmalloc",
    word: "tcmalloc",
    libraries: &["libtcmalloc"],
    symbols: &[
        Exact("tc_malloc"),
        Mangled("N8tcmalloc11ThreadCache"),
        Mangled("N8tcmalloc8PageHeap"),
        Mangled("N8tcmalloc15CentralFreeList"),
    ],
    texts: &["tcmalloc: allocation failed", "tcmalloc: large alloc"],
    also_defines: &["mallocx", "rallocx", "sdallocx"],
    frames: &["tc_"],
    variables: &["TCMALLOC_*"],
    interface: Interface::Gperftools {
        settings: &[
            ("max_total_thread_cache_bytes", c"tcmalloc.max_total_thread_cache_bytes"),
            ("aggressive_decommit", c"tcmalloc.aggressive_memory_decommit"),
            ("heap_limit_mb", c"tcmalloc.heap_limit_mb"),
        ],
    },
    free_pages: "Let tcmalloc return pages to the system: `TCMALLOC_RELEASE_RATE=10`; or call `MallocExtension::ReleaseFreeMemory` \
                after the phase that frees much.",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for Tcmalloc {
    fn name(&self) -> &'static str {
        "tcmalloc"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Installed { files: FILES, package: "libtcmalloc-minimal4" }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        one_variable_each("TCMALLOC_", chosen)
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        Fix {
            environment: self.variables(chosen),
            other_languages: vec![
                "Install gperftools (Debian and Ubuntu: libtcmalloc-minimal4) and start the program with \
                 LD_PRELOAD=libtcmalloc_minimal.so.4, or link it, -ltcmalloc_minimal; this goes for Rust programs, too."
                    .into(),
            ],
            calls: vec![Call::new(
                "after a phase that freed much: returns the free pages to the system",
                "MallocExtension_ReleaseFreeMemory(); /* #include <gperftools/malloc_extension_c.h> */",
                "unsafe extern \"C\" { fn MallocExtension_ReleaseFreeMemory(); } unsafe { MallocExtension_ReleaseFreeMemory() };",
            )],
            caveats: vec![
                "This is the tcmalloc of gperftools. Google's is another allocator, tcmalloc-google."
                    .into(),
            ],
            ..Fix::default()
        }
    }
}
