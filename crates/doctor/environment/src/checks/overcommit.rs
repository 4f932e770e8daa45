//! A system that promises no more memory than it has.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Less than this that may yet be promised is little.
const LITTLE: u64 = 256 << 20;

pub(super) struct Overcommit;

impl Check for Overcommit {
    fn id(&self) -> &'static str {
        "overcommit"
    }

    fn about(&self) -> &'static str {
        "vm.overcommit_memory is 2: reserved memory counts as used, and allocators that reserve much fail"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.machine.overcommit != Some(2) {
            return Vec::new();
        }
        let left = facts.machine.commit_left_bytes;
        let severity = if left.is_some_and(|left| left < LITTLE) { Severity::Medium } else { Severity::Low };
        let mut finding = Finding::new(
            self.id(),
            severity,
            "the system promises no more memory than it has",
            "allow for it with vm.overcommit_ratio, or set vm.overcommit_memory to 0; allocators that reserve gigabytes \
             (mimalloc, snmalloc, Go, the JVM) need settings otherwise",
        )
        .because("vm.overcommit_memory is 2")
        .costs("requests fail that would otherwise succeed; arenas and thread stacks count in full");
        finding.evidence.extend(left.map(|left| format!("{} MiB may yet be promised", left >> 20)));
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Machine;

    #[test]
    fn only_strict_accounting_is_reported() {
        let look = |mode: u8, left: u64| {
            let machine =
                Machine { overcommit: Some(mode), commit_left_bytes: Some(left), ..Machine::default() };
            Overcommit.look(&Facts { machine, ..Facts::default() }).first().map(|finding| finding.severity)
        };
        assert_eq!(look(2, 1 << 20), Some(Severity::Medium));
        assert_eq!(look(2, 1 << 40), Some(Severity::Low));
        assert_eq!((look(0, 0), look(1, 0)), (None, None));
    }
}
