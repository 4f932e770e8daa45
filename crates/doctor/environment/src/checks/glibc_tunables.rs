//! `GLIBC_TUNABLES`, as far as other checks do not speak of it, and the variables that are aliases of tunables.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// Tunables of malloc in glibc 2.26 to 2.42; <https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html>.
const KNOWN: &[&str] = &[
    "arena_max",
    "arena_test",
    "check",
    "hugetlb",
    "mmap_max",
    "mmap_threshold",
    "mxfast",
    "perturb",
    "tcache_count",
    "tcache_max",
    "tcache_unsorted_limit",
    "top_pad",
    "trim_threshold",
];
/// A threshold up to this size sends blocks to mmap that programs allocate all the time.
const SMALL_THRESHOLD: u64 = 64 << 10;

/// A setting that makes malloc slower.
struct Slow {
    tunable: &'static str,
    variable: &'static str,
    is_slow: fn(u64) -> bool,
    what: &'static str,
    cost: &'static str,
    severity: Severity,
}

const SLOW: &[Slow] = &[
    Slow {
        tunable: "glibc.malloc.mmap_threshold",
        variable: "MALLOC_MMAP_THRESHOLD_",
        is_slow: |bytes| bytes < SMALL_THRESHOLD,
        what: "small blocks a mapping each",
        cost: "a block that is mapped costs two system calls and a page fault: with a threshold of 0 and no bound on their \
               number, filling a map of strings takes 15 to 31 times as long and dropping it 72 to 290 times (measured, glibc 2.36)",
        severity: Severity::High,
    },
    Slow {
        tunable: "glibc.malloc.mxfast",
        variable: "",
        is_slow: |bytes| bytes == 0,
        what: "no fast bins",
        cost: "dropping a map of a million strings takes 2.1 to 2.2 times as long (measured, glibc 2.36)",
        severity: Severity::Medium,
    },
    Slow {
        tunable: "glibc.malloc.tcache_count",
        variable: "",
        is_slow: |count| count == 0,
        what: "no thread caches",
        cost: "dropping a map of a million strings takes 1.0 to 1.1 times as long with one thread (measured, glibc 2.36); with more \
               of them, they wait for each other's locks",
        severity: Severity::Low,
    },
    Slow {
        tunable: "glibc.malloc.trim_threshold",
        variable: "MALLOC_TRIM_THRESHOLD_",
        is_slow: |bytes| bytes < SMALL_THRESHOLD,
        what: "the top of the heap returned to the system at nearly every chance",
        cost: "0.9 to 1.1 times as long in a map of strings (measured, glibc 2.36), more where the heap's end goes up and down",
        severity: Severity::Low,
    },
];

pub(super) struct GlibcTunables;

impl Check for GlibcTunables {
    fn id(&self) -> &'static str {
        "glibc-tunables"
    }

    fn about(&self) -> &'static str {
        "GLIBC_TUNABLES turns off caches, maps small blocks, or has names that glibc does not know"
    }

    fn variables(&self) -> &'static [&'static str] {
        &[
            "GLIBC_TUNABLES",
            "MALLOC_MMAP_THRESHOLD_",
            "MALLOC_TRIM_THRESHOLD_",
            "MALLOC_TOP_PAD_",
            "MALLOC_MMAP_MAX_",
        ]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system != System::Linux {
            return Vec::new();
        }
        let mut findings = Vec::new();
        if facts.uses_glibc_malloc() {
            findings.extend(SLOW.iter().filter_map(|slow| self.slow(facts, slow)));
        }
        findings.extend(self.unknown(facts));
        findings.extend(self.ignored(facts));
        findings
    }
}

impl GlibcTunables {
    fn slow(&self, facts: &Facts, slow: &Slow) -> Option<Finding> {
        let (value, evidence) = facts.variables.glibc(slow.variable, slow.tunable)?;
        let value = number(value).filter(|value| (slow.is_slow)(*value))?;
        // A threshold means nothing where no block may be mapped.
        let maps = facts.variables.glibc("MALLOC_MMAP_MAX_", "glibc.malloc.mmap_max");
        if slow.tunable.ends_with("mmap_threshold") && maps.and_then(|(n, _)| number(n)) == Some(0) {
            return None;
        }
        let title = format!("malloc {} {}", facts.has(), slow.what);
        let remedy = format!("take {}={value} out of the environment", slow.tunable);
        let remedy =
            if evidence.starts_with("GLIBC_TUNABLES") { remedy } else { format!("unset {}", slow.variable) };
        Some(Finding::new(self.id(), slow.severity, title, remedy).because(evidence).costs(slow.cost))
    }

    fn unknown(&self, facts: &Facts) -> Option<Finding> {
        let of_malloc = |name: &str| name.strip_prefix("glibc.malloc.").map(|rest| KNOWN.contains(&rest));
        let list = facts.variables.get("GLIBC_TUNABLES")?;
        let wrong: Vec<&str> = list
            .split(':')
            .filter(|part| !part.is_empty())
            .filter(|part| match part.split_once('=') {
                None => true,
                Some((name, value)) => match of_malloc(name) {
                    Some(known) => !known || number(value).is_none(),
                    None => !name.starts_with("glibc."),
                },
            })
            .collect();
        if wrong.is_empty() {
            return None;
        }
        let title = format!("glibc silently ignores {} of GLIBC_TUNABLES", quoted(&wrong));
        let remedy = "correct it (`ld.so --list-tunables` has the names; settings are NAME=VALUE with `:` between them), \
                      or take it out";
        Some(Finding::new(self.id(), Severity::Note, title, remedy).because(format!("GLIBC_TUNABLES={list}")))
    }

    fn ignored(&self, facts: &Facts) -> Option<Finding> {
        let list = facts.variables.set("GLIBC_TUNABLES")?;
        let program = facts.program.as_ref().filter(|program| program.is_privileged)?;
        let title = format!("glibc ignores GLIBC_TUNABLES in {}", program.path.display());
        let remedy =
            "the program gains privileges when it starts; settings for it have to be in its code (mallopt)";
        Some(Finding::new(self.id(), Severity::Note, title, remedy).because(format!("GLIBC_TUNABLES={list}")))
    }
}

/// A number as glibc reads it: decimal, hexadecimal after 0x, octal after 0.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(&text[1..], 8).ok(),
        None => text.parse().ok(),
    }
}

fn quoted(all: &[&str]) -> String {
    let quoted: Vec<String> = all.iter().map(|one| format!("`{one}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Program;

    fn look(value: &str) -> Vec<Finding> {
        let variables = [("GLIBC_TUNABLES", value)].into();
        GlibcTunables.look(&Facts { system: System::Linux, variables, ..Facts::default() })
    }

    #[test]
    fn each_slow_setting_is_reported() {
        let severity = |value: &str| look(value).first().map(|finding| finding.severity);
        assert_eq!(severity("glibc.malloc.mmap_threshold=0"), Some(Severity::High));
        assert_eq!(severity("glibc.malloc.mmap_threshold=131072"), None);
        assert_eq!(severity("glibc.malloc.mmap_threshold=0:glibc.malloc.mmap_max=0"), None);
        assert_eq!(severity("glibc.malloc.mxfast=0x0"), Some(Severity::Medium));
        assert_eq!(severity("glibc.malloc.tcache_count=0"), Some(Severity::Low));
        assert_eq!(severity("glibc.malloc.trim_threshold=0"), Some(Severity::Low));
        assert_eq!(look("glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0").len(), 2);
    }

    #[test]
    fn what_glibc_does_not_know_is_reported() {
        let title = |value: &str| look(value).first().map(|finding| finding.title.clone());
        let about = |what: &str| Some(format!("glibc silently ignores {what} of GLIBC_TUNABLES"));
        assert_eq!(title("glibc.malloc.tcache=0"), about("`glibc.malloc.tcache=0`"));
        assert_eq!(title("glibc.malloc.perturb=yes"), about("`glibc.malloc.perturb=yes`"));
        assert_eq!(title("malloc.check=3"), about("`malloc.check=3`"));
        assert_eq!(title("glibc.cpu.x86_shstk=off"), None);
        assert_eq!(title(""), None);
    }

    #[test]
    fn privileged_programs_ignore_them() {
        let program = Some(Program { is_privileged: true, ..Program::default() });
        let variables = [("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")].into();
        let found =
            GlibcTunables.look(&Facts { system: System::Linux, variables, program, ..Facts::default() });
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn numbers_are_those_of_c() {
        assert_eq!(
            (number("0x10"), number("010"), number("0"), number("ten")),
            (Some(16), Some(8), Some(0), None)
        );
    }
}
