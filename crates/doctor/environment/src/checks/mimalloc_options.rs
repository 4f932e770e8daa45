//! mimalloc's options, which are environment variables.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// Options of mimalloc 2.0 to 3.3 and their older names, from its `src/options.c`.
const KNOWN: &[&str] = &[
    "ABANDONED_PAGE_PURGE",
    "ABANDONED_PAGE_RESET",
    "ABANDONED_RECLAIM_ON_FREE",
    "ALLOW_DECOMMIT",
    "ALLOW_LARGE_OS_PAGES",
    "ALLOW_THP",
    "ARENA_EAGER_COMMIT",
    "ARENA_IS_NUMA_LOCAL",
    "ARENA_MAX_OBJECT_SIZE",
    "ARENA_PURGE_MULT",
    "ARENA_RESERVE",
    "DECOMMIT_DELAY",
    "DECOMMIT_EXTEND_DELAY",
    "DESTROY_ON_EXIT",
    "DISALLOW_ARENA_ALLOC",
    "DISALLOW_OS_ALLOC",
    "EAGER_COMMIT",
    "EAGER_COMMIT_DELAY",
    "EAGER_REGION_COMMIT",
    "GENERIC_COLLECT",
    "GUARDED_MAX",
    "GUARDED_MIN",
    "GUARDED_PRECISE",
    "GUARDED_SAMPLE_RATE",
    "GUARDED_SAMPLE_SEED",
    "LARGE_OS_PAGES",
    "LIMIT_OS_ALLOC",
    "MAX_ERRORS",
    "MAX_SEGMENT_RECLAIM",
    "MAX_VABITS",
    "MAX_WARNINGS",
    "MINIMAL_PURGE_SIZE",
    "OS_TAG",
    "PAGEMAP_COMMIT",
    "PAGE_COMMIT_ON_DEMAND",
    "PAGE_CROSS_THREAD_MAX_RECLAIM",
    "PAGE_FULL_RETAIN",
    "PAGE_MAX_CANDIDATES",
    "PAGE_MAX_RECLAIM",
    "PAGE_RECLAIM_ON_FREE",
    "PAGE_RESET",
    "PURGE_DECOMMITS",
    "PURGE_DELAY",
    "PURGE_EXTEND_DELAY",
    "RESERVE_HUGE_OS_PAGES",
    "RESERVE_HUGE_OS_PAGES_AT",
    "RESERVE_OS_MEMORY",
    "RESET_DECOMMITS",
    "RESET_DELAY",
    "RETRY_ON_OOM",
    "SEGMENT_CACHE",
    "SEGMENT_DECOMMIT_DELAY",
    "SEGMENT_RESET",
    "SHOW_ERRORS",
    "SHOW_STATS",
    "TARGET_SEGMENTS_PER_THREAD",
    "USE_NUMA_NODES",
    "VERBOSE",
    "VISIT_ABANDONED",
];

/// An option that makes mimalloc slower or larger.
struct Costly {
    option: &'static str,
    is_costly: fn(&str) -> bool,
    what: &'static str,
    cost: &'static str,
    severity: Severity,
}

const COSTLY: &[Costly] = &[
    Costly {
        option: "PURGE_DELAY",
        is_costly: |value| value == "0",
        what: "pages returned to the system the moment they are free",
        cost: "system calls and page faults wherever memory is used again; nothing in a map of strings that is dropped at once \
               (measured, mimalloc 2.0)",
        severity: Severity::Low,
    },
    Costly {
        option: "GUARDED_SAMPLE_RATE",
        is_costly: |value| value != "0",
        what: "guard pages behind some blocks",
        cost: "two pages and system calls for each sampled block; only builds with MI_GUARDED read it",
        severity: Severity::Low,
    },
    Costly {
        option: "VERBOSE",
        is_costly: is_on,
        what: "messages on standard error",
        cost: "a line for each thing that happens to an arena",
        severity: Severity::Low,
    },
    Costly {
        option: "RESERVE_HUGE_OS_PAGES",
        is_costly: |value| value != "0",
        what: "huge pages of 1 GiB reserved at the start",
        cost: "these pages are filled at the start, and resident from then on",
        severity: Severity::Low,
    },
];

fn is_on(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off")
}

pub(super) struct MimallocOptions;

impl Check for MimallocOptions {
    fn id(&self) -> &'static str {
        "mimalloc-options"
    }

    fn about(&self) -> &'static str {
        "MIMALLOC_* has options that slow mimalloc or that it does not know, or a checking build of it is loaded"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MIMALLOC_*"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let mut findings = checking_builds(self.id(), facts);
        let options: Vec<(&str, &str)> = facts.variables.starting_with("MIMALLOC_").collect();
        if options.is_empty() || facts.system == System::Other {
            return findings;
        }
        let linked =
            facts.program.iter().flat_map(|program| &program.allocators).any(|a| a.name == "mimalloc");
        let is_there = linked || facts.libraries_like(&["mimalloc"]).next().is_some();
        if !is_there && (facts.program.is_some() || facts.process.is_some()) {
            let mut note = Finding::new(
                self.id(),
                Severity::Note,
                "options of mimalloc are set, and there is no mimalloc that would read them",
                "unset them, or preload or link mimalloc",
            );
            note.evidence = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            findings.push(note);
            return findings;
        }
        for (variable, value) in options {
            let name = variable.trim_start_matches("MIMALLOC_").to_ascii_uppercase();
            let evidence = format!("{variable}={value}");
            if let Some(costly) =
                COSTLY.iter().find(|costly| costly.option == name && (costly.is_costly)(value))
            {
                let title = format!("mimalloc {} {}", facts.has(), costly.what);
                let finding = Finding::new(self.id(), costly.severity, title, format!("unset {variable}"));
                findings.push(finding.because(evidence).costs(costly.cost));
            } else if !KNOWN.contains(&name.as_str()) {
                let title = format!("mimalloc does not know {variable}, and silently ignores it");
                let remedy =
                    "correct its name (MIMALLOC_VERBOSE=1 prints the options that count), or unset it";
                findings.push(Finding::new(self.id(), Severity::Note, title, remedy).because(evidence));
            }
        }
        findings
    }
}

/// Builds that check, by their names.
fn checking_builds(id: &'static str, facts: &Facts) -> Vec<Finding> {
    let libraries =
        facts.libraries_like(&["libmimalloc-secure", "libmimalloc-debug", "libmimalloc-valgrind"]);
    let finding = |library: &crate::facts::Library| {
        let title = format!("the program {} a checking build of mimalloc", facts.has());
        Finding::new(id, Severity::Medium, title, "load the usual build, libmimalloc.so, unless it is meant")
            .because(format!("{} is loaded", library.path.display()))
            .costs("filling and dropping a map of a million strings take 1.1 and 2.6 times as long with the secure build as \
                    with the usual one (measured, mimalloc 2.0)")
    };
    libraries.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin, Program};

    fn look(variable: &str, value: &str, library: &str) -> Vec<Finding> {
        MimallocOptions.look(&Facts {
            system: System::Linux,
            variables: [(variable, value)].into(),
            libraries: vec![Library { path: library.into(), origin: Origin::Preload }],
            program: Some(Program::default()),
            ..Facts::default()
        })
    }

    #[test]
    fn options_that_cost_and_options_that_do_nothing_are_reported() {
        assert_eq!(look("MIMALLOC_PURGE_DELAY", "0", "libmimalloc.so.2")[0].severity, Severity::Low);
        assert_eq!(look("MIMALLOC_PURGE_DELAY", "10", "libmimalloc.so.2"), []);
        assert!(look("MIMALLOC_PURGE_DELAI", "10", "libmimalloc.so.2")[0].title.contains("does not know"));
        assert!(look("MIMALLOC_PURGE_DELAY", "0", "libfoo.so")[0].title.contains("there is no mimalloc"));
        assert_eq!(look("MALLOC_CHECK_", "0", "libmimalloc-secure.so.2")[0].severity, Severity::Medium);
    }

    #[test]
    fn settings_of_the_table_of_allocators_are_known() {
        for name in ["mimalloc", "mimalloc2"] {
            let allocator = heapwise_allocators::by_name(name).expect("it is in the table");
            for setting in allocator.settings() {
                assert!(
                    KNOWN.contains(&setting.name.to_ascii_uppercase().as_str()),
                    "{name}: {}",
                    setting.name
                );
            }
        }
    }
}
