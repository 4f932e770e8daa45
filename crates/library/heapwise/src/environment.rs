//! What was found, and how it reads.

use heapwise_environment::harmless::escape;
use heapwise_environment::{Facts, Finding, Severity, examine};
use std::fmt;

/// What outside of the code slows the heap of this process.
///
/// ```
/// let environment = heapwise::environment();
/// match environment.warning() {
///     Some(warning) => eprintln!("times mean little here: {warning}"),
///     None => assert!(!environment.distorts_measurements()),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    findings: Vec<Finding>,
}

impl Environment {
    pub(crate) fn of(facts: &Facts) -> Self {
        Self { findings: examine(facts) }
    }

    /// Everything that was found, the worst first. Those of [`Severity::Note`] slow nothing.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether nothing slows the heap.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }

    /// Whether times and sizes that are measured in this process say little about the program elsewhere: the heap is several
    /// times slower or larger than it would be.
    pub fn distorts_measurements(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity >= Severity::Medium)
    }

    /// The worst finding in one line, if measurements are distorted.
    pub fn warning(&self) -> Option<String> {
        let serious = self.findings.iter().filter(|finding| finding.severity >= Severity::Medium);
        let more = match serious.clone().count().saturating_sub(1) {
            0 => String::new(),
            n => format!(" (and {n} more: heapwise doctor)"),
        };
        // Why the allocator fills blocks is reported by another finding, if it is known.
        let worst = serious.max_by_key(|finding| (finding.severity, finding.check != "allocator-probe"))?;
        Some(escape(&format!("{}: {}{more}", worst.title, worst.remedy)).into_owned())
    }
}

impl fmt::Display for Environment {
    /// A few lines for people, or one if there is nothing to say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.findings.is_empty() {
            return f.write_str("nothing outside of the code slows the heap of this process");
        }
        for (number, finding) in self.findings.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{} · {} · {}", finding.severity.id(), finding.check, escape(&finding.title))?;
            for evidence in &finding.evidence {
                write!(f, "\n    {}", escape(evidence))?;
            }
            if !finding.cost.is_empty() {
                write!(f, "\n    costs: {}", escape(&finding.cost))?;
            }
            write!(f, "\n    → {}", escape(&finding.remedy))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(severity: Severity, title: &str) -> Finding {
        Finding::new("malloc-perturb", severity, title, "unset it").because("A=\u{1b}[31m")
    }

    #[test]
    fn a_note_is_not_dirty_and_a_low_one_distorts_nothing() {
        let of = |findings: &[Finding]| Environment { findings: findings.to_vec() };
        let note = of(&[found(Severity::Note, "a")]);
        assert!(note.is_clean() && !note.distorts_measurements() && note.warning().is_none());
        let low = of(&[found(Severity::Low, "a")]);
        assert!(!low.is_clean() && !low.distorts_measurements() && low.warning().is_none());
    }

    #[test]
    fn the_warning_is_one_line_about_the_worst() {
        let findings = vec![
            found(Severity::High, "slow\nheap"),
            found(Severity::Medium, "b"),
            found(Severity::Low, "c"),
        ];
        let warning = Environment { findings }.warning().expect("there is one");
        assert_eq!(warning, "slow\\nheap: unset it (and 1 more: heapwise doctor)");
    }

    #[test]
    fn it_reads_well_and_is_harmless() {
        let text = Environment { findings: vec![found(Severity::High, "slow").costs("much")] }.to_string();
        let expected = "high · malloc-perturb · slow\n    A=\\u{1b}[31m\n    costs: much\n    → unset it";
        assert_eq!(text, expected);
        assert!(Environment { findings: vec![] }.to_string().starts_with("nothing"));
    }
}
