//! jemalloc, as the crates of tikv build it: its names begin with `_rjem_`, and so does its variable.

use super::{Allocator, Origin};
use crate::family::{Complaint, Family, Interface, Sign::Exact, Sign::Prefixed};
use crate::fix::{Call, Fix, UNSAFE};
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Jemalloc;

/// A day: what is longer is no time to wait for, and `-1` says never.
const LONGEST_MS: i64 = 86_400_000;

static SETTINGS: &[Setting] = &[
    Setting {
        name: "background_thread",
        meaning: "a separate thread returns free pages to the system, also while the program does nothing",
        kind: Kind::Switch,
        default: "false",
        worth_trying: &["true"],
    },
    Setting {
        name: "dirty_decay_ms",
        meaning: "how long free pages are kept; 0 returns them to the system at once, -1 never",
        kind: Kind::Number { least: -1, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "10000",
        worth_trying: &["0", "1000"],
    },
    Setting {
        name: "muzzy_decay_ms",
        meaning: "how long pages that the kernel may take are kept after that; 0 passes the stage over",
        kind: Kind::Number { least: -1, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "0",
        worth_trying: &[],
    },
    Setting {
        name: "narenas",
        meaning: "how many arenas threads share; fewer hold less memory, but threads wait more for them",
        kind: Kind::Number { least: 1, most: 4094, unit: Unit::Count },
        default: "4 times the number of processors",
        worth_trying: &["1", "2"],
    },
    Setting {
        name: "percpu_arena",
        meaning: "an arena for each processor instead of some that threads share",
        kind: Kind::Choice(&["disabled", "percpu", "phycpu"]),
        default: "disabled",
        worth_trying: &["percpu"],
    },
    Setting {
        name: "tcache",
        meaning: "threads keep small blocks for themselves",
        kind: Kind::Switch,
        default: "true",
        worth_trying: &[],
    },
    Setting {
        name: "tcache_max",
        meaning: "largest block that a thread keeps for itself",
        kind: Kind::Number { least: 0, most: 8 << 20, unit: Unit::Bytes },
        default: "32768",
        worth_trying: &["4096"],
    },
    Setting {
        name: "thp",
        meaning: "asks for transparent huge pages for all memory, or against them",
        kind: Kind::Choice(&["default", "always", "never"]),
        default: "default",
        worth_trying: &["always"],
    },
    Setting {
        name: "metadata_thp",
        meaning: "transparent huge pages for jemalloc's own tables",
        kind: Kind::Choice(&["disabled", "auto", "always"]),
        default: "disabled",
        worth_trying: &[],
    },
    Setting {
        name: "oversize_threshold",
        meaning: "blocks from this size on get a separate arena, and are returned to the system at once; 0 for never",
        kind: Kind::Number { least: 0, most: 1 << 40, unit: Unit::Bytes },
        default: "8388608",
        worth_trying: &[],
    },
    Setting {
        name: "lg_extent_max_active_fit",
        meaning: "how much larger a free range may be than the block for which it is used, as a power of two",
        kind: Kind::Number { least: 0, most: 63, unit: Unit::Count },
        default: "6",
        worth_trying: &[],
    },
    Setting {
        name: "retain",
        meaning: "keeps address space whose pages were returned to the system, instead of unmapping it",
        kind: Kind::Switch,
        default: "true",
        worth_trying: &[],
    },
];

/// The settings as jemalloc reads them.
fn configuration(chosen: &Settings) -> String {
    let pairs: Vec<_> = chosen.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    pairs.join(",")
}

static FAMILY: Family = Family {
    name: "jemalloc",
    word: "jemalloc",
    libraries: &["libjemalloc"],
    symbols: &[
        Exact("je_malloc"),
        Exact("_rjem_malloc"),
        Exact("_rjem_mallocx"),
        Exact("je_mallocx"),
        Exact("_rjem_je_malloc_default"),
        Exact("je_malloc_default"),
        Exact("je_arena_malloc_hard"),
        Prefixed("mallocx"),
        Prefixed("rallocx"),
        Prefixed("sdallocx"),
    ],
    texts: &["<jemalloc>: "],
    frames: &["_rjem_", "je_"],
    variables: &["MALLOC_CONF", "*_MALLOC_CONF"],
    complaints: &[Complaint { start: "<jemalloc>: ", words: &["nvalid", "alformed"] }],
    interface: Interface::Mallctl,
    free_pages: "Pages are returned to the system as time goes by, but only while something allocates. Let jemalloc do it \
                by itself: `background_thread:true,dirty_decay_ms:1000` in its configuration (`_RJEM_MALLOC_CONF` with \
                tikv-jemallocator, `MALLOC_CONF` otherwise).",
    new_pages: Some(
        "Or have jemalloc keep the pages of what is freed, which then stay resident: `dirty_decay_ms:-1` in its configuration \
         (`_RJEM_MALLOC_CONF` with tikv-jemallocator, `MALLOC_CONF` otherwise). What that saves, `heapwise compare --with \
         jemalloc:dirty_decay_ms=-1 CMD` says.",
    ),
    fragmentation: "Allocate long-lived blocks in a separate arena.",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for Jemalloc {
    fn name(&self) -> &'static str {
        "jemalloc"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Bundled { version: "5.3.1", source: "tikv-jemalloc-sys 0.7.1" }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        let value = configuration(chosen);
        if value.is_empty() { Vec::new() } else { vec![("_RJEM_MALLOC_CONF".into(), value)] }
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        let has_thread = chosen.get("background_thread") == Some("true");
        let mut rust = vec![
            "#[global_allocator]".into(),
            "static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;".into(),
        ];
        if !chosen.is_empty() {
            // jemalloc reads a `const char *`. A reference to an array is one; a slice would have its length behind it, and
            // it is not guaranteed that the pointer comes first.
            let configuration = configuration(chosen);
            let length = configuration.len() + 1;
            rust.push("#[unsafe(export_name = \"_rjem_malloc_conf\")]".into());
            rust.push(format!("pub static MALLOC_CONF: &[u8; {length}] = b\"{configuration}\\0\";"));
        }
        let mut other_languages = vec![
            "Link it, -ljemalloc, or start the program with LD_PRELOAD=libjemalloc.so.2 (Debian and Ubuntu: \
                 libjemalloc2); see that its version is the one above."
                .to_owned(),
        ];
        if !chosen.is_empty() {
            other_languages
                .push(format!("There, the variable has no prefix: MALLOC_CONF={}", configuration(chosen)));
        }
        let mut caveats = vec![
            "The crate's library reads _RJEM_MALLOC_CONF, and not MALLOC_CONF; a variable of the other name is silently ignored."
                .to_owned(),
        ];
        if !chosen.is_empty() {
            caveats.push(UNSAFE.into());
        }
        match chosen.get("dirty_decay_ms") {
            Some("0") => caveats.push(
                "With dirty_decay_ms:0 each emptied range is returned to the system at once, and faulted in again when it is \
                 needed: look at the CPU."
                    .into(),
            ),
            Some(_) if !has_thread => caveats.push(
                "Without background_thread:true pages decay only while the program allocates: a program that is idle \
                 keeps them."
                    .into(),
            ),
            _ => {}
        }
        if has_thread {
            caveats.push(
                "There is one more thread. In a child of fork it is off, and stays off unless the program turns it on \
                 (mallctl \"background_thread\"), or executes another program."
                    .into(),
            );
        }
        Fix {
            cargo: vec![
                r#"tikv-jemallocator = "=0.7.0""#.into(),
                r#"tikv-jemalloc-sys = "=0.7.1" # jemalloc 5.3.1, the version that was measured"#.into(),
            ],
            rust,
            environment: self.variables(chosen),
            other_languages,
            calls: vec![Call::new(
                "after a phase that freed much: returns the free pages of all arenas to the system",
                r#"mallctl("arena.4096.purge", NULL, NULL, NULL, 0); /* #include <jemalloc/jemalloc.h> */"#,
                r#"unsafe { tikv_jemalloc_sys::mallctl(c"arena.4096.purge".as_ptr().cast(), std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut(), 0) };"#,
            )],
            caveats,
        }
    }

    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        &[
            &[("background_thread", "true"), ("dirty_decay_ms", "1000")],
            &[("background_thread", "true"), ("dirty_decay_ms", "5000")],
            &[("background_thread", "true"), ("dirty_decay_ms", "0")],
            &[("background_thread", "true"), ("dirty_decay_ms", "1000"), ("narenas", "2")],
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::Candidate;

    #[test]
    fn the_configuration_in_rust_is_a_pointer_to_text_that_ends() {
        let candidate =
            Candidate::parse("jemalloc:background_thread=true:dirty_decay_ms=1000").expect("a candidate");
        let rust = candidate.fix().rust;
        assert_eq!(
            rust[2..],
            [
                r#"#[unsafe(export_name = "_rjem_malloc_conf")]"#,
                r#"pub static MALLOC_CONF: &[u8; 43] = b"background_thread:true,dirty_decay_ms:1000\0";"#,
            ]
        );
        assert_eq!(b"background_thread:true,dirty_decay_ms:1000\0".len(), 43);
    }
}
