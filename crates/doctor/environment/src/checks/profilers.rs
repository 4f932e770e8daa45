//! Heap profilers, of which two at once measure each other.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Words in the names of their libraries, and what they are.
const PROFILERS: &[(&str, &str)] = &[
    ("libheaptrack_preload", "heaptrack"),
    ("libheaptrack_inject", "heaptrack"),
    ("libbytehound", "bytehound"),
    ("_memray", "memray"),
    ("libmemtrace", "memtrace"),
    ("libjemalloc_prof", "a profiling build of jemalloc"),
    ("libmtuner", "MTuner"),
    ("libmalt", "MALT"),
    ("libmemprof", "a memory profiler"),
    ("heapwise_preload", "heapwise"),
    ("heapwise-preload", "heapwise"),
];

pub(super) struct Profilers;

impl Check for Profilers {
    fn id(&self) -> &'static str {
        "heap-profiler"
    }

    fn about(&self) -> &'static str {
        "another heap profiler is loaded: heaptrack, bytehound, memray and others"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["LD_PRELOAD"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let find = |(word, name): &(&'static str, &'static str)| {
            let words = [*word];
            let library = facts.libraries_like(&words).next()?;
            let title = format!(
                "{name} {} the program's allocations",
                if facts.has() == "has" { "records" } else { "would record" }
            );
            let remedy = format!("{}, and use one profiler at a time", super::without(library));
            Some(
                Finding::new(self.id(), Severity::Medium, title, remedy)
                    .because(super::loaded(library))
                    .costs("under heaptrack, filling and dropping a map of 20,000 strings take 2.7 and 3.0 times as long (measured)"),
            )
        };
        PROFILERS.iter().filter_map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin};

    #[test]
    fn heaptrack_is_reported() {
        let path = "/usr/lib/heaptrack/libheaptrack_preload.so".into();
        let facts = Facts { libraries: vec![Library { path, origin: Origin::Mapped }], ..Facts::default() };
        assert_eq!(Profilers.look(&facts)[0].severity, Severity::Medium);
        assert_eq!(Profilers.look(&Facts::default()), []);
    }
}
