//! A control group that slows its processes down because of their memory.

use super::Check;
use crate::{Facts, Finding, Severity};

/// This full, in percent, a group reclaims memory all the time.
const NEARLY_FULL: u64 = 95;
/// Waiting for memory for this share of the time, in hundredths of a percent, is felt.
const WAITING: u32 = 100;

pub(super) struct CgroupMemory;

impl Check for CgroupMemory {
    fn id(&self) -> &'static str {
        "cgroup-memory"
    }

    fn about(&self) -> &'static str {
        "the control group is at memory.high or at its limit, or its processes wait for memory"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(group) = &facts.machine.cgroup else { return Vec::new() };
        let mut findings = Vec::new();
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let is_at = |bound: Option<u64>| match (group.current_bytes, bound) {
            (Some(current), Some(bound)) => current >= bound / 100 * NEARLY_FULL,
            _ => false,
        };
        let has = group.current_bytes.map(|current| format!("the group {} has {}", group.path, mib(current)));
        if group.high_events > 0 || is_at(group.high_bytes) {
            let severity = if is_at(group.high_bytes) { Severity::High } else { Severity::Medium };
            let mut finding = Finding::new(
                self.id(),
                severity,
                "the control group is slowed down for its memory",
                "raise memory.high (MemoryHigh= of systemd), or make the program smaller",
            )
            .costs("above memory.high the kernel makes each allocating thread wait; it can be the whole time of the program");
            finding.evidence.extend(group.high_bytes.map(|high| format!("memory.high is {}", mib(high))));
            finding.evidence.extend(has.clone());
            if group.high_events > 0 {
                finding.evidence.push(format!("it was slowed down {} times", group.high_events));
            }
            findings.push(finding);
        }
        if is_at(group.max_bytes) || group.max_events > 0 {
            let severity = if is_at(group.max_bytes) { Severity::Medium } else { Severity::Low };
            let mut finding = Finding::new(
                self.id(),
                severity,
                if is_at(group.max_bytes) {
                    "the control group is nearly at its memory limit"
                } else {
                    "the control group has been at its memory limit"
                },
                "raise memory.max, or make the program smaller; file cache counts as well and goes first",
            )
            .costs("at the limit the kernel reclaims a page for each new one, and then kills processes");
            finding.evidence.extend(group.max_bytes.map(|max| format!("the limit is {}", mib(max))));
            finding.evidence.extend(has);
            if group.max_events > 0 {
                finding.evidence.push(format!("the limit was met {} times", group.max_events));
            }
            findings.push(finding);
        }
        if let Some(share) = group.waiting_share.filter(|share| *share >= WAITING) {
            let percent = f64::from(share) / 100.0;
            findings.push(
                Finding::new(
                    self.id(),
                    if percent >= 10.0 { Severity::High } else { Severity::Medium },
                    "processes of the control group wait for memory",
                    "give the group more memory, or have fewer processes in it",
                )
                .because(format!(
                    "memory.pressure: in {percent:.1} % of the last ten seconds some process waited"
                ))
                .costs(format!("{percent:.1} % of the time of the processes that wait")),
            );
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Cgroup, Machine};

    fn severities(group: Cgroup) -> Vec<Severity> {
        let machine = Machine { cgroup: Some(group), ..Machine::default() };
        let found = CgroupMemory.look(&Facts { machine, ..Facts::default() });
        found.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn throttled_and_waiting_groups_are_reported() {
        let usual = Cgroup { current_bytes: Some(10 << 20), max_bytes: Some(1 << 30), ..Cgroup::default() };
        assert_eq!(severities(usual.clone()), []);
        assert_eq!(severities(Cgroup { high_events: 5, ..usual.clone() }), [Severity::Medium]);
        assert_eq!(severities(Cgroup { high_bytes: Some(10 << 20), ..usual.clone() }), [Severity::High]);
        assert_eq!(severities(Cgroup { max_bytes: Some(10 << 20), ..usual.clone() }), [Severity::Medium]);
        assert_eq!(severities(Cgroup { max_events: 1, ..usual.clone() }), [Severity::Low]);
        assert_eq!(severities(Cgroup { waiting_share: Some(1500), ..usual.clone() }), [Severity::High]);
        assert_eq!(severities(Cgroup { waiting_share: Some(10), ..usual }), []);
    }
}
