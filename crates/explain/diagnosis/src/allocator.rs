//! Which allocator a process has, by what the recording calls it.

use heapwise_allocators::{Family, by_library, by_type};
use heapwise_analysis::{Analysis, Breakdown, Bytes, OfAllocator, Parts};

/// The allocator that has most of a part of this memory, where blocks of several were recorded; otherwise the process's.
pub(crate) fn with_most(
    analysis: &Analysis,
    moment: &Breakdown,
    part: impl Fn(&Parts) -> Bytes,
) -> &'static Family {
    let is_peak = analysis.accounting.at_peak.as_ref().is_some_and(|peak| peak.time == moment.time);
    let parts = |of: &OfAllocator| part(if is_peak { &of.at_peak } else { &of.at_end });
    let most = analysis.allocators.iter().max_by_key(|of| parts(of)).filter(|of| parts(of) > Bytes(0));
    let process = analysis.processes.iter().find(|p| p.index == moment.process);
    by_name(process.map_or("", |process| match most {
        Some(most) => process.calls(most),
        None => &process.allocator,
    }))
}

/// By the path of a library, by a type such as `tikv_jemallocator::Jemalloc`, or by the allocator's own name. A path may have
/// a word of another allocator in its folders.
pub(crate) fn by_name(name: &str) -> &'static Family {
    let family = match name.rsplit_once('/') {
        Some((_, file)) => by_library(file),
        None => by_library(name).or_else(|| by_type(name)),
    };
    family.unwrap_or(&Family::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_types_are_known() {
        let family = |name: &str| by_name(name).name;
        assert_eq!(family("/lib/x86_64-linux-gnu/libc.so.6"), "glibc");
        assert_eq!(family("/lib/libc-2.31.so"), "glibc");
        assert_eq!(family("/usr/lib/x86_64-linux-musl/libc.so"), "musl");
        assert_eq!(family("/lib/ld-musl-x86_64.so.1"), "musl");
        assert_eq!(family("libjemalloc.so.2"), "jemalloc");
        assert_eq!(family("/home/u/mimalloc/libjemalloc.so.2"), "jemalloc");
        assert_eq!(family("/home/u/mimalloc/libmine.so"), "");
        assert_eq!(family("tikv_jemallocator::Jemalloc"), "jemalloc");
        assert_eq!(family("mimalloc::MiMalloc"), "mimalloc");
        assert_eq!(family("snmalloc_rs::SnMalloc"), "snmalloc");
        // A program that records itself has already turned the type into a name.
        assert_eq!(family("mimalloc"), "mimalloc");
        assert_eq!(family("my_app::Counting"), "");
        assert_eq!(family("malloc"), "");
    }
}
