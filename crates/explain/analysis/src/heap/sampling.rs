//! Recordings of which only a sample of the blocks is there.
//!
//! Every recorded block counts as many times as it [stands for](heapwise_trace::sampling), when it is handed out and when it is
//! freed. So all sums are right on average, also those of single sites, and what is live is never negative. What is said
//! of *neighbours* in a thread's order (that a block was freed before the next allocation, that a buffer moved to a larger
//! block) cannot be seen in a sample, and is not reported.
//!
//! How far a sum may be off is known, too: a block that was recorded with a probability of 1 in `w` and counts `x` adds
//! `w (w - 1) x²` to the variance (Horvitz and Thompson). That is a whole number, so what is live can be followed exactly.

use super::interval::Variances;
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

/// The part of a variance that blocks have together: of their number, and of their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    blocks: u128,
    bytes: u128,
}

impl Part {
    fn add(&mut self, size: u64, weight: u64) {
        self.blocks = self.blocks.wrapping_add(share(weight, 1));
        self.bytes = self.bytes.wrapping_add(share(weight, size));
    }

    fn remove(&mut self, size: u64, weight: u64) {
        self.blocks = self.blocks.wrapping_sub(share(weight, 1));
        self.bytes = self.bytes.wrapping_sub(share(weight, size));
    }
}

/// What a block that counts `x` adds.
fn share(weight: u64, x: u64) -> u128 {
    u128::from(weight - 1).wrapping_mul(u128::from(weight)).wrapping_mul(u128::from(x) * u128::from(x))
}

/// How far the sums of a sample may be off, those of a site or of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleAccount {
    pub(crate) samples: u64,
    requests: Part,
    /// Of the number of requests that resized a block.
    reallocations: u128,
    live: Part,
    /// The overall peak to which `peak` belongs.
    peak_number: u64,
    peak: Part,
    exit: Part,
}

impl SampleAccount {
    /// A block was requested. `number` counts the overall peaks before that.
    pub(crate) fn request(&mut self, size: u64, weight: u64, number: u64) {
        self.before_change(number);
        self.samples += 1;
        self.requests.add(size, weight);
        self.live.add(size, weight);
    }

    /// A block is live from before.
    pub(crate) fn carry(&mut self, size: u64, weight: u64, number: u64) {
        self.before_change(number);
        self.live.add(size, weight);
    }

    /// It was an old one at a new size.
    pub(crate) fn resized(&mut self, weight: u64) {
        self.reallocations = self.reallocations.wrapping_add(share(weight, 1));
    }

    /// A block is live no more.
    pub(crate) fn lose(&mut self, size: u64, weight: u64, number: u64) {
        self.before_change(number);
        self.live.remove(size, weight);
    }

    /// A block is live at the end.
    pub(crate) fn exit(&mut self, size: u64, weight: u64) {
        self.exit.add(size, weight);
    }

    /// If there was a peak since the last change, what is live is still what was live then.
    fn before_change(&mut self, number: u64) {
        if self.peak_number != number {
            self.peak_number = number;
            self.peak = self.live;
        }
    }

    /// The sums, when there were so many peaks in all.
    pub(crate) fn variances(&self, number: u64) -> Variances {
        let peak = if self.peak_number == number { self.peak } else { self.live };
        Variances {
            allocations: self.requests.blocks.wrapping_sub(self.reallocations) as f64,
            reallocations: self.reallocations as f64,
            allocated_bytes: self.requests.bytes as f64,
            peak_bytes: peak.bytes as f64,
            peak_blocks: peak.blocks as f64,
            live_at_exit_bytes: self.exit.bytes as f64,
            live_at_exit_blocks: self.exit.blocks as f64,
        }
    }

    /// The standard errors for the report; `None` if all blocks were recorded.
    pub(crate) fn errors(&self, sampling: Sampling, number: u64) -> Option<Sampled> {
        let error = |variance: f64| variance.sqrt().ceil() as u64;
        let variances = self.variances(number);
        sampling.is_on().then(|| Sampled {
            every: Bytes(sampling.sample_bytes),
            requests: self.samples,
            requests_error: error(variances.allocations + variances.reallocations),
            allocated_bytes_error: Bytes(error(variances.allocated_bytes)),
            peak_live_bytes_error: Bytes(error(variances.peak_bytes)),
            live_at_exit_bytes_error: Bytes(error(variances.live_at_exit_bytes)),
            variances,
        })
    }
}

/// That a recording holds a sample of the blocks only, and how far the totals may be off. All errors are standard errors: two
/// times out of three the truth is not further away, and 19 times out of 20 not further than twice that.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// The same as variances, for all that is counted.
    pub variances: Variances,
}
