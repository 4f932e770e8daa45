//! The shelf of checks: one file each, and one table that lists them.

mod image_file_execution_options;
mod malloc_check;
mod malloc_perturb;
mod msvc_debug_runtime;
mod no_debug_heap_value;
mod windows_application_verifier;
mod windows_debug_heap;
mod windows_page_heap;

use crate::{Facts, Finding};

/// Something outside the code that can slow a heap.
pub trait Check: Sync {
    /// Its name, which is that of its findings.
    fn id(&self) -> &'static str;

    /// What it looks for, in one line.
    fn about(&self) -> &'static str;

    /// The environment variables that it reads; a `*` at the end stands for any rest. Others are not kept in [`Facts`].
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Looks. It says nothing about what is not known.
    fn look(&self, facts: &Facts) -> Vec<Finding>;
}

/// All that are known.
pub const CHECKS: &[&dyn Check] = &[
    &malloc_check::MallocCheck,
    &malloc_perturb::MallocPerturb,
    &windows_debug_heap::WindowsDebugHeap,
    &windows_page_heap::WindowsPageHeap,
    &windows_application_verifier::WindowsApplicationVerifier,
    &image_file_execution_options::ImageFileExecutionOptions,
    &no_debug_heap_value::NoDebugHeapValue,
    &msvc_debug_runtime::MsvcDebugRuntime,
];

/// Everything that the checks find, the worst first.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = CHECKS.iter().flat_map(|check| check.look(facts)).collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Whether a variable is one that some check reads.
pub fn is_heap_variable(name: &str) -> bool {
    CHECKS.iter().flat_map(|check| check.variables()).any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_spelled_alike() {
        let names: BTreeSet<_> = CHECKS.iter().map(|check| check.id()).collect();
        assert_eq!(names.len(), CHECKS.len());
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }

    #[test]
    fn nothing_known_is_nothing_found() {
        assert_eq!(examine(&Facts::default()), []);
    }
}
