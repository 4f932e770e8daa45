//! What was resident when recording began in the middle of a process's life.
//!
//! Of such a page it is known what recorded blocks have of it. The rest may be blocks from before, or free: nothing says which. A page
//! that was not resident in between is as any other.

use heapwise_trace::file::pages::{PageRun, Snapshot};
use std::ops::Range;
use std::sync::Arc;

/// Pages, as ranges of addresses, ascending and apart from each other. Those of a process that was recorded from its start are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before(Arc<[Range<u64>]>);

impl Before {
    /// All that is resident in a snapshot and may be heap.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self(resident(snapshot).into())
    }

    /// Leaves those that are resident in another snapshot, too.
    pub(super) fn keep(&mut self, snapshot: &Snapshot) {
        if self.0.is_empty() {
            return;
        }
        let now = resident(snapshot);
        let (mut kept, mut at) = (Vec::new(), 0);
        for before in self.0.iter() {
            at += now[at..].partition_point(|run| run.end <= before.start);
            for run in now[at..].iter().take_while(|run| run.start < before.end) {
                kept.push(run.start.max(before.start)..run.end.min(before.end));
            }
        }
        self.0 = kept.into();
    }

    /// Whether a page is one of them.
    pub(super) fn has(&self, page: &Range<u64>) -> bool {
        let at = self.0.partition_point(|run| run.end <= page.start);
        self.0.get(at).is_some_and(|run| run.start <= page.start)
    }
}

fn resident(snapshot: &Snapshot) -> Vec<Range<u64>> {
    let mappings = snapshot.mappings.iter().filter(|mapping| mapping.kind.may_be_heap());
    let bytes = |run: &PageRun| run.pages.saturating_mul(snapshot.page_bytes);
    let runs = mappings.flat_map(|mapping| &mapping.runs);
    runs.map(|run| run.start..run.start.saturating_add(bytes(run))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::pages::MappedPages;

    fn snapshot(runs: &[(u64, u64)]) -> Snapshot {
        let runs = runs.iter().map(|&(page, pages)| PageRun { start: page << 12, pages, huge: false });
        let mapping = MappedPages { end: 1 << 40, runs: runs.collect(), ..MappedPages::default() };
        Snapshot { page_bytes: 4096, mappings: vec![mapping], ..Snapshot::default() }
    }

    #[test]
    fn pages_count_as_long_as_they_stay_resident() {
        let pages =
            |before: &Before| (0..40).filter(|n| before.has(&(n << 12..(n + 1) << 12))).collect::<Vec<u64>>();
        let mut before = Before::of(&snapshot(&[(2, 5), (10, 10)]));
        assert_eq!(pages(&before), [2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        before.keep(&snapshot(&[(0, 4), (6, 6), (15, 20)]));
        assert_eq!(pages(&before), [2, 3, 6, 10, 11, 15, 16, 17, 18, 19]);
        before.keep(&snapshot(&[(0, 40)]));
        assert_eq!(pages(&before), [2, 3, 6, 10, 11, 15, 16, 17, 18, 19], "what came again is new");
        before.keep(&snapshot(&[]));
        assert!(pages(&before).is_empty() && pages(&Before::default()).is_empty());
    }
}
