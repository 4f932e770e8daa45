//! mimalloc 3, which Rust's crate has by default, and what it has in common with mimalloc 2.

use super::{Allocator, Origin, one_variable_each};
use crate::family::{Complaint, Family, Interface, Sign::Exact};
use crate::fix::{Call, Fix, UNSAFE, before_main};
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Mimalloc;

/// A day: what is longer is no time to wait for, and `-1` says never.
pub(super) const LONGEST_MS: i64 = 86_400_000;
/// In KiB: a TiB.
const LARGEST_KIB: i64 = 1 << 30;

pub(super) const PURGE_DECOMMITS: Setting = Setting {
    name: "purge_decommits",
    meaning: "true returns purged pages to the system at once (MADV_DONTNEED), false lets the kernel take them (MADV_FREE)",
    kind: Kind::Switch,
    default: "true",
    worth_trying: &[],
};
pub(super) const LARGE_OS_PAGES: Setting = Setting {
    name: "allow_large_os_pages",
    meaning: "0: small pages; 1: takes the system's reserved huge pages of 2 MiB where there are some",
    kind: Kind::Number { least: 0, most: 1, unit: Unit::Count },
    default: "0",
    worth_trying: &[],
};
pub(super) const ARENA_EAGER_COMMIT: Setting = Setting {
    name: "arena_eager_commit",
    meaning: "0: memory of arenas is committed in parts; 1: at once; 2: at once where the system overcommits",
    kind: Kind::Number { least: 0, most: 2, unit: Unit::Count },
    default: "2",
    worth_trying: &["0"],
};
pub(super) const ARENA_RESERVE: Setting = Setting {
    name: "arena_reserve",
    meaning: "address space that is reserved at a time",
    kind: Kind::Number { least: 32 << 10, most: LARGEST_KIB, unit: Unit::Kibibytes },
    default: "1048576",
    worth_trying: &[],
};
pub(super) const ALLOW_THP: Setting = Setting {
    name: "allow_thp",
    meaning: "false has the kernel give this process no transparent huge pages",
    kind: Kind::Switch,
    default: "true",
    worth_trying: &["false"],
};
pub(super) const GENERIC_COLLECT: Setting = Setting {
    name: "generic_collect",
    meaning: "after how many calls that had to look for a page a thread tidies its heap up",
    kind: Kind::Number { least: 1, most: 100_000_000, unit: Unit::Count },
    default: "10000",
    worth_trying: &["1000"],
};

static SETTINGS: &[Setting] = &[
    Setting {
        name: "purge_delay",
        meaning: "how long free pages are kept; 0 returns them to the system at once, -1 never",
        kind: Kind::Number { least: -1, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "1000",
        worth_trying: &["0", "10", "100"],
    },
    Setting {
        name: "arena_purge_mult",
        meaning: "by what the delay is multiplied for arenas",
        kind: Kind::Number { least: 0, most: 1000, unit: Unit::Count },
        default: "1",
        worth_trying: &[],
    },
    PURGE_DECOMMITS,
    ARENA_EAGER_COMMIT,
    ARENA_RESERVE,
    Setting {
        name: "arena_max_object_size",
        meaning: "larger blocks are mapped alone, and returned to the system at once",
        kind: Kind::Number { least: 64, most: LARGEST_KIB, unit: Unit::Kibibytes },
        default: "2097152",
        worth_trying: &[],
    },
    Setting {
        name: "page_reclaim_on_free",
        meaning: "pages of ended threads are taken over on a free: -1 never, 0 by their own heap, 1 by any",
        kind: Kind::Number { least: -1, most: 1, unit: Unit::Count },
        default: "0",
        worth_trying: &["1"],
    },
    Setting {
        name: "page_full_retain",
        meaning: "empty pages of a size that a thread keeps",
        kind: Kind::Number { least: 0, most: 1000, unit: Unit::Count },
        default: "2",
        worth_trying: &["0"],
    },
    Setting {
        name: "page_max_candidates",
        meaning: "how many pages are looked at to find the fullest one",
        kind: Kind::Number { least: 1, most: 1000, unit: Unit::Count },
        default: "4",
        worth_trying: &[],
    },
    Setting {
        name: "minimal_purge_size",
        meaning: "what is smaller is not returned to the system; 0 for mimalloc's own choice",
        kind: Kind::Number { least: 0, most: 1 << 20, unit: Unit::Kibibytes },
        default: "0",
        worth_trying: &[],
    },
    GENERIC_COLLECT,
    ALLOW_THP,
    LARGE_OS_PAGES,
];

/// The variables. A bare number would be bytes where mimalloc counts in KiB.
pub(super) fn variables(settings: &[Setting], chosen: &Settings) -> Vec<(String, String)> {
    let mut variables = one_variable_each("MIMALLOC_", chosen);
    for ((name, _), (_, value)) in chosen.iter().zip(&mut variables) {
        let is_kib = |s: &&Setting| matches!(s.kind, Kind::Number { unit: Unit::Kibibytes, .. });
        if settings.iter().filter(is_kib).any(|s| s.name == name) {
            value.push_str("KiB");
        }
    }
    variables
}

/// The numbers of options, by which our own libraries read settings back: one table, so that what a fix sets is what was measured.
pub(super) mod numbers {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../allocators/mimalloc/src/numbers.rs"));
}

/// A version of mimalloc, as far as writing it down goes.
pub(super) struct Version<'a> {
    /// The line of Cargo.toml that has it.
    pub(super) cargo: &'a str,
    /// Its options' numbers.
    pub(super) options: &'a [(&'a str, i32)],
    /// How other languages get it.
    pub(super) link: &'a str,
}

/// Calls that set the options. Not all take effect later than at the first allocation.
fn calls(options: &[(&str, i32)], chosen: &Settings) -> Vec<String> {
    let call = |(name, value): (&str, &str)| {
        let number = options.iter().find(|(option, _)| *option == name)?.1;
        let value = match value {
            "true" => "1",
            "false" => "0",
            number => number,
        };
        Some(format!("unsafe {{ libmimalloc_sys::mi_option_set({number}, {value}) }}; // mi_option_{name}"))
    };
    chosen.iter().filter_map(call).collect()
}

/// How mimalloc is written down.
pub(super) fn fix(version: &Version<'_>, environment: Vec<(String, String)>, chosen: &Settings) -> Fix {
    let mut rust: Vec<String> = vec![
        "use mimalloc::MiMalloc;".into(),
        "#[global_allocator]".into(),
        "static GLOBAL: MiMalloc = MiMalloc;".into(),
    ];
    let mut sys = r#"libmimalloc-sys = "=0.1.49" # the version that was measured"#;
    if !chosen.is_empty() {
        rust.extend(before_main(&calls(version.options, chosen)));
        sys = r#"libmimalloc-sys = { version = "=0.1.49", features = ["extended"] } # the version that was measured"#;
    }
    let mut caveats = vec![
        "Pages are purged when the thread allocates or frees again: a program that is idle keeps what it has, unless \
         purge_delay is 0."
            .to_owned(),
    ];
    if chosen.get("purge_delay") == Some("0") {
        caveats.push(
            "With purge_delay 0 each emptied page is returned to the system at once, and faulted in again when it is \
             needed; a program that allocates all the time can become much slower."
                .into(),
        );
    }
    if !chosen.is_empty() {
        caveats.push(
            "The variables are read at the start; a value that mimalloc cannot read is passed over, and so is a variable whose \
             option is set in the code. The code is for Linux: other systems have no section .init_array."
                .into(),
        );
        caveats.push(UNSAFE.into());
    }
    Fix {
        cargo: vec![version.cargo.into(), sys.into()],
        rust,
        environment,
        other_languages: vec![version.link.to_owned()],
        calls: vec![Call::new(
            "in each thread that allocates, after a phase that freed much: returns free pages to the system",
            "mi_collect(true); /* #include <mimalloc.h> */",
            r#"unsafe { libmimalloc_sys::mi_collect(true) }; // libmimalloc-sys = { version = "=0.1.49", features = ["extended"] }"#,
        )],
        caveats,
    }
}

/// Of all versions.
pub(super) static FAMILY: Family = Family {
    name: "mimalloc",
    word: "mimalloc",
    libraries: &["libmimalloc"],
    symbols: &[
        Exact("mi_malloc"),
        Exact("mi_heap_malloc"),
        Exact("_mi_malloc_generic"),
        Exact("mi_malloc_aligned"),
    ],
    texts: &["mimalloc: error: ", "mimalloc: warning: "],
    frames: &["_mi_", "mi_"],
    variables: &["MIMALLOC_*"],
    complaints: &[Complaint { start: "mimalloc: warning: ", words: &["has an invalid value"] }],
    interface: Interface::Mimalloc,
    free_pages: "Let mimalloc return pages to the system at once: `MIMALLOC_PURGE_DELAY=0`; or call `mi_collect(true);` after the \
                phase that frees much.",
    fragmentation: "Allocate long-lived blocks in a separate heap (`mi_heap_new`).",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for Mimalloc {
    fn name(&self) -> &'static str {
        "mimalloc"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::Bundled { version: "3.3.2", source: "libmimalloc-sys 0.1.49" }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        variables(SETTINGS, chosen)
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        let version = Version {
            cargo: r#"mimalloc = "=0.1.52""#,
            options: numbers::V3,
            link: "Link mimalloc 3, -lmimalloc, or start the program with LD_PRELOAD=libmimalloc.so.3; Debian 12's package \
                   has mimalloc 2, which is another allocator.",
        };
        fix(&version, self.variables(chosen), chosen)
    }

    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        &[&[("purge_delay", "0"), ("page_full_retain", "0")]]
    }
}

#[cfg(test)]
mod tests {
    use crate::Candidate;

    #[test]
    fn every_setting_can_be_set_in_code() {
        for name in ["mimalloc", "mimalloc2"] {
            let allocator = crate::all().iter().find(|a| a.name() == name).expect("it is in the registry");
            for setting in allocator.settings() {
                let value = if setting.accept("true").is_some() { "true" } else { "1" };
                let value = if setting.accept(value).is_some() { value } else { "1048576" };
                let spec = format!("{name}:{}={value}", setting.name);
                let fix = Candidate::parse(&spec).expect(&spec).fix();
                let line = fix.rust.iter().find(|line| line.contains("mi_option_set("));
                assert!(
                    line.is_some_and(|line| line.ends_with(&format!("// mi_option_{}", setting.name))),
                    "{spec}"
                );
                assert!(fix.cargo[1].contains("extended"), "{fix:?}");
            }
        }
        assert!(Candidate::parse("mimalloc").expect("a name").fix().rust.len() == 3);
    }
}
