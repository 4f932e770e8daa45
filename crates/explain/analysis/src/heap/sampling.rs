//! Recordings of which only a sample of the blocks is there.
//!
//! Every recorded block counts as many times as it [stands for](heapwise_trace::sampling), when it is handed out and when it is
//! freed. So all sums are right on average, also those of single sites, and what is live is never negative. What is said
//! of *neighbours* in a thread's order (that a block was freed before the next allocation, that a buffer moved to a larger
//! block) cannot be seen in a sample, and is not reported.
//!
//! How far a sum may be off is known, too: a block that was recorded with a probability of 1 in `w` and counts `x` adds
//! `w (w - 1) x²` to the variance (Horvitz and Thompson). That is a whole number, so what is live can be followed exactly.

use crate::units::Bytes;
use heapwise_trace::sampling;

/// What a recording says about its sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampling {
    sample_bytes: u64,
}

impl Sampling {
    pub(crate) fn new(sample_bytes: u64) -> Self {
        Self { sample_bytes }
    }

    /// Whether blocks are missing.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        self.sample_bytes > 1
    }

    /// How many blocks a recorded one of this size stands for.
    #[inline(always)]
    pub(crate) fn weight(self, size: u64) -> u64 {
        if self.is_on() { sampling::weight(self.sample_bytes, size) } else { 1 }
    }
}

/// How far sums may be off, as variances.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variances {
    samples: u64,
    requests: u128,
    bytes: u128,
    live: u128,
    peak: u128,
    exit: u128,
}

/// What a block that counts `x` adds.
fn share(weight: u64, x: u64) -> u128 {
    u128::from(weight - 1).wrapping_mul(u128::from(weight)).wrapping_mul(u128::from(x) * u128::from(x))
}

impl Variances {
    /// A block was requested.
    pub(crate) fn request(&mut self, size: u64, weight: u64) {
        self.samples += 1;
        self.requests = self.requests.wrapping_add(share(weight, 1));
        self.bytes = self.bytes.wrapping_add(share(weight, size));
        self.live = self.live.wrapping_add(share(weight, size));
    }

    /// A block is live no more.
    pub(crate) fn lose(&mut self, size: u64, weight: u64) {
        self.live = self.live.wrapping_sub(share(weight, size));
    }

    /// There was never more live than now.
    pub(crate) fn peak(&mut self) {
        self.peak = self.live;
    }

    /// A block is live at the end.
    pub(crate) fn exit(&mut self, size: u64, weight: u64) {
        self.exit = self.exit.wrapping_add(share(weight, size));
    }

    /// The standard errors for the report; `None` if all blocks were recorded.
    pub(crate) fn errors(&self, sampling: Sampling) -> Option<Sampled> {
        let error = |variance: u128| (variance as f64).sqrt().ceil() as u64;
        sampling.is_on().then(|| Sampled {
            every: Bytes(sampling.sample_bytes),
            requests: self.samples,
            requests_error: error(self.requests),
            allocated_bytes_error: Bytes(error(self.bytes)),
            peak_live_bytes_error: Bytes(error(self.peak)),
            live_at_exit_bytes_error: Bytes(error(self.exit)),
        })
    }
}

/// That a recording holds a sample of the blocks only, and how far the totals may be off. All errors are standard errors: two
/// times out of three the truth is not further away, and 19 times out of 20 not further than twice that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// At most how many bytes lie between two recorded blocks, on average.
    pub every: Bytes,
    /// How many requests were recorded; all other figures are those that they stand for.
    pub requests: u64,
    /// Of allocations and reallocations together.
    pub requests_error: u64,
    /// Of the requested bytes.
    pub allocated_bytes_error: Bytes,
    /// Of the requested bytes that were live at the peak.
    pub peak_live_bytes_error: Bytes,
    /// Of what was live at the end.
    pub live_at_exit_bytes_error: Bytes,
}
