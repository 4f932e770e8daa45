//! What the allocator really does, found out by allocating blocks, independent of variables and libraries.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Usable bytes of a block of 193 from glibc's checking allocator, which keeps the last bytes for itself; the usual one
/// gives 200, others their size class.
const CHECKED: usize = 193;

/// Libraries that check or fill; other checks report them.
const CHECKING: &[&str] = &[
    "libc_malloc_debug",
    "libefence",
    "libduma",
    "tcmalloc_debug",
    "tcmalloc_minimal_debug",
    "libmimalloc-debug",
];

/// Bytes that allocators fill with, and which ones do.
const FILLS: &[(u8, &str)] = &[
    (0xA5, "jemalloc's junk filling"),
    (0x5A, "jemalloc's junk filling"),
    (0xAB, "tcmalloc's checking build"),
    (0xCD, "tcmalloc's checking build, or a debugging C runtime"),
    (0xAA, "MallocScribble"),
    (0x55, "MallocScribble"),
    (0xD0, "mimalloc's checking build"),
    (0xDF, "mimalloc's checking build"),
    (0xBE, "AddressSanitizer"),
];

pub(super) struct AllocatorProbe;

impl Check for AllocatorProbe {
    fn id(&self) -> &'static str {
        "allocator-probe"
    }

    fn about(&self) -> &'static str {
        "blocks of the allocator are filled when they are made or freed, or checked (asked in a process)"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(probes) = facts.probes else { return Vec::new() };
        let mut findings = Vec::new();
        for (fill, when) in [(probes.fresh_fill, "new"), (probes.freed_fill, "freed")] {
            let Some(byte) = fill.filter(|byte| !is_explained(facts, *byte)) else { continue };
            let by = FILLS
                .iter()
                .find(|(known, _)| *known == byte)
                .map_or("MALLOC_PERTURB_, perhaps", |(_, by)| by);
            findings.push(
                Finding::new(
                    self.id(),
                    Severity::Medium,
                    format!("the allocator fills {when} blocks"),
                    "turn it off where another finding says by what it was turned on, or build without it",
                )
                .because(format!("a {when} block of 3000 bytes was full of 0x{byte:02X}: {by}"))
                .costs("1.7 to 4.5 times as long where blocks are dropped (measured, glibc 2.36 and jemalloc 5.3)"),
            );
        }
        if probes.usable_of_193 == CHECKED && facts.libraries_like(CHECKING).next().is_none() {
            findings.push(
                Finding::new(
                    self.id(),
                    Severity::Medium,
                    "the allocator keeps check bytes behind each block",
                    "turn it off where another finding says by what it was turned on: MALLOC_CHECK_, libc_malloc_debug, \
                     efence",
                )
                .because("malloc_usable_size: 193 for 193 requested; allocators that do not check round up")
                .costs("1.3 to 1.8 times as long where blocks are dropped with glibc's checks (measured, glibc 2.36)"),
            );
        }
        findings
    }
}

/// Whether another check reports the cause of this fill byte.
fn is_explained(facts: &Facts, byte: u8) -> bool {
    let perturb = facts.variables.glibc("MALLOC_PERTURB_", "glibc.malloc.perturb");
    let perturb = perturb.and_then(|(value, _)| super::malloc_perturb::fills_with(value));
    let by_perturb = perturb.is_some_and(|fill| byte == fill || byte == !fill);
    let mut options =
        ["MALLOC_CONF", "_RJEM_MALLOC_CONF"].into_iter().filter_map(|name| facts.variables.get(name));
    let by_jemalloc = facts.libraries_like(&["jemalloc"]).next().is_some()
        && options.any(|options| options.contains("junk:"));
    by_perturb || by_jemalloc || facts.libraries_like(CHECKING).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Probes;

    #[test]
    fn fills_and_exact_sizes_tell() {
        let look = |probes: Probes| AllocatorProbe.look(&Facts { probes: Some(probes), ..Facts::default() });
        let usual = Probes { usable_of_193: 200, ..Probes::default() };
        assert_eq!(look(usual), []);
        assert!(look(Probes { fresh_fill: Some(0xA5), ..usual })[0].evidence[0].contains("jemalloc"));
        assert!(look(Probes { freed_fill: Some(0x17), ..usual })[0].evidence[0].contains("MALLOC_PERTURB_"));
        assert_eq!(look(Probes { usable_of_193: 193, ..usual }).len(), 1);
        let variables = [("MALLOC_PERTURB_", "165")].into();
        let probes = Some(Probes { fresh_fill: Some(0x5A), ..usual });
        let explained = Facts { variables, probes, ..Facts::default() };
        assert_eq!(AllocatorProbe.look(&explained), [], "malloc-perturb says it");
    }
}
