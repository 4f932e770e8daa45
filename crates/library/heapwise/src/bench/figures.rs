//! What iterations of a routine do, each for itself.

use crate::operations::ProcessWatch;
use crate::state::Use;
use crate::tally;
use serde::Serialize;
use std::fmt;
use std::hint::black_box;

/// What one iteration does.
///
/// ```
/// # use heapwise_installed as _;
/// let figures = heapwise::bench::count(3, || vec![0u8; 100]);
/// let max = figures.max;
/// assert_eq!((max.requests(), max.deallocations, max.allocated_bytes, max.peak_live_bytes), (1, 1, 100, 100));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(test, schemars(description = "What one iteration does."))]
#[non_exhaustive]
pub struct Iteration {
    /// Blocks that were handed out.
    pub allocations: u64,
    /// Blocks that were resized, whether they moved or not.
    pub reallocations: u64,
    /// Blocks that were freed.
    pub deallocations: u64,
    /// Bytes asked for, by allocations and, with their new size, by reallocations.
    pub allocated_bytes: u64,
    /// The highest level of live bytes above that at the begin.
    pub peak_live_bytes: u64,
}

impl Iteration {
    /// Allocations and reallocations: the number of requests for memory.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// assert_eq!(heapwise::bench::count(1, || 5).first.requests(), 0);
    /// ```
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.allocations + self.reallocations
    }

    fn with(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            allocations: join(self.allocations, other.allocations),
            reallocations: join(self.reallocations, other.reallocations),
            deallocations: join(self.deallocations, other.deallocations),
            allocated_bytes: join(self.allocated_bytes, other.allocated_bytes),
            peak_live_bytes: join(self.peak_live_bytes, other.peak_live_bytes),
        }
    }
}

/// What an iteration does in the mean; of the peak, the mean of the iterations' peaks.
///
/// ```
/// # use heapwise_installed as _;
/// let mut n = 0;
/// let figures = heapwise::bench::count(4, || {
///     n += 1;
///     vec![0u8; n % 2]
/// });
/// assert_eq!(figures.mean.requests(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(
    test,
    schemars(
        description = "What an iteration does in the mean; of the peak, the mean of the peaks of the iterations."
    )
)]
#[non_exhaustive]
pub struct MeanIteration {
    /// Blocks that were handed out.
    pub allocations: f64,
    /// Blocks that were resized, whether they moved or not.
    pub reallocations: f64,
    /// Blocks that were freed.
    pub deallocations: f64,
    /// Bytes asked for, by allocations and, with their new size, by reallocations.
    pub allocated_bytes: f64,
    /// The highest level of live bytes above that at the begin.
    pub peak_live_bytes: f64,
}

impl MeanIteration {
    /// Allocations and reallocations: the number of requests for memory.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// assert_eq!(heapwise::bench::count(2, || Box::new(5)).mean.requests(), 1.0);
    /// ```
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.allocations + self.reallocations
    }
}

/// What a routine does on the heap in some iterations, the first one apart. `Display` is the line that benchmarks print.
///
/// ```
/// # use heapwise_installed as _;
/// let mut cache = None;
/// let figures = heapwise::bench::count(10, || cache.get_or_insert_with(|| vec![1u8; 4096]).len());
/// assert_eq!((figures.first.allocations, figures.max.allocations), (1, 0));
/// assert_eq!(figures.to_string(), "0 requests  0 bytes  peak 0 bytes  first: 1 request  4096 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// The iterations that were measured, without the first one.
    pub iterations: u64,
    /// The first iteration, which is no part of the rest.
    pub first: Iteration,
    /// The mean of the others.
    pub mean: MeanIteration,
    /// The least of the others, each number for itself.
    pub min: Iteration,
    /// The greatest of the others, each number for itself.
    pub max: Iteration,
}

/// Counts what a routine does in its first iteration, and in `iterations` more, of which there is at least one. It prints nothing and
/// writes nothing.
///
/// What the routine returns is dropped within the iteration. All threads of the process are counted.
///
/// ```
/// # use heapwise_installed as _;
/// let figures = heapwise::bench::count(5, || "x".repeat(40));
/// assert_eq!(figures.min, figures.max);
/// assert_eq!(figures.max.allocated_bytes, 40);
/// ```
///
/// # Panics
///
/// When [`Allocator`](crate::Allocator) is not the global allocator of the program.
#[track_caller]
pub fn count<T>(iterations: u64, mut routine: impl FnMut() -> T) -> Figures {
    let _use = Use::counting();
    tally::ensure_installed();
    figures(iterations, || {
        let watch = ProcessWatch::begin();
        drop(black_box(routine()));
        end(watch)
    })
}

/// The same for a routine that uses up what it works on: `setup` makes it and is not counted, and what the routine returns is
/// dropped afterwards, as Criterion's `iter_batched` times it.
///
/// ```
/// # use heapwise_installed as _;
/// let figures = heapwise::bench::count_batched(5, || vec![3, 1, 2], |mut list| { list.sort(); list });
/// assert_eq!((figures.max.requests(), figures.max.deallocations), (0, 0));
/// ```
///
/// # Panics
///
/// When [`Allocator`](crate::Allocator) is not the global allocator of the program.
#[track_caller]
pub fn count_batched<I, T>(
    iterations: u64,
    mut setup: impl FnMut() -> I,
    mut routine: impl FnMut(I) -> T,
) -> Figures {
    let _use = Use::counting();
    tally::ensure_installed();
    figures(iterations, || {
        let input = black_box(setup());
        let watch = ProcessWatch::begin();
        let output = black_box(routine(input));
        let iteration = end(watch);
        drop(output);
        iteration
    })
}

fn end(watch: ProcessWatch) -> Iteration {
    let (counts, peak_live_bytes) = watch.end();
    Iteration {
        allocations: counts.allocations,
        reallocations: counts.reallocations,
        deallocations: counts.deallocations,
        allocated_bytes: counts.allocated_bytes,
        peak_live_bytes,
    }
}

fn figures(iterations: u64, mut iteration: impl FnMut() -> Iteration) -> Figures {
    let first = iteration();
    let (mut sum, mut min, mut max) = {
        let second = iteration();
        (second, second, second)
    };
    let iterations = iterations.max(1);
    for _ in 1..iterations {
        let next = iteration();
        sum = sum.with(&next, u64::saturating_add);
        min = min.with(&next, u64::min);
        max = max.with(&next, u64::max);
    }
    let per = |number: u64| number as f64 / iterations as f64;
    let mean = MeanIteration {
        allocations: per(sum.allocations),
        reallocations: per(sum.reallocations),
        deallocations: per(sum.deallocations),
        allocated_bytes: per(sum.allocated_bytes),
        peak_live_bytes: per(sum.peak_live_bytes),
    };
    Figures { iterations, first, mean, min, max }
}

impl fmt::Display for Figures {
    /// The mean of the iterations; from where to where where they differ, and the first one where it is not like them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, mean, min, max, .. } = self;
        let requests = spread(mean.requests(), min.requests(), max.requests());
        let bytes = spread(mean.allocated_bytes, min.allocated_bytes, max.allocated_bytes);
        write!(f, "{requests} {}  ", plural(&requests, "request"))?;
        write!(f, "{bytes} {}  ", plural(&bytes, "byte"))?;
        let peak = max.peak_live_bytes.to_string();
        write!(f, "peak {peak} {}", plural(&peak, "byte"))?;
        if first.requests() > max.requests() || first.allocated_bytes > max.allocated_bytes {
            let (requests, bytes) = (first.requests().to_string(), first.allocated_bytes.to_string());
            write!(f, "  first: {requests} {}  ", plural(&requests, "request"))?;
            write!(f, "{bytes} {}", plural(&bytes, "byte"))?;
        }
        Ok(())
    }
}

/// A number, and its range if there is one.
fn spread(mean: f64, min: u64, max: u64) -> String {
    match min == max {
        true => max.to_string(),
        // The least of allocations and that of reallocations may be those of two iterations, so the sums only enclose the range.
        false => format!("{mean:.1} ({min} to {max})"),
    }
}

fn plural(number: &str, unit: &str) -> String {
    format!("{unit}{}", if number == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_iteration_counts_once_and_the_first_is_apart() {
        let bytes = [900, 10, 30, 20];
        let mut next = 0;
        let figures = figures(3, || {
            next += 1;
            let allocated_bytes = bytes[next - 1];
            Iteration {
                allocations: next as u64,
                allocated_bytes,
                peak_live_bytes: 5,
                ..Iteration::default()
            }
        });
        assert_eq!(next, 4);
        assert_eq!((figures.first.allocated_bytes, figures.iterations), (900, 3));
        let (min, max) = (figures.min.allocated_bytes, figures.max.allocated_bytes);
        assert_eq!((figures.mean.allocated_bytes, min, max), (20.0, 10, 30));
        assert_eq!((figures.mean.allocations, figures.mean.peak_live_bytes), (3.0, 5.0));
        let line = "3.0 (2 to 4) requests  20.0 (10 to 30) bytes  peak 5 bytes  first: 1 request  900 bytes";
        assert_eq!(figures.to_string(), line);
    }

    #[test]
    fn no_iterations_are_one() {
        let mut runs = 0;
        assert_eq!(count(0, || runs += 1).iterations, 1);
        assert_eq!(runs, 2);
    }
}
