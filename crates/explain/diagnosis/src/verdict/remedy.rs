//! What to do about what resident memory consists of.

use super::{VerdictKind, holds_at_exit};
use crate::allocator;
use crate::units::{bytes, count};
use heapwise_analysis::{Analysis, Breakdown};

pub(super) fn remedy(analysis: &Analysis, kind: VerdictKind, moment: &Breakdown) -> String {
    let allocator = allocator::with_most(analysis, moment, |parts| match kind {
        VerdictKind::ExternalFragmentation => parts.external_fragmentation,
        VerdictKind::FreePages => parts.free_pages,
        _ => parts.sum(),
    });
    match kind {
        VerdictKind::Growth if !holds_at_exit(analysis) => "Look at what is live at the peak: if it goes on rising in a longer \
             run, something is kept that could be dropped, or bounded."
            .into(),
        VerdictKind::Growth => "Look at what is live at the peak, and at the places that still hold it at the end: \
             something is kept that could be dropped, or bounded."
            .into(),
        VerdictKind::Live => "Look at what is live at the peak: that is what has to become smaller.".into(),
        VerdictKind::InternalFragmentation => "Look for sizes just above a power of two or a size class; `shrink_to_fit`, boxed \
             slices and exact capacities waste less."
            .into(),
        VerdictKind::ExternalFragmentation => match analysis.accounting.pinned.first() {
            Some(pinned) => format!(
                "The place that pins most holds {} of free memory with {} blocks: allocate them before or apart from \
                 what lives short, pool them, or drop them. {}",
                bytes(pinned.bytes.0),
                count(pinned.blocks),
                allocator.fragmentation
            ),
            None => format!("Blocks of several places lie together in each page. {}", allocator.fragmentation),
        },
        VerdictKind::FreePages if moment.lazily_freed.0 * 2 > moment.free_pages.0 => format!(
            "{} of it is freed lazily (MADV_FREE): the kernel takes it when memory is short.",
            bytes(moment.lazily_freed.0)
        ),
        VerdictKind::FreePages => allocator.free_pages.into(),
        VerdictKind::Metadata => "Fewer and larger blocks need less of it; so do fewer arenas and threads.".into(),
        VerdictKind::NotHeap if moment.huge_pages.0 * 2 > moment.rss.0 => {
            "Most of it is huge pages, which are resident as a whole: try with transparent huge pages off.".into()
        }
        VerdictKind::Before => "Its places are not known. Record the program from its start (heapwise run) to see them; what was \
             allocated since is below."
            .into(),
        // What is not judged has a remedy of another kind.
        VerdictKind::Unrecorded | VerdictKind::Missed => String::new(),
        VerdictKind::NotHeap => {
            "The heap is not what makes this program large; look at its mappings (`pmap -x`), thread stacks and \
             libraries."
                .into()
        }
    }
}
