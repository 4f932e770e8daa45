//! What other allocators would have needed for a recording: `export --to parquet --replay`.

use crate::args::ROUNDS;
use crate::replay::Ready;
use crate::{Failure, exit};
use anyhow::anyhow;
use heapwise_analysis::{Analysis, Bytes, Nanos};
use heapwise_report::replay::outcome;
use heapwise_report::say;
use heapwise_tables::Prediction;
use heapwise_trial::replay::trial::{Results, Tried};
use heapwise_trial::statistics::Spread;
use std::path::Path;
use std::time::Duration;

/// An allocator that makes no progress for so long is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Replays it with its own allocator and all others that are there. One that cannot be replayed has no predictions, and a warning says
/// why.
pub(super) fn of(recording: &Path, analysis: &Analysis) -> Result<Vec<Prediction>, Failure> {
    let ready = match Ready::new(recording, analysis, None, None, None) {
        Ok(ready) => ready,
        Err(failure) => {
            say!("heapwise: warning: {} is not replayed: {:#}", recording.display(), failure.error);
            return Ok(Vec::new());
        }
    };
    let trial = ready.replay(ROUNDS, None, PATIENCE)?;
    if trial.is_interrupted {
        return Err(Failure::new(exit::INTERRUPTED, anyhow!("interrupted: nothing was added")));
    }
    Ok(trial.tried.iter().map(|tried| prediction(tried, tried.candidate == ready.now)).collect())
}

fn prediction(tried: &Tried, is_recorded: bool) -> Prediction {
    let nothing = Results::default();
    let results = tried.results.as_ref().unwrap_or(&nothing);
    // A replay that was broken off has needed less than it would have.
    let is_whole = results.failure().is_none();
    let results = if is_whole { results } else { &nothing };
    let settings = tried.candidate.settings().iter();
    let bytes = |number: f64| Bytes(number as u64);
    let nanos = |spread: Spread| Nanos(spread.median.max(0.0) as u64);
    Prediction {
        allocator: tried.candidate.name().to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        version: Some(tried.version.clone()).filter(|version| !version.is_empty()),
        is_recorded,
        outcome: outcome(tried).to_owned(),
        peak_rss: results.peak_rss.map(|spread| bytes(spread.median)),
        peak_rss_range: results.peak_rss.map(|spread| (bytes(spread.low), bytes(spread.high))),
        rss_at_end: results.first.as_ref().map(|first| first.end_rss),
        allocator_cpu: results.allocator_ns.map(nanos),
        heap_cpu: results.heap_ns.map(nanos),
    }
}
