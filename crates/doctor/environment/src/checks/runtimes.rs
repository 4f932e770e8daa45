//! Switches of language runtimes and libraries that put their own allocator aside, or check it.

use super::Check;
use crate::{Facts, Finding, Severity};

struct Switch {
    variable: &'static str,
    is_costly: fn(&str) -> bool,
    what: &'static str,
    cost: &'static str,
    severity: Severity,
}

const SWITCHES: &[Switch] = &[
    Switch {
        variable: "PYTHONMALLOC",
        is_costly: |value| value.ends_with("debug"),
        what: "Python checks each of its blocks",
        cost: "each block gets 32 bytes and a pattern around it, verified when it is freed (Python's documentation)",
        severity: Severity::Medium,
    },
    Switch {
        variable: "PYTHONMALLOC",
        is_costly: |value| value == "malloc",
        what: "Python asks malloc for each small object",
        cost: "its own allocator for small objects is bypassed; for a recording that is intended",
        severity: Severity::Low,
    },
    Switch {
        variable: "PYTHONDEVMODE",
        is_costly: |value| !value.is_empty(),
        what: "Python is in its development mode, which checks each block",
        cost: "as PYTHONMALLOC=debug (Python's documentation)",
        severity: Severity::Medium,
    },
    Switch {
        variable: "PYTHONTRACEMALLOC",
        is_costly: |value| value != "0",
        what: "Python traces each allocation",
        cost: "a traceback for each block (Python's documentation)",
        severity: Severity::Medium,
    },
    Switch {
        variable: "GLIBCXX_FORCE_NEW",
        is_costly: |_| true,
        what: "libstdc++'s pool and mt allocators ask operator new each time",
        cost: "only programs that chose these allocators notice",
        severity: Severity::Note,
    },
    Switch {
        variable: "G_SLICE",
        is_costly: |value| value.contains("debug-blocks"),
        what: "GLib checks each slice",
        cost: "each slice is looked up in a table; GLib 2.76 and later have no slices and ignore it",
        severity: Severity::Low,
    },
];

pub(super) struct Runtimes;

impl Check for Runtimes {
    fn id(&self) -> &'static str {
        "runtime-allocator"
    }

    fn about(&self) -> &'static str {
        "a variable makes a runtime check its blocks or bypass its allocator: PYTHONMALLOC, G_SLICE and others"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["PYTHONMALLOC", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "GLIBCXX_FORCE_NEW", "G_SLICE"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let find = |switch: &Switch| {
            let value = facts.variables.set(switch.variable).filter(|value| (switch.is_costly)(value))?;
            let remedy = format!("unset {} when you measure", switch.variable);
            let evidence = format!("{}={value}", switch.variable);
            let finding = Finding::new(self.id(), switch.severity, switch.what, remedy);
            Some(finding.because(evidence).costs(switch.cost))
        };
        SWITCHES.iter().filter_map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_is_reported() {
        let severity = |variable: &str, value: &str| {
            let facts = Facts { variables: [(variable, value)].into(), ..Facts::default() };
            Runtimes.look(&facts).first().map(|finding| finding.severity)
        };
        assert_eq!(severity("PYTHONMALLOC", "malloc_debug"), Some(Severity::Medium));
        assert_eq!(severity("PYTHONMALLOC", "malloc"), Some(Severity::Low));
        assert_eq!(severity("PYTHONMALLOC", "pymalloc"), None);
        assert_eq!(severity("PYTHONTRACEMALLOC", "0"), None);
        assert_eq!(severity("G_SLICE", "always-malloc"), None);
    }
}
