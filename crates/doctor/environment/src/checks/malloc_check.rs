//! glibc's checking allocator: `MALLOC_CHECK_` and `glibc.malloc.check`.
//!
//! Since glibc 2.34 the checks are in a separate library, libc_malloc_debug. Without it the variable does nothing.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// The library that has the checks since glibc 2.34.
const DEBUG_LIBRARY: &[&str] = &["libc_malloc_debug"];
/// The first version whose allocator itself has none.
const MOVED_OUT: (u32, u32) = (2, 34);

pub(super) struct MallocCheck;

impl Check for MallocCheck {
    fn id(&self) -> &'static str {
        "malloc-check"
    }

    fn about(&self) -> &'static str {
        "MALLOC_CHECK_ or glibc.malloc.check makes glibc verify each block, or is set in vain"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MALLOC_CHECK_", "GLIBC_TUNABLES"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system != System::Linux {
            return Vec::new();
        }
        let asked = facts.variables.glibc("MALLOC_CHECK_", "glibc.malloc.check");
        let library = facts.libraries_like(DEBUG_LIBRARY).next();
        let is_old = facts.machine.glibc.is_some_and(|version| version < MOVED_OUT);
        let finding = match (asked, library) {
            (None, None) => return Vec::new(),
            (Some((_, evidence)), None) if !is_old => Finding::new(
                self.id(),
                Severity::Note,
                "malloc checking is asked for and does nothing",
                "unset it; to have the checks, preload libc_malloc_debug.so.0 as well, or use AddressSanitizer",
            )
            .because(evidence)
            .because("since glibc 2.34 the checks are in libc_malloc_debug.so.0, which is not loaded"),
            (asked, library) => {
                let mut finding = Finding::new(
                    self.id(),
                    Severity::Medium,
                    format!("the heap {} glibc's checks of each block", facts.has()),
                    "unset MALLOC_CHECK_ and glibc.malloc.check, and take libc_malloc_debug.so.0 out of LD_PRELOAD",
                )
                .costs(
                    "dropping a map of a million strings takes 1.7 to 1.8 times as long, 1.0 to 1.3 times with \
                     the library alone (measured, glibc 2.36)",
                );
                finding.evidence.extend(asked.map(|(_, evidence)| evidence));
                finding.evidence.extend(library.map(super::loaded));
                if facts.probes.is_some_and(|probes| probes.usable_of_193 == 193) {
                    finding.evidence.push("malloc_usable_size: 193 for 193 requested, and not 200".into());
                }
                finding
            }
        };
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Machine, Origin};

    fn facts(variable: Option<&str>, library: bool, glibc: (u32, u32)) -> Facts {
        let path = "/lib/x86_64-linux-gnu/libc_malloc_debug.so.0".into();
        Facts {
            system: System::Linux,
            variables: variable.map(|v| [("MALLOC_CHECK_", v)].into()).unwrap_or_default(),
            libraries: if library { vec![Library { path, origin: Origin::Preload }] } else { Vec::new() },
            machine: Machine { glibc: Some(glibc), ..Machine::default() },
            ..Facts::default()
        }
    }

    #[test]
    fn it_says_when_the_variable_does_nothing() {
        let severity = |facts: &Facts| MallocCheck.look(facts).first().map(|finding| finding.severity);
        assert_eq!(severity(&facts(Some("3"), false, (2, 36))), Some(Severity::Note));
        assert_eq!(severity(&facts(Some("3"), false, (2, 33))), Some(Severity::Medium));
        assert_eq!(severity(&facts(Some("3"), true, (2, 36))), Some(Severity::Medium));
        assert_eq!(severity(&facts(None, true, (2, 36))), Some(Severity::Medium));
        assert_eq!(severity(&facts(None, false, (2, 36))), None);
    }
}
