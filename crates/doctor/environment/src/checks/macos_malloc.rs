//! The diagnostics of macOS's malloc, which Xcode schemes turn on; from its manual page malloc(3).

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// Variables, what they do and how much it matters.
const VARIABLES: &[(&str, &str, Severity)] = &[
    ("MallocScribble", "fills freed blocks with 0x55", Severity::Medium),
    ("MallocPreScribble", "fills new blocks with 0xAA", Severity::Medium),
    ("MallocGuardEdges", "puts guard pages around large blocks", Severity::Low),
    ("MallocStackLogging", "notes the stack of each allocation", Severity::High),
    ("MallocStackLoggingNoCompact", "notes the stack of each allocation", Severity::High),
    ("MallocCheckHeapStart", "verifies the whole heap every so many calls", Severity::High),
    ("MallocCheckHeapEach", "verifies the whole heap every so many calls", Severity::High),
    ("NSZombieEnabled", "never frees an object", Severity::Medium),
];

pub(super) struct MacOsMalloc;

impl Check for MacOsMalloc {
    fn id(&self) -> &'static str {
        "macos-malloc-diagnostics"
    }

    fn about(&self) -> &'static str {
        "macOS: MallocScribble, MallocStackLogging, MallocNanoZone=0 and their like are set"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["Malloc*", "NSZombieEnabled", "DYLD_INSERT_LIBRARIES"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system != System::MacOs {
            return Vec::new();
        }
        let remedy = |variable: &str| {
            format!("unset {variable}, or turn it off in the Xcode scheme: Run, Diagnostics")
        };
        let found = VARIABLES.iter().filter_map(|(variable, what, severity)| {
            let value = facts.variables.set(variable).filter(|value| *value != "NO")?;
            let title = format!("malloc {what}");
            Some(
                Finding::new(self.id(), *severity, title, remedy(variable))
                    .because(format!("{variable}={value}")),
            )
        });
        let nano = facts.variables.get("MallocNanoZone").filter(|value| *value == "0").map(|value| {
            let title = "malloc's fast zone for small blocks is off";
            let finding = Finding::new(self.id(), Severity::Low, title, remedy("MallocNanoZone"));
            finding.because(format!("MallocNanoZone={value}"))
        });
        found.chain(nano).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_are_reported_on_macos_only() {
        let facts =
            Facts { system: System::MacOs, variables: [("MallocScribble", "1")].into(), ..Facts::default() };
        assert_eq!(MacOsMalloc.look(&facts).len(), 1);
        assert_eq!(MacOsMalloc.look(&Facts { system: System::Linux, ..facts.clone() }), []);
        let facts = Facts { variables: [("MallocNanoZone", "0")].into(), ..facts };
        assert_eq!(MacOsMalloc.look(&facts)[0].severity, Severity::Low);
    }
}
