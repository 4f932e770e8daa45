//! Variables of gperftools' tcmalloc.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// A variable that makes tcmalloc slower.
struct Slow {
    variable: &'static str,
    is_slow: fn(&str) -> bool,
    what: &'static str,
    cost: &'static str,
    severity: Severity,
    /// Whether the library that has only the allocator, libtcmalloc_minimal, reads it.
    in_minimal: bool,
}

const PROFILED: &str = "filling and dropping a map of a million strings take 18 to 26 and 4 to 7 times as long (measured, gperftools 2.10)";

const SLOW: &[Slow] = &[
    Slow {
        variable: "HEAPPROFILE",
        is_slow: |_| true,
        what: "each allocation profiled by tcmalloc",
        cost: PROFILED,
        severity: Severity::High,
        in_minimal: false,
    },
    Slow {
        variable: "HEAPCHECK",
        is_slow: |_| true,
        what: "each allocation noted by tcmalloc's leak checker",
        cost: PROFILED,
        severity: Severity::High,
        in_minimal: false,
    },
    Slow {
        variable: "TCMALLOC_SAMPLE_PARAMETER",
        is_slow: |value| value.parse::<u64>().is_ok_and(|n| n > 0 && n < 64 << 10),
        what: "an allocation sampled each few kilobytes",
        cost: "a stack for each sample",
        severity: Severity::Low,
        in_minimal: false,
    },
    Slow {
        variable: "TCMALLOC_AGGRESSIVE_DECOMMIT",
        is_slow: |value| is_on(value),
        what: "pages returned to the system the moment they are free",
        cost: "system calls and page faults wherever memory is used again",
        severity: Severity::Low,
        in_minimal: true,
    },
    Slow {
        variable: "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
        is_slow: |value| value.parse::<u64>().is_ok_and(|n| n < 4 << 20),
        what: "thread caches of less than 4 MiB in all",
        cost: "threads go to the central lists, and their locks, more often",
        severity: Severity::Low,
        in_minimal: true,
    },
];

fn is_on(value: &str) -> bool {
    matches!(value.bytes().next(), Some(b't' | b'T' | b'y' | b'Y' | b'1'))
}

pub(super) struct TcmallocOptions;

impl Check for TcmallocOptions {
    fn id(&self) -> &'static str {
        "tcmalloc-options"
    }

    fn about(&self) -> &'static str {
        "HEAPPROFILE, HEAPCHECK or TCMALLOC_* slow tcmalloc, or are set and not read"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["HEAPPROFILE", "HEAPCHECK", "TCMALLOC_*"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system != System::Linux {
            return Vec::new();
        }
        let linked =
            facts.program.iter().flat_map(|program| &program.allocators).any(|a| a.name == "tcmalloc");
        let is_known = facts.program.is_some() || facts.process.is_some();
        let is_full =
            facts.libraries_like(&["libtcmalloc.", "libtcmalloc_debug", "libtcmalloc_and"]).next().is_some();
        let is_minimal = facts.libraries_like(&["libtcmalloc_minimal"]).next().is_some();
        let finding = |slow: &Slow| {
            let value = facts.variables.set(slow.variable).filter(|value| (slow.is_slow)(value))?;
            let evidence = format!("{}={value}", slow.variable);
            if linked || is_full || (is_minimal && slow.in_minimal) || !is_known {
                let title = format!("the program {} {}", facts.has(), slow.what);
                let remedy = format!("unset {}", slow.variable);
                return Some(
                    Finding::new(self.id(), slow.severity, title, remedy).because(evidence).costs(slow.cost),
                );
            }
            let title = format!("{} is set, and there is no tcmalloc that would read it", slow.variable);
            let remedy = "unset it, or preload or link the whole libtcmalloc";
            Some(Finding::new(self.id(), Severity::Note, title, remedy).because(evidence))
        };
        SLOW.iter().filter_map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin, Program};

    #[test]
    fn a_variable_counts_for_those_who_read_it() {
        let severity = |variable: &str, value: &str, library: &str| {
            let facts = Facts {
                system: System::Linux,
                variables: [(variable, value)].into(),
                libraries: vec![Library { path: library.into(), origin: Origin::Mapped }],
                program: Some(Program::default()),
                ..Facts::default()
            };
            TcmallocOptions.look(&facts).first().map(|finding| finding.severity)
        };
        assert_eq!(severity("HEAPPROFILE", "/tmp/p", "/usr/lib/libtcmalloc.so.4"), Some(Severity::High));
        assert_eq!(
            severity("HEAPPROFILE", "/tmp/p", "/usr/lib/libtcmalloc_minimal.so.4"),
            Some(Severity::Note)
        );
        assert_eq!(severity("HEAPCHECK", "normal", "/lib/libc.so.6"), Some(Severity::Note));
        let minimal = "/usr/lib/libtcmalloc_minimal.so.4";
        assert_eq!(severity("TCMALLOC_AGGRESSIVE_DECOMMIT", "1", minimal), Some(Severity::Low));
        assert_eq!(severity("TCMALLOC_AGGRESSIVE_DECOMMIT", "0", minimal), None);
    }
}
