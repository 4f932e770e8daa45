//! glibc's number of arenas, where it is so small that threads wait for each other.

use super::Check;
use crate::{Facts, Finding, Severity};

/// glibc gives a 64-bit process up to this many arenas per processor.
const USUAL_PER_PROCESSOR: u64 = 8;

pub(super) struct ArenaMax;

impl Check for ArenaMax {
    fn id(&self) -> &'static str {
        "arena-max"
    }

    fn about(&self) -> &'static str {
        "MALLOC_ARENA_MAX or glibc.malloc.arena_max gives threads fewer arenas than there are processors"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "GLIBC_TUNABLES"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let processors = u64::from(facts.machine.processors);
        if !facts.uses_glibc_malloc() || processors < 2 {
            return Vec::new();
        }
        let Some((value, evidence)) = facts.variables.glibc("MALLOC_ARENA_MAX", "glibc.malloc.arena_max")
        else {
            return Vec::new();
        };
        // Zero is the usual number.
        let Some(arenas) = value.trim().parse::<u64>().ok().filter(|n| *n > 0 && *n < processors) else {
            return Vec::new();
        };
        if facts.process.as_ref().is_some_and(|process| process.threads < 2) {
            return Vec::new();
        }
        let title = format!("threads {} {arenas} of glibc's arenas for {processors} processors", facts.has());
        let remedy = "leave it only if it was set to keep memory small and that was measured; otherwise unset it, or set \
                      it to the number of processors";
        vec![
            Finding::new(self.id(), Severity::Low, title, remedy)
                .because(evidence)
                .because(format!("glibc's own choice is up to {} arenas", processors * USUAL_PER_PROCESSOR))
                .costs(
                    "threads that allocate at the same time wait for each other's locks; the memory of idle arenas is \
                     saved (not visible in processor time, hence not measured)",
                ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Machine, Process, System};

    #[test]
    fn fewer_arenas_than_processors_are_reported() {
        let look = |value: &str, threads: Option<u32>| {
            let facts = Facts {
                system: System::Linux,
                variables: [("MALLOC_ARENA_MAX", value)].into(),
                machine: Machine { processors: 4, ..Machine::default() },
                process: threads.map(|threads| Process { threads, ..Process::default() }),
                ..Facts::default()
            };
            ArenaMax.look(&facts).len()
        };
        assert_eq!(look("1", None), 1);
        assert_eq!(look("1", Some(8)), 1);
        assert_eq!(look("1", Some(1)), 0);
        assert_eq!(look("4", None), 0);
        assert_eq!(look("0", None), 0);
    }
}
