//! What a replay says of a recording.

use heapwise_analysis::{Bytes, Nanos};

/// What one allocator would have needed for the same allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Its name without settings.
    pub allocator: String,
    /// Names and values.
    pub settings: Vec<(String, String)>,
    /// As it says itself.
    pub version: Option<String>,
    /// Whether it stands for what the program had.
    pub is_recorded: bool,
    /// `complete`, or what went wrong, in one word.
    pub outcome: String,
    /// Highest resident anonymous memory: the median of the replays.
    pub peak_rss: Option<Bytes>,
    /// The least and the most of the replays.
    pub peak_rss_range: Option<(Bytes, Bytes)>,
    pub rss_at_end: Option<Bytes>,
    /// Processor time in the allocator.
    pub allocator_cpu: Option<Nanos>,
    /// The same with what the first writing to pages takes.
    pub heap_cpu: Option<Nanos>,
}
