//! The registry of checks: one file each, and one table that lists them.

mod allocator_probe;
mod arena_max;
mod cgroup_memory;
mod checking_libraries;
mod glibc_tunables;
mod jemalloc_options;
mod macos_malloc;
mod malloc_check;
mod malloc_perturb;
mod malloc_trace;
mod map_count;
mod mimalloc_options;
mod musl;
mod overcommit;
mod own_allocator;
mod preload_missing;
mod profilers;
mod resource_limits;
mod runtimes;
mod sanitizers;
mod swap;
mod tcmalloc_options;
mod tracer;
mod transparent_huge_pages;
mod valgrind;

mod image_file_execution_options;
mod msvc_debug_runtime;
mod no_debug_heap_value;
mod windows_application_verifier;
mod windows_debug_heap;
mod windows_page_heap;

use crate::facts::{Library, Origin};
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

    /// Runs the check. Reports nothing about what is not known.
    fn look(&self, facts: &Facts) -> Vec<Finding>;
}

/// All that are known.
pub const CHECKS: &[&dyn Check] = &[
    &allocator_probe::AllocatorProbe,
    &arena_max::ArenaMax,
    &cgroup_memory::CgroupMemory,
    &checking_libraries::CheckingLibraries,
    &glibc_tunables::GlibcTunables,
    &jemalloc_options::JemallocOptions,
    &macos_malloc::MacOsMalloc,
    &malloc_check::MallocCheck,
    &malloc_perturb::MallocPerturb,
    &malloc_trace::MallocTrace,
    &map_count::MapCount,
    &mimalloc_options::MimallocOptions,
    &musl::Musl,
    &overcommit::Overcommit,
    &own_allocator::OwnAllocators,
    &preload_missing::PreloadMissing,
    &profilers::Profilers,
    &resource_limits::ResourceLimits,
    &runtimes::Runtimes,
    &sanitizers::Sanitizers,
    &swap::Swapped,
    &tcmalloc_options::TcmallocOptions,
    &tracer::TracerAttached,
    &transparent_huge_pages::TransparentHugePages,
    &valgrind::Valgrind,
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

/// Evidence that a library is there.
fn loaded(library: &Library) -> String {
    let path = library.path.display();
    match library.origin {
        Origin::Preload => format!("{path} is loaded because of LD_PRELOAD"),
        Origin::SystemPreload => format!("{path} is loaded because of /etc/ld.so.preload"),
        Origin::Needed | Origin::Mapped => format!("{path} is loaded"),
    }
}

/// How to be without a library.
fn without(library: &Library) -> &'static str {
    match library.origin {
        Origin::Preload => "take it out of LD_PRELOAD",
        Origin::SystemPreload => "take it out of /etc/ld.so.preload",
        Origin::Needed => "link the program without it",
        Origin::Mapped => "take it out of LD_PRELOAD, or link the program without it",
    }
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
