//! Programs that were built with a sanitizer.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Words in the names of their libraries, what they are, and what their documentation says that they cost.
const SANITIZERS: &[(&[&str], &str, &str)] = &[
    (&["libasan", "clang_rt.asan"], "AddressSanitizer", "typically 2 times as long (its documentation)"),
    (
        &["libhwasan", "clang_rt.hwasan"],
        "HWAddressSanitizer",
        "typically 2 times as long (its documentation)",
    ),
    (
        &["libtsan", "clang_rt.tsan"],
        "ThreadSanitizer",
        "5 to 15 times as long, 5 to 10 times the memory (its documentation)",
    ),
    (&["libmsan", "clang_rt.msan"], "MemorySanitizer", "typically 3 times as long (its documentation)"),
    (
        &["liblsan", "clang_rt.lsan"],
        "LeakSanitizer",
        "hardly anything until the end of the process (its documentation)",
    ),
];

pub(super) struct Sanitizers;

impl Check for Sanitizers {
    fn id(&self) -> &'static str {
        "sanitizer"
    }

    fn about(&self) -> &'static str {
        "the program was built with a sanitizer, or one is loaded, which brings its own allocator"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["ASAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "HWASAN_OPTIONS"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let find = |(words, name, cost): &(&'static [&'static str], &'static str, &'static str)| {
            let library = facts.libraries_like(words).next().map(super::loaded);
            let built = facts.program.as_ref().filter(|program| program.sanitizers.contains(name));
            let built = built.map(|program| format!("{} was built with it", program.path.display()));
            let evidence: Vec<String> = built.into_iter().chain(library).collect();
            if evidence.is_empty() {
                return None;
            }
            let severity = if *name == "LeakSanitizer" { Severity::Low } else { Severity::High };
            let title = format!("the program {} {name}'s allocator", facts.has());
            let mut finding = Finding::new(
                self.id(),
                severity,
                title,
                "measure a build without -fsanitize (Rust: -Zsanitizer)",
            )
            .costs(*cost);
            finding.evidence = evidence;
            Some(finding)
        };
        SANITIZERS.iter().filter_map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin, Program};

    #[test]
    fn libraries_and_symbols_tell() {
        let libraries = vec![Library { path: "/usr/lib/libasan.so.8".into(), origin: Origin::Mapped }];
        assert_eq!(Sanitizers.look(&Facts { libraries, ..Facts::default() }).len(), 1);
        let program = Some(Program { sanitizers: vec!["ThreadSanitizer"], ..Program::default() });
        let found = Sanitizers.look(&Facts { program, ..Facts::default() });
        assert!(found[0].title.contains("ThreadSanitizer"));
    }
}
