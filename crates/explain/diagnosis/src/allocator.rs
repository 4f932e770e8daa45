//! What an allocator can be told, by the name of its library.

use heapwise_analysis::{Analysis, Breakdown};

/// Settings and calls of an allocator, each as a sentence for people.
pub(crate) struct Allocator {
    /// What its file's name begins with.
    file: &'static str,
    /// What the name of its type has in it, where a program has wrapped it.
    type_part: &'static str,
    /// How it gives free pages back.
    pub(crate) retention: &'static str,
    /// What keeps its pages from being pinned.
    pub(crate) fragmentation: &'static str,
}

const ELSEWHERE: &str = "An allocator that keeps sizes apart (jemalloc, mimalloc) may pack them better; compare before you switch.";

const ALLOCATORS: &[Allocator] = &[
    Allocator {
        file: "libc.so",
        // It has no crate: the system's allocator is known by its library.
        type_part: "",
        retention: "Call `malloc_trim(0);` after the phase that frees much, or set \
                    `GLIBC_TUNABLES=glibc.malloc.trim_threshold=131072`. Free memory below a block that lives on is only \
                    returned to the system by `malloc_trim`; an allocator that returns pages by itself (jemalloc with a background \
                    thread, mimalloc) does without.",
        fragmentation: ELSEWHERE,
    },
    Allocator {
        file: "libjemalloc",
        type_part: "jemalloc",
        retention: "Pages are returned to the system as time goes by, but only while something allocates. Let jemalloc do it by \
                    itself: `background_thread:true,dirty_decay_ms:1000` in its configuration (`_RJEM_MALLOC_CONF` with \
                    tikv-jemallocator, `MALLOC_CONF` otherwise).",
        fragmentation: "Allocate what lives long in an arena of its own.",
    },
    Allocator {
        file: "libmimalloc",
        type_part: "mimalloc",
        retention: "Let mimalloc give pages back at once: `MIMALLOC_PURGE_DELAY=0`; or call `mi_collect(true);` after the \
                    phase that frees much.",
        fragmentation: "Allocate what lives long in a heap of its own (`mi_heap_new`).",
    },
    Allocator {
        file: "libtcmalloc",
        type_part: "tcmalloc",
        retention: "Let tcmalloc give pages back: `TCMALLOC_RELEASE_RATE=10`; or call \
                    `MallocExtension::ReleaseFreeMemory` after the phase that frees much.",
        fragmentation: ELSEWHERE,
    },
    Allocator {
        file: "libsnmalloc",
        type_part: "snmalloc",
        retention: "snmalloc gives pages up lazily: the kernel takes them when memory is short, and until then they count \
                    as resident. See whether memory is short before acting.",
        fragmentation: ELSEWHERE,
    },
];

const UNKNOWN: Allocator = Allocator {
    file: "",
    type_part: "",
    retention: "Look for the allocator's settings for giving pages back: decay, purge, trim or release.",
    fragmentation: ELSEWHERE,
};

/// The allocator of the process whose memory this is.
pub(crate) fn of(analysis: &Analysis, moment: &Breakdown) -> &'static Allocator {
    let process = analysis.processes.iter().find(|p| p.index == moment.process);
    let file = process.map_or("", |p| p.allocator.rsplit('/').next().unwrap_or_default());
    by_name(file)
}

/// By the name of a library, or by that of a type such as `tikv_jemallocator::Jemalloc`.
fn by_name(name: &str) -> &'static Allocator {
    let by_file = || ALLOCATORS.iter().find(|a| name.starts_with(a.file));
    let (package, is_type) = name.split_once("::").map_or((name, false), |(package, _)| (package, true));
    let by_type = || ALLOCATORS.iter().skip(1).find(|a| is_type && package.contains(a.type_part));
    by_file().or_else(by_type).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_types_are_known() {
        let file = |name: &str| by_name(name).file;
        assert_eq!(file("libc.so.6"), "libc.so");
        assert_eq!(file("libjemalloc.so.2"), "libjemalloc");
        assert_eq!(file("tikv_jemallocator::Jemalloc"), "libjemalloc");
        assert_eq!(file("mimalloc::MiMalloc"), "libmimalloc");
        assert_eq!(file("snmalloc_rs::SnMalloc"), "libsnmalloc");
        assert_eq!(file("my_app::Counting"), "");
        assert_eq!(file("malloc"), "");
    }
}
