//! What the replay itself takes, and what of a measured time is the allocator's.

use crate::replay::outcome::Measured;
use crate::replay::script::Counts;
use crate::replay::shared::KINDS;

/// What a replay without calls takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harness {
    /// Wall-clock nanoseconds of a record that is not timed, with all threads and what they wait for each other.
    pub untimed_ns: f64,
    /// Wall-clock nanoseconds of a record when as many are timed as in rounds that count.
    pub ns: f64,
    /// Processor nanoseconds of such a replay.
    pub cpu_ns: f64,
    /// What a timed call seems to take that does nothing: allocating, freeing, resizing.
    pub bias_ns: [f64; KINDS],
}

impl Harness {
    pub(super) fn new(timed: &Measured, untimed: &Measured) -> Self {
        let per_call = |m: &Measured| m.wall.0 as f64 / m.calls.max(1) as f64;
        // Interrupts are no part of the work.
        let bias = |times: &crate::replay::outcome::CallTimes| times.usual_ns;
        Self {
            untimed_ns: per_call(untimed),
            ns: per_call(timed),
            cpu_ns: timed.cpu.0 as f64,
            bias_ns: [bias(&timed.allocate), bias(&timed.free), bias(&timed.reallocate)],
        }
    }

    /// Processor nanoseconds of a replay that are not its own work: in the allocator, and for the first writing to pages, which the
    /// program does outside of its calls.
    pub fn heap_ns(&self, measured: &Measured) -> f64 {
        (measured.cpu.0 as f64 - self.cpu_ns).max(0.0)
    }

    /// Nanoseconds in the allocator over all calls of a replay.
    pub fn allocator_ns(&self, measured: &Measured, counts: &Counts) -> f64 {
        let kinds = [&measured.allocate, &measured.free, &measured.reallocate];
        let calls = [counts.allocations, counts.deallocations, counts.reallocations];
        let of_kind = |kind: usize| {
            let each = (kinds[kind].mean_ns - self.bias_ns[kind]).max(0.0);
            each * calls[kind] as f64
        };
        (0..KINDS).map(of_kind).sum()
    }
}
