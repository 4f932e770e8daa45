//! Memory of the process that is not in memory.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Less than this in swap is what every process has there after some weeks.
const LITTLE: u64 = 16 << 20;

pub(super) struct Swapped;

impl Check for Swapped {
    fn id(&self) -> &'static str {
        "swapped"
    }

    fn about(&self) -> &'static str {
        "a good part of the process is in swap"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(process) = facts.process.as_ref() else { return Vec::new() };
        let (swapped, resident) = (process.swapped_bytes, process.resident_bytes);
        if swapped < LITTLE || swapped < resident / 10 {
            return Vec::new();
        }
        let severity = if swapped > resident { Severity::High } else { Severity::Medium };
        vec![
            Finding::new(
                self.id(),
                severity,
                "a good part of the process is in swap",
                "give the machine, or the process's control group, more memory; or make the process smaller",
            )
            .because(format!("{} MiB are in swap, {} MiB in memory", swapped >> 20, resident >> 20))
            .costs("a disk's time for each page that is used again: freeing a block touches it"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Process;

    #[test]
    fn a_little_is_usual() {
        let severity = |swapped: u64, resident: u64| {
            let process = Process {
                swapped_bytes: swapped << 20,
                resident_bytes: resident << 20,
                ..Process::default()
            };
            Swapped.look(&Facts { process: Some(process), ..Facts::default() }).first().map(|f| f.severity)
        };
        assert_eq!(severity(1, 1), None);
        assert_eq!(severity(20, 1000), None);
        assert_eq!(severity(200, 1000), Some(Severity::Medium));
        assert_eq!(severity(2000, 1000), Some(Severity::High));
    }
}
