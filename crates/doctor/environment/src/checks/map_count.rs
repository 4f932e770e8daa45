//! The number of mappings that a process may have.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Beyond this share, in percent, the bound is near.
const NEAR: u64 = 80;
/// The kernel's own choice. Less than this was set by a person.
const USUAL: u64 = 65_530;

pub(super) struct MapCount;

impl Check for MapCount {
    fn id(&self) -> &'static str {
        "max-map-count"
    }

    fn about(&self) -> &'static str {
        "the process has nearly as many mappings as vm.max_map_count allows, or that is small"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(most) = facts.machine.max_map_count else { return Vec::new() };
        let evidence = format!("vm.max_map_count is {most}");
        if let Some(process) = facts.process.as_ref().filter(|process| process.mappings * 100 >= most * NEAR)
        {
            return vec![
                Finding::new(
                    self.id(),
                    Severity::Medium,
                    format!("the process has {} mappings of the {most} that it may have", process.mappings),
                    "raise vm.max_map_count; guard pages, small mmap thresholds and fences are what makes so many",
                )
                .because(evidence)
                .costs("at the bound, requests for memory fail, and each page fault has more to search in"),
            ];
        }
        if most < USUAL {
            return vec![
                Finding::new(
                    self.id(),
                    Severity::Low,
                    "processes may have fewer mappings than usual",
                    format!("raise vm.max_map_count to {USUAL} or more"),
                )
                .because(evidence)
                .costs("allocators that unmap or protect parts of their memory fail early"),
            ];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Machine, Process};

    #[test]
    fn near_the_bound_is_reported() {
        let severity = |mappings: u64, most: u64| {
            let machine = Machine { max_map_count: Some(most), ..Machine::default() };
            let process = Some(Process { mappings, ..Process::default() });
            MapCount
                .look(&Facts { machine, process, ..Facts::default() })
                .first()
                .map(|finding| finding.severity)
        };
        assert_eq!(severity(60_000, USUAL), Some(Severity::Medium));
        assert_eq!(severity(100, USUAL), None);
        assert_eq!(severity(100, 1000), Some(Severity::Low));
    }
}
