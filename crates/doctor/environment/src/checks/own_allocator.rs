//! Allocators that are linked into the program, which no setting for the C library's and no preload reaches.

use super::Check;
use crate::facts::{Origin, System};
use crate::{Facts, Finding, Severity};

/// Variables that only glibc's malloc reads.
const OF_GLIBC: &[&str] =
    &["MALLOC_ARENA_MAX", "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];

pub(super) struct OwnAllocators;

impl Check for OwnAllocators {
    fn id(&self) -> &'static str {
        "own-allocator"
    }

    fn about(&self) -> &'static str {
        "the program has its own allocator, so settings or preloads for another one do nothing"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["LD_PRELOAD", "MALLOC_*", "SNMALLOC_*"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(program) = facts.program.as_ref().filter(|_| facts.system == System::Linux) else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        let name = program.path.display();
        let preloaded = facts
            .other_allocators()
            .find(|library| matches!(library.origin, Origin::Preload | Origin::SystemPreload));
        if let Some(library) = preloaded {
            let why = if program.is_static {
                Some(format!("{name} is statically linked: no library can be loaded into it"))
            } else if program.is_privileged {
                Some(format!(
                    "{name} gains privileges when it starts, and the loader then ignores LD_PRELOAD"
                ))
            } else if program.exports_malloc {
                Some(format!("{name} defines malloc itself, which takes precedence"))
            } else {
                let own = program.allocators.first();
                own.map(|own| format!("{name} contains {}, and asks that one", own.with_evidence()))
            };
            if let Some(why) = why {
                let title = "the allocator that is preloaded is not the one that the program uses";
                let remedy = "link the allocator into the program instead, or take it out of LD_PRELOAD";
                findings.push(
                    Finding::new(self.id(), Severity::Low, title, remedy)
                        .because(why)
                        .because(super::loaded(library))
                        .costs("a comparison of allocators compares nothing"),
                );
            }
        }
        let set: Vec<String> = OF_GLIBC
            .iter()
            .filter_map(|variable| Some(format!("{variable}={}", facts.variables.set(variable)?)))
            .collect();
        if !facts.uses_glibc_malloc() && !set.is_empty() {
            let title = "settings for glibc's malloc do not reach the allocator that the program uses";
            let mut finding =
                Finding::new(self.id(), Severity::Note, title, "unset them, or set those of its allocator");
            finding.evidence = set;
            if let Some(own) = program.allocators.first() {
                finding.evidence.push(format!("{name} contains {}", own.with_evidence()));
            }
            findings.push(finding);
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, OwnAllocator, Program};

    fn facts(program: Program) -> Facts {
        let path = "/usr/lib/libmimalloc.so.2".into();
        Facts {
            system: System::Linux,
            variables: [("MALLOC_ARENA_MAX", "1")].into(),
            libraries: vec![Library { path, origin: Origin::Preload }],
            program: Some(program),
            ..Facts::default()
        }
    }

    #[test]
    fn a_preload_in_vain_is_reported() {
        let own = OwnAllocator { name: "jemalloc", symbol: "_rjem_malloc".into() };
        for program in [
            Program { is_static: true, ..Program::default() },
            Program { is_privileged: true, ..Program::default() },
            Program { exports_malloc: true, ..Program::default() },
            Program { allocators: vec![own], ..Program::default() },
        ] {
            let found = OwnAllocators.look(&facts(program));
            assert_eq!(
                (found.len(), found[0].severity, found[1].severity),
                (2, Severity::Low, Severity::Note)
            );
        }
        let found = OwnAllocators.look(&facts(Program::default()));
        assert_eq!(
            (found.len(), found[0].severity),
            (1, Severity::Note),
            "the preload works, the variable does not"
        );
    }
}
