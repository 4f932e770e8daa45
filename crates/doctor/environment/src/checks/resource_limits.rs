//! Limits on address space, at which allocators fail or behave differently.

use super::Check;
use crate::{Facts, Finding, Severity};

pub(super) struct ResourceLimits;

impl Check for ResourceLimits {
    fn id(&self) -> &'static str {
        "resource-limits"
    }

    fn about(&self) -> &'static str {
        "ulimit -v or -d bounds the address space, which is not the memory that is used"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let limits = facts.machine.limits;
        let of = |limit: Option<u64>, name: &str, option: &str| {
            limit.map(|bytes| format!("{name} is bounded to {} MiB (ulimit -{option})", bytes >> 20))
        };
        let evidence: Vec<String> = [
            of(limits.address_space_bytes, "the address space", "v"),
            of(limits.data_bytes, "private writable memory", "d"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if evidence.is_empty() {
            return Vec::new();
        }
        let title = "the address space is bounded";
        let remedy = "bound the memory with a control group instead, or set the limit to unlimited";
        let mut finding = Finding::new(self.id(), Severity::Low, title, remedy).costs(
            "glibc reserves 64 MiB for each arena and other allocators gigabytes, most of it never used: with the limit they \
             share arenas between threads, or fail",
        );
        finding.evidence = evidence;
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Limits, Machine};

    #[test]
    fn a_limit_is_reported() {
        let limits = Limits { address_space_bytes: Some(1 << 30), data_bytes: None };
        let machine = Machine { limits, ..Machine::default() };
        let found = ResourceLimits.look(&Facts { machine, ..Facts::default() });
        assert_eq!(found[0].evidence, ["the address space is bounded to 1024 MiB (ulimit -v)"]);
        assert_eq!(ResourceLimits.look(&Facts::default()), []);
    }
}
