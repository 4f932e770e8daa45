//! musl's allocator, which is small and not fast.

use super::Check;
use crate::facts::Libc;
use crate::{Facts, Finding, Severity};

pub(super) struct Musl;

impl Check for Musl {
    fn id(&self) -> &'static str {
        "musl-allocator"
    }

    fn about(&self) -> &'static str {
        "the program uses musl and its allocator"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let loaded = facts.libraries_like(&["ld-musl-", "libc.musl-"]).next().map(super::loaded);
        let program = facts.program.as_ref();
        let built = program.filter(|program| program.libc == Libc::Musl);
        let built = built.map(|program| format!("{} is a program for musl", program.path.display()));
        let has_own = program.is_some_and(|program| !program.allocators.is_empty())
            || facts.other_allocators().next().is_some();
        let evidence: Vec<String> = built.into_iter().chain(loaded).collect();
        if evidence.is_empty() || has_own {
            return Vec::new();
        }
        let title = format!("the program {} musl's allocator: one lock for all threads", facts.has());
        let remedy = "link another allocator (for Rust: mimalloc or tikv-jemallocator as #[global_allocator]), or build for \
                      a *-linux-gnu target";
        let mut finding = Finding::new(self.id(), Severity::Medium, title, remedy);
        finding.evidence = evidence;
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{OwnAllocator, Program};

    #[test]
    fn an_allocator_of_its_own_is_the_remedy() {
        let program = Program { libc: Libc::Musl, ..Program::default() };
        let facts = Facts { program: Some(program.clone()), ..Facts::default() };
        assert_eq!(Musl.look(&facts).len(), 1);
        let allocators = vec![OwnAllocator { name: "mimalloc", symbol: "mi_malloc".into() }];
        let facts = Facts { program: Some(Program { allocators, ..program }), ..Facts::default() };
        assert_eq!(Musl.look(&facts), []);
    }
}
