//! What to do about what resident memory consists of, for the allocator that the program has.

use super::{VerdictKind, mib};
use heapwise_analysis::{Analysis, Breakdown};

/// Settings of an allocator that make it give free pages back.
struct Allocator {
    /// What its file's name begins with.
    file: &'static str,
    retention: &'static str,
    /// An allocator that keeps sizes apart, or what to try instead.
    fragmentation: &'static str,
}

const ELSEWHERE: &str = "an allocator that keeps sizes apart (jemalloc, mimalloc) may pack them better; compare before you switch";

const ALLOCATORS: &[Allocator] = &[
    Allocator {
        file: "libc.so",
        retention: "call malloc_trim(0) after a burst, or set MALLOC_TRIM_THRESHOLD_ and MALLOC_TOP_PAD_ lower; \
                    free memory below a block that lives on is only given back by malloc_trim",
        fragmentation: ELSEWHERE,
    },
    Allocator {
        file: "libjemalloc",
        retention: "pages are given back as time goes by, but only while something allocates: set \
                    MALLOC_CONF=background_thread:true, or dirty_decay_ms:0 to give them back at once \
                    (_RJEM_MALLOC_CONF for tikv-jemallocator)",
        fragmentation: "allocate what lives long in an arena of its own",
    },
    Allocator {
        file: "libmimalloc",
        retention: "set MIMALLOC_PURGE_DELAY=0 to give pages back at once, or call mi_collect(true) after a burst",
        fragmentation: "allocate what lives long in a heap of its own (mi_heap_new)",
    },
    Allocator {
        file: "libtcmalloc",
        retention: "raise TCMALLOC_RELEASE_RATE, or call MallocExtension::ReleaseFreeMemory after a burst",
        fragmentation: ELSEWHERE,
    },
    Allocator {
        file: "libsnmalloc",
        retention: "snmalloc gives pages up lazily: the kernel takes them when memory is short, and until then they \
                    count as resident",
        fragmentation: ELSEWHERE,
    },
];

const UNKNOWN: Allocator = Allocator {
    file: "",
    retention: "look for the allocator's settings for giving pages back: decay, purge, trim or release",
    fragmentation: ELSEWHERE,
};

pub(super) fn remedy(analysis: &Analysis, kind: VerdictKind, moment: &Breakdown) -> String {
    let process = analysis.processes.iter().find(|p| p.index == moment.process);
    let file = process.map_or("", |p| p.allocator.rsplit('/').next().unwrap_or_default());
    let allocator = ALLOCATORS.iter().find(|a| file.starts_with(a.file)).unwrap_or(&UNKNOWN);
    match kind {
        VerdictKind::Growth => "look at what is live at the peak, and at the places that still hold it at the end: \
             something is kept that could be dropped, or bounded"
            .into(),
        VerdictKind::Live => "look at what is live at the peak: that is what has to become smaller".into(),
        VerdictKind::Rounding => "look for sizes just above a power of two or a size class; shrink_to_fit, boxed \
             slices and exact capacities waste less"
            .into(),
        VerdictKind::Fragmentation => match analysis.accounting.pinned.first() {
            Some(pinned) => format!(
                "the place that pins most holds {} of free memory with {} blocks: allocate them before or apart from \
                 what lives short, pool them, or drop them; {}",
                mib(pinned.bytes),
                pinned.blocks,
                allocator.fragmentation
            ),
            None => format!("blocks of several places lie together in each page: {}", allocator.fragmentation),
        },
        VerdictKind::Retention if moment.lazily_freed.0 * 2 > moment.retained.0 => format!(
            "{} of it is given up already (MADV_FREE): the kernel takes it when memory is short",
            mib(moment.lazily_freed)
        ),
        VerdictKind::Retention => allocator.retention.into(),
        VerdictKind::Metadata => "fewer and larger blocks need less of it; so do fewer arenas and threads".into(),
        VerdictKind::NotHeap if moment.huge_pages.0 * 2 > moment.rss.0 => {
            "most of it is huge pages, which are resident as a whole: try with transparent huge pages off".into()
        }
        VerdictKind::NotHeap => {
            "the heap is not what makes this program large; look at its mappings (pmap -x), thread stacks and \
             libraries"
                .into()
        }
    }
}
