//! What one allocator in place of several does not show.

use super::allocators::name;
use crate::units::share;
use heapwise_analysis::Analysis;

/// A part of the live bytes, one in so many, that is worth a word.
const LEAST_OF_OTHERS: u64 = 20;

/// What a replay of a process, in which one allocator has all blocks, does not show if it has several.
pub(crate) fn together(analysis: &Analysis, process: usize) -> Option<String> {
    let (main, bytes, all) = analysis.main_allocator(analysis.processes.get(process)?)?;
    // What the others have would change nothing.
    if all.0.saturating_sub(bytes.0).saturating_mul(LEAST_OF_OTHERS) <= all.0 {
        return None;
    }
    Some(format!(
        "The program has several allocators, and {} has {} of the live bytes at the peak: one allocator has all of them in a replay.",
        name(analysis, main),
        share(bytes.0, all.0)
    ))
}
