//! How much a finding matters: its share in what the whole program asks of its allocator.
//!
//! The share is that of the requests, of the modelled time or of the peak, whichever is largest; bytes count for half,
//! since a large block costs hardly more than a small one. A share alone says little about a small program, so each
//! step also asks for an amount. What is below the lowest step is no finding at all: a report with twenty true remarks
//! that save nothing is not read.

use crate::case::{Case, Place};
use crate::insight::{Estimate, Severity};

/// What a severity asks for.
struct Step {
    severity: Severity,
    /// Of the whole, from 0 to 1.
    share: f64,
    requests: u64,
    bytes: u64,
    peak_bytes: u64,
}

/// From the highest to the lowest.
const STEPS: [Step; 3] = [
    Step { severity: Severity::High, share: 0.2, requests: 100_000, bytes: 1 << 30, peak_bytes: 64 << 20 },
    Step { severity: Severity::Medium, share: 0.05, requests: 2_000, bytes: 4 << 20, peak_bytes: 1 << 20 },
    Step { severity: Severity::Low, share: 0.01, requests: 100, bytes: 256 << 10, peak_bytes: 256 << 10 },
];

/// How much it matters, `None` if not at all. `place` is where it is: without a line nobody is told to change it first.
pub(crate) fn severity(case: &Case<'_>, place: Option<&Place<'_>>, estimate: &Estimate) -> Option<Severity> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let totals = &case.analysis.totals;
    let peak = totals.peak_live_bytes.0.max(case.analysis.memory.peak_rss.0);
    let largest = share(estimate.allocations, case.requests())
        .max(share(estimate.time.0, case.time.0))
        .max(share(estimate.allocated_bytes.0, totals.allocated_bytes.0) / 2.0)
        .max(share(estimate.peak_bytes.0, peak));
    let step = STEPS.iter().find(|step| {
        largest >= step.share
            && (estimate.allocations >= step.requests
                || estimate.allocated_bytes.0 >= step.bytes
                || estimate.peak_bytes.0 >= step.peak_bytes)
    })?;
    let unnamed = place.is_some_and(|p| p.line.is_none());
    Some(if unnamed { step.severity.min(Severity::Medium) } else { step.severity })
}
