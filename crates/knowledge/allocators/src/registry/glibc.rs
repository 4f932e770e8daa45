//! The allocator of the C library, which nearly every program on Linux has if it does nothing about it.

use super::{Allocator, Origin};
use crate::family::{Family, Interface};
use crate::fix::{Call, Fix, UNSAFE, before_main};
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Glibc;

const GIB: i64 = 1 << 30;

static SETTINGS: &[Setting] = &[
    Setting {
        name: "arena_max",
        meaning: "how many arenas threads share at most; fewer hold less memory, but threads wait more for them",
        kind: Kind::Number { least: 1, most: 4096, unit: Unit::Count },
        default: "8 times the number of processors",
        worth_trying: &["1", "2"],
    },
    Setting {
        name: "trim_threshold",
        meaning: "free bytes at the end of the main heap that are returned to the system; setting it ends its \
                  growing by itself",
        kind: Kind::Number { least: 0, most: 64 * GIB, unit: Unit::Bytes },
        default: "131072, and grows with the blocks that the program frees",
        worth_trying: &["131072"],
    },
    Setting {
        name: "mmap_threshold",
        meaning: "blocks from this size on are mapped alone and returned to the system at once; setting it ends its \
                  growing by itself",
        // The library's own limit on 64-bit systems, `HEAP_MAX_SIZE / 2`.
        kind: Kind::Number { least: 4096, most: 32 << 20, unit: Unit::Bytes },
        default: "131072, and grows with the blocks that the program frees",
        worth_trying: &["131072"],
    },
    Setting {
        name: "mmap_max",
        meaning: "how many blocks are mapped alone at most",
        kind: Kind::Number { least: 0, most: i32::MAX as i64, unit: Unit::Count },
        default: "65536",
        worth_trying: &[],
    },
    Setting {
        name: "top_pad",
        meaning: "bytes that are asked for, and kept when trimming, beyond what is needed",
        kind: Kind::Number { least: 0, most: GIB, unit: Unit::Bytes },
        default: "131072",
        worth_trying: &[],
    },
    Setting {
        name: "tcache_count",
        meaning: "blocks of each size that a thread keeps for itself",
        kind: Kind::Number { least: 0, most: 127, unit: Unit::Count },
        default: "7",
        worth_trying: &["64"],
    },
    Setting {
        name: "tcache_max",
        meaning: "largest block that a thread keeps for itself",
        kind: Kind::Number { least: 24, most: 1032, unit: Unit::Bytes },
        default: "1032",
        worth_trying: &[],
    },
    Setting {
        name: "mxfast",
        meaning: "largest block that goes to the fast bins, which are not united with their neighbours",
        kind: Kind::Number { least: 0, most: 160, unit: Unit::Bytes },
        default: "128",
        worth_trying: &[],
    },
    Setting {
        name: "hugetlb",
        meaning: "1: asks for transparent huge pages; 2: takes the system's reserved huge pages",
        kind: Kind::Number { least: 0, most: 2, unit: Unit::Count },
        default: "0",
        worth_trying: &["1"],
    },
];

/// Names of `mallopt` for settings that have one.
const MALLOPT: &[(&str, &str)] = &[
    ("arena_max", "M_ARENA_MAX"),
    ("trim_threshold", "M_TRIM_THRESHOLD"),
    ("mmap_threshold", "M_MMAP_THRESHOLD"),
    ("mmap_max", "M_MMAP_MAX"),
    ("top_pad", "M_TOP_PAD"),
    ("mxfast", "M_MXFAST"),
];

/// The name of `mallopt` for a setting, if it has one and takes this value, which is an `int` there.
fn mallopt(setting: &str, value: &str) -> Option<&'static str> {
    value.parse::<i32>().ok()?;
    Some(MALLOPT.iter().find(|(name, _)| *name == setting)?.1)
}

/// Lines for Cargo.toml and for the main file. `mallopt` does not know all settings, and half of what was measured is not what
/// was measured: then there is the environment only.
fn in_rust(chosen: &Settings) -> (Vec<String>, Vec<String>) {
    let mut rust = vec![
        "// No #[global_allocator]: Rust programs on Linux have the C library's allocator by themselves. Take another one out."
            .to_owned(),
    ];
    let call = |(name, value): (&str, &str)| {
        let option = mallopt(name, value)?;
        Some(format!("unsafe {{ libc::mallopt(libc::{option}, {value}) }};"))
    };
    let calls: Option<Vec<String>> = chosen.iter().map(call).collect();
    match calls {
        Some(calls) if !calls.is_empty() => {
            rust.extend(before_main(&calls));
            (vec![r#"libc = "0.2""#.to_owned()], rust)
        }
        _ => (Vec::new(), rust),
    }
}

static FAMILY: Family = Family {
    name: super::GLIBC,
    libraries: &["libc.so.", "libc-2."],
    frames: &["__libc_"],
    variables: &["MALLOC_*"],
    interface: Interface::CLibrary,
    free_pages: "Call `malloc_trim(0);` after the phase that frees much: it returns all free pages. No setting of glibc does: \
                `trim_threshold` is about the end of the heap alone, and what lies below a block that lives on stays. jemalloc \
                with `background_thread:true` returns pages by itself.",
    new_pages: Some(
        "Or have glibc keep the pages of what is freed, which then stay resident: \
         `GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736`. Blocks of other threads than the \
         first one need `:glibc.malloc.arena_max=1` behind that, with which all threads share one heap. What it saves, \
         `heapwise compare --with glibc:mmap_max=0:trim_threshold=68719476736 CMD` says.",
    ),
    ..Family::UNKNOWN
};

impl Allocator for Glibc {
    fn name(&self) -> &'static str {
        super::GLIBC
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::CLibrary
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        let tunables: Vec<_> =
            chosen.iter().map(|(name, value)| format!("glibc.malloc.{name}={value}")).collect();
        if tunables.is_empty() { Vec::new() } else { vec![("GLIBC_TUNABLES".into(), tunables.join(":"))] }
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        let mut calls = vec![Call::new(
            "where the program is idle after it has freed much, or from a timer: returns all free pages to the system",
            "malloc_trim(0); /* #include <malloc.h> */",
            "unsafe { libc::malloc_trim(0) };",
        )];
        for (setting, value) in chosen.iter() {
            let Some(option) = mallopt(setting, value) else { continue };
            calls.push(Call::new(
                "first in main, before threads are started",
                &format!("mallopt({option}, {value}); /* #include <malloc.h> */"),
                &format!("unsafe {{ libc::mallopt(libc::{option}, {value}) }};"),
            ));
        }
        let mut caveats = vec![
            // Measured on two cores: a million blocks of 1000 bytes of which every hundredth stayed.
            "malloc_trim holds each arena while it walks it: 0.3 to 0.7 s for a GB that it returned to the system, 0.03 \
             to 0.06 s for one of which nothing was left to return. Call it where no request waits."
                .to_owned(),
        ];
        if !chosen.is_empty() {
            caveats.push(
                "GLIBC_TUNABLES is read at the start, is inherited by the programs that the program starts, and has no \
                 effect on setuid programs; names that the C library does not know are silently ignored."
                    .into(),
            );
        }
        if chosen.get("arena_max").is_some() {
            caveats.push(
                "Threads that share an arena wait for one another: look at the CPU and latencies.".into(),
            );
        }
        let (cargo, rust) = in_rust(chosen);
        if !cargo.is_empty() {
            caveats.push(UNSAFE.into());
        }
        Fix {
            cargo,
            rust,
            environment: self.variables(chosen),
            other_languages: vec![
                "The C library's allocator is there unless another one is linked or preloaded: leave -ljemalloc and the like out \
                 (redis: make MALLOC=libc), and variables such as LD_PRELOAD."
                    .into(),
            ],
            calls,
            caveats,
        }
    }

    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        &[
            &[("mmap_threshold", "131072"), ("trim_threshold", "131072")],
            &[("arena_max", "2"), ("trim_threshold", "131072")],
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::Candidate;

    /// `mallopt` takes an `int`: what does not fit would be another value, or no program at all.
    #[test]
    fn a_value_that_is_no_int_is_for_the_environment_only() {
        let fix = Candidate::parse("glibc:trim_threshold=4294967296").expect("a value").fix();
        assert_eq!(
            fix.environment,
            [("GLIBC_TUNABLES".into(), "glibc.malloc.trim_threshold=4294967296".into())]
        );
        assert!(fix.cargo.is_empty() && !fix.rust.iter().any(|line| line.contains("mallopt")), "{fix:?}");
        assert!(!fix.calls.iter().any(|call| format!("{call:?}").contains("mallopt")), "{fix:?}");
        let fix = Candidate::parse("glibc:trim_threshold=131072").expect("a value").fix();
        assert!(
            fix.rust.iter().any(|line| line.contains("mallopt(libc::M_TRIM_THRESHOLD, 131072)")),
            "{fix:?}"
        );
    }
}
