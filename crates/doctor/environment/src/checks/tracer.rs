//! A debugger or tracer that is attached.
//!
//! On Linux a debugger does not change the heap: measured under gdb, a map of strings takes 0.9 to 1.1 times as long. One
//! that stops the program at each system call does, as far as the allocator makes any.

use super::Check;
use crate::{Facts, Finding, Severity};

/// Tracers that stop the program at each system call, and how much slower one is.
const SYSTEM_CALL_TRACERS: &[&str] = &["strace", "ltrace", "proot"];

pub(super) struct TracerAttached;

impl Check for TracerAttached {
    fn id(&self) -> &'static str {
        "tracer"
    }

    fn about(&self) -> &'static str {
        "a debugger, strace or rr is attached to the process"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["RUNNING_UNDER_RR"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let under_rr = facts.variables.set("RUNNING_UNDER_RR").is_some()
            || facts.libraries_like(&["librrpreload", "librrpage"]).next().is_some();
        if under_rr {
            return vec![
                Finding::new(
                    self.id(),
                    Severity::Medium,
                    "the program runs under rr, on one processor at a time",
                    "measure without rr",
                )
                .because("RUNNING_UNDER_RR is set, or rr's library is loaded")
                .costs("1.2 times as long and more; threads take turns (rr's documentation)"),
            ];
        }
        let Some(tracer) = facts.process.as_ref().and_then(|process| process.tracer.as_ref()) else {
            return Vec::new();
        };
        let evidence = format!("TracerPid is {} ({})", tracer.pid, tracer.name);
        let finding = if SYSTEM_CALL_TRACERS.contains(&tracer.name.as_str()) {
            Finding::new(
                self.id(),
                Severity::Medium,
                format!("{} stops the process at each system call", tracer.name),
                "detach it when you measure",
            )
            .costs("each mmap, munmap, brk and madvise of the allocator waits for another process")
        } else {
            Finding::new(
                self.id(),
                Severity::Note,
                format!("{} is attached to the process", tracer.name),
                "no action is needed: on Linux, debuggers do not change the heap",
            )
            .costs("none for the heap: 0.9 to 1.1 times as long (measured with gdb)")
        };
        vec![finding.because(evidence)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Process, Tracer};

    #[test]
    fn debuggers_are_noted_and_tracers_of_calls_are_found() {
        let severity = |name: &str| {
            let tracer = Some(Tracer { pid: 1, name: name.into() });
            let process = Some(Process { tracer, ..Process::default() });
            TracerAttached.look(&Facts { process, ..Facts::default() })[0].severity
        };
        assert_eq!(severity("gdb"), Severity::Note);
        assert_eq!(severity("strace"), Severity::Medium);
        assert_eq!(TracerAttached.look(&Facts { process: Some(Process::default()), ..Facts::default() }), []);
    }
}
