//! glibc fills blocks: `MALLOC_PERTURB_` and `glibc.malloc.perturb`.

use super::Check;
use crate::{Facts, Finding, Severity};

pub(super) struct MallocPerturb;

impl Check for MallocPerturb {
    fn id(&self) -> &'static str {
        "malloc-perturb"
    }

    fn about(&self) -> &'static str {
        "MALLOC_PERTURB_ or glibc.malloc.perturb makes glibc write over each block that is freed"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MALLOC_PERTURB_", "GLIBC_TUNABLES"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if !facts.uses_glibc_malloc() {
            return Vec::new();
        }
        let Some((value, evidence)) = facts.variables.glibc("MALLOC_PERTURB_", "glibc.malloc.perturb") else {
            return Vec::new();
        };
        let Some(byte) = fills_with(value) else { return Vec::new() };
        let title = format!("the heap {} each freed block overwritten", facts.has());
        let remedy = "unset MALLOC_PERTURB_ and glibc.malloc.perturb outside of tests for bugs";
        let mut finding = Finding::new(self.id(), Severity::Medium, title, remedy).because(evidence).costs(
            "dropping a map of a million strings takes 2.1 to 3.0 times as long (measured, glibc 2.36)",
        );
        if facts.probes.is_some_and(|probes| probes.fresh_fill == Some(!byte)) {
            finding
                .evidence
                .push(format!("a new block was full of 0x{:02X}, which is 0x{byte:02X} inverted", !byte));
        }
        vec![finding]
    }
}

/// The byte that a value of the variable stands for: freed blocks are filled with it, fresh ones with its inverse. Zero is off.
pub(super) fn fills_with(value: &str) -> Option<u8> {
    let byte = value.trim().parse::<u64>().ok()? as u8;
    (byte != 0).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::System;

    #[test]
    fn zero_is_off() {
        let look = |variables: crate::facts::Variables| {
            let facts = Facts { system: System::Linux, variables, ..Facts::default() };
            MallocPerturb.look(&facts).len()
        };
        assert_eq!(look([("MALLOC_PERTURB_", "165")].into()), 1);
        assert_eq!(look([("GLIBC_TUNABLES", "glibc.malloc.perturb=1")].into()), 1);
        assert_eq!(look([("MALLOC_PERTURB_", "0")].into()), 0);
        assert_eq!(look([].into()), 0);
    }
}
