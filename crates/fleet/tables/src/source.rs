//! What the tables of one recording are filled from.

use crate::history::Follower;
use crate::id::Id;
use crate::labels::Labels;
use crate::prediction::Prediction;
use crate::stacks::Stacks;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Diagnosis;

/// All that is known of a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) diagnosis: &'a Diagnosis,
    pub(crate) labels: &'a Labels,
    /// The recording's id in all tables.
    pub(crate) recording: Id,
    pub(crate) stacks: &'a Stacks<'a>,
    pub(crate) histories: Option<&'a Follower>,
    /// What other allocators would have needed; none if it was not replayed.
    pub(crate) predictions: &'a [Prediction],
}
