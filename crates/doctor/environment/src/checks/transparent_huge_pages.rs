//! When the system makes huge pages of a heap.

use super::Check;
use crate::facts::Thp;
use crate::{Facts, Finding, Severity};

pub(super) struct TransparentHugePages;

impl Check for TransparentHugePages {
    fn id(&self) -> &'static str {
        "transparent-huge-pages"
    }

    fn about(&self) -> &'static str {
        "transparent huge pages are on for everything, off, or wanted by a setting that cannot have them"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["GLIBC_TUNABLES", "MALLOC_CONF", "_RJEM_MALLOC_CONF"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if let Some(finding) = self.empty_pool(facts) {
            return vec![finding];
        }
        let Some(mode) = facts.machine.thp else { return Vec::new() };
        let refuses = facts.process.as_ref().is_some_and(|process| process.refuses_huge_pages);
        let place = "/sys/kernel/mm/transparent_hugepage/enabled";
        if mode == Thp::Always && !refuses {
            return vec![
                Finding::new(
                    self.id(),
                    Severity::Note,
                    "the system makes huge pages of every large mapping",
                    "if the resident size matters more than time: `echo madvise` into that file, or \
                     prctl(PR_SET_THP_DISABLE) for one process",
                )
                .because(format!("{place} says always"))
                .costs(
                    "usually a gain: filling and dropping a map of strings takes 0.7 to 0.8 times as long (measured, glibc 2.36); \
                     but a fragmented heap can stay resident 2 MiB at a time",
                ),
            ];
        }
        let wanted = wanted(facts);
        match (wanted, mode == Thp::Never || refuses) {
            (Some(wanted), true) => {
                let why = if refuses {
                    "the process has refused huge pages".into()
                } else {
                    format!("{place} says never")
                };
                vec![
                    Finding::new(
                        self.id(),
                        Severity::Low,
                        "huge pages are asked for, and there are none",
                        format!("`echo madvise` into {place}, or take the setting out"),
                    )
                    .because(wanted)
                    .because(why)
                    .costs(
                        "the gain is missed: 0.7 to 0.8 times as long in a map of strings (measured, glibc 2.36)",
                    ),
                ]
            }
            _ => Vec::new(),
        }
    }
}

impl TransparentHugePages {
    /// With 2 or a size, glibc takes huge pages from a pool that an administrator has to fill.
    fn empty_pool(&self, facts: &Facts) -> Option<Finding> {
        let (value, evidence) = facts.variables.glibc("", "glibc.malloc.hugetlb")?;
        if matches!(value, "0" | "1") || facts.machine.huge_page_pool != Some(0) {
            return None;
        }
        let title = "huge pages are asked for from a pool that is empty";
        let remedy =
            "fill the pool (sysctl vm.nr_hugepages), or set glibc.malloc.hugetlb=1 for transparent ones";
        Some(
            Finding::new(self.id(), Severity::Low, title, remedy)
                .because(evidence)
                .because("HugePages_Total of /proc/meminfo is 0")
                .costs("the gain is missed: 1.0 times as long in a map of strings (measured, glibc 2.36)"),
        )
    }
}

/// The setting that asks for huge pages.
fn wanted(facts: &Facts) -> Option<String> {
    let tunable = facts.variables.glibc("", "glibc.malloc.hugetlb").filter(|(value, _)| *value == "1");
    let of_jemalloc = ["MALLOC_CONF", "_RJEM_MALLOC_CONF"].into_iter().find_map(|variable| {
        let value = facts.variables.get(variable)?;
        value.contains("thp:always").then(|| format!("{variable}={value}"))
    });
    tunable.map(|(_, evidence)| evidence).or(of_jemalloc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Machine;

    #[test]
    fn wanted_and_not_there_is_reported() {
        let severity = |mode: Thp, tunables: &str| {
            let facts = Facts {
                variables: [("GLIBC_TUNABLES", tunables)].into(),
                machine: Machine { thp: Some(mode), ..Machine::default() },
                ..Facts::default()
            };
            TransparentHugePages.look(&facts).first().map(|finding| finding.severity)
        };
        assert_eq!(severity(Thp::Never, "glibc.malloc.hugetlb=1"), Some(Severity::Low));
        assert_eq!(severity(Thp::Madvise, "glibc.malloc.hugetlb=1"), None);
        assert_eq!(severity(Thp::Never, ""), None);
        assert_eq!(severity(Thp::Always, ""), Some(Severity::Note));
        let variables = [("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")].into();
        let machine = Machine { huge_page_pool: Some(0), ..Machine::default() };
        let found = TransparentHugePages.look(&Facts { variables, machine, ..Facts::default() });
        assert!(found[0].title.contains("pool"));
    }
}
