//! Programs that valgrind runs.

use super::Check;
use crate::{Facts, Finding, Severity};

pub(super) struct Valgrind;

impl Check for Valgrind {
    fn id(&self) -> &'static str {
        "valgrind"
    }

    fn about(&self) -> &'static str {
        "valgrind runs the process"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        // The tools map their own executables and preload a library into the program that they run.
        let Some(library) = facts.libraries_like(&["vgpreload_"]).next() else { return Vec::new() };
        let title = "valgrind runs the process, instruction by instruction";
        vec![
            Finding::new(self.id(), Severity::High, title, "measure without valgrind")
                .because(super::loaded(library))
                .costs(
                    "filling and dropping a map of 20,000 strings take 15 to 23 and 29 to 35 times as long under memcheck, 26 and 87 \
                     under dhat, 9 and 19 under massif (measured, valgrind 3.19)",
                ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin};

    #[test]
    fn its_library_tells() {
        let path = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so".into();
        let facts = Facts { libraries: vec![Library { path, origin: Origin::Mapped }], ..Facts::default() };
        assert_eq!(Valgrind.look(&facts).len(), 1);
        assert_eq!(Valgrind.look(&Facts::default()), []);
    }
}
