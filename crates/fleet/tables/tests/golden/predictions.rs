//! What a replay could have said of the golden recording.

use heapwise_analysis::{Bytes, Nanos};
use heapwise_tables::Prediction;

/// Of the allocator that it had, and of one that did not get to the end.
pub(crate) fn predictions() -> Vec<Prediction> {
    vec![
        Prediction {
            allocator: "glibc".to_owned(),
            version: Some("2.36".to_owned()),
            is_recorded: true,
            outcome: "complete".to_owned(),
            peak_rss: Some(Bytes(20)),
            peak_rss_range: Some((Bytes(19), Bytes(23))),
            rss_at_end: Some(Bytes(18)),
            allocator_cpu: Some(Nanos(7)),
            heap_cpu: Some(Nanos(9)),
            ..Prediction::default()
        },
        Prediction {
            allocator: "jemalloc".to_owned(),
            settings: vec![("dirty_decay_ms".to_owned(), "0".to_owned())],
            outcome: "hung".to_owned(),
            ..Prediction::default()
        },
    ]
}
