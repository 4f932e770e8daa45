//! `MALLOC_TRACE`, which does something only in programs that call `mtrace`.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

pub(super) struct MallocTrace;

impl Check for MallocTrace {
    fn id(&self) -> &'static str {
        "malloc-trace"
    }

    fn about(&self) -> &'static str {
        "MALLOC_TRACE is set, which writes a line per allocation in programs that call mtrace"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MALLOC_TRACE"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(file) = facts.variables.set("MALLOC_TRACE").filter(|_| facts.system == System::Linux) else {
            return Vec::new();
        };
        let has_mtrace = facts.libraries_like(&["libc_malloc_debug"]).next().is_some();
        let (severity, title, remedy) = if has_mtrace {
            let title = format!("each allocation {} a line written about it", facts.has());
            (Severity::Medium, title, "unset MALLOC_TRACE, or take the call of mtrace out of the program")
        } else {
            let title = "MALLOC_TRACE is set and does nothing".to_owned();
            (
                Severity::Note,
                title,
                "unset it; to have the trace, the program must call mtrace, and since glibc 2.34 libc_malloc_debug.so.0 \
                 must be preloaded",
            )
        };
        let evidence = format!("MALLOC_TRACE={file}");
        let cost = if has_mtrace { "" } else { "none (measured, glibc 2.36)" };
        vec![Finding::new(self.id(), severity, title, remedy).because(evidence).costs(cost)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin};

    #[test]
    fn without_the_library_it_does_nothing() {
        let variables: crate::facts::Variables = [("MALLOC_TRACE", "/tmp/trace")].into();
        let alone = Facts { system: System::Linux, variables, ..Facts::default() };
        assert_eq!(MallocTrace.look(&alone)[0].severity, Severity::Note);
        let libraries = vec![Library { path: "libc_malloc_debug.so.0".into(), origin: Origin::Preload }];
        let with = Facts { libraries, ..alone };
        assert_eq!(MallocTrace.look(&with)[0].severity, Severity::Medium);
    }
}
