//! What is kept of the spans of one operation: sums, and as much as their spread needs.

use crate::Counts;
use serde::Serialize;

/// What one iteration does, as a mean over iterations, or as a number that was found for such means.
///
/// ```
/// # use heapwise_installed as _;
/// let session = heapwise::Session::new();
/// let operation = session.operation("box");
/// {
///     let _span = operation.measure_thread().iterations(4);
///     for i in 0..3u64 {
///         std::hint::black_box(Box::new(i));
///     }
/// }
/// let mean = operation.mean().expect("a span has ended");
/// assert_eq!((mean.requests, mean.allocated_bytes), (0.75, 6.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(
    test,
    schemars(
        description = "What one iteration does, as a mean, or as a number that was found for such means."
    )
)]
#[non_exhaustive]
pub struct PerIteration {
    /// Allocations and reallocations: how often memory was asked for.
    pub requests: f64,
    /// Blocks that were handed out.
    pub allocations: f64,
    /// Blocks that were resized, whether they moved or not.
    pub reallocations: f64,
    /// Blocks that were freed.
    pub deallocations: f64,
    /// Bytes asked for, by allocations and, with their new size, by reallocations.
    pub allocated_bytes: f64,
    /// Bytes freed, by deallocations and, with the old size, by reallocations.
    pub freed_bytes: f64,
}

impl PerIteration {
    /// The mean of some counts over iterations, of which there is at least one.
    fn of(counts: &Counts, iterations: u64) -> Self {
        let per = |n: u64| n as f64 / iterations as f64;
        Self {
            requests: per(counts.requests()),
            allocations: per(counts.allocations),
            reallocations: per(counts.reallocations),
            deallocations: per(counts.deallocations),
            allocated_bytes: per(counts.allocated_bytes),
            freed_bytes: per(counts.freed_bytes),
        }
    }

    /// Each number with the one of another.
    fn with(&self, other: &Self, join: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            requests: join(self.requests, other.requests),
            allocations: join(self.allocations, other.allocations),
            reallocations: join(self.reallocations, other.reallocations),
            deallocations: join(self.deallocations, other.deallocations),
            allocated_bytes: join(self.allocated_bytes, other.allocated_bytes),
            freed_bytes: join(self.freed_bytes, other.freed_bytes),
        }
    }
}

/// A span that has ended as it should.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) iterations: u64,
    pub(super) counts: Counts,
    /// `None` where it is unknown.
    pub(super) peak: Option<u64>,
}

/// The first span of an operation to end. What is allocated once, such as buffers that grow to their size, is in it.
///
/// ```
/// # use heapwise_installed as _;
/// let session = heapwise::Session::new();
/// let operation = session.operation("fill");
/// let mut buffer: Vec<u8> = Vec::new();
/// for _ in 0..10 {
///     let _span = operation.measure_thread();
///     buffer.clear();
///     buffer.resize(1000, 0);
/// }
/// let report = session.to_report();
/// let fill = report.get("fill").expect("it was measured");
/// assert_eq!(fill.first().expect("there is a first span").total.requests(), 1);
/// assert_eq!(fill.later().expect("and there are others").mean.requests, 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FirstSpan {
    /// The iterations that it covered.
    pub iterations: u64,
    /// What all of them did together.
    pub total: Counts,
    /// The highest level of live bytes above that at its begin; `None` where it cannot be known, in a [`Scope`](crate::Scope)
    /// that other threads entered.
    pub peak_live_bytes: Option<u64>,
}

/// All spans of an operation but the first, and how they differ.
///
/// A span has one mean per iteration. The least and the greatest of these means, and their standard deviation, are the
/// *spread*. Each number stands for itself: the least bytes and the fewest requests may be those of different spans.
///
/// The example is that of [`FirstSpan`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(
    test,
    schemars(
        description = "Spans after the first one: the mean per iteration, and how far the means of the spans spread."
    )
)]
#[non_exhaustive]
pub struct LaterSpans {
    /// How many they are.
    pub spans: u64,
    /// The iterations that they covered together.
    pub iterations: u64,
    /// The mean per iteration over all of them.
    pub mean: PerIteration,
    /// The least mean of a span.
    pub min: PerIteration,
    /// The greatest mean of a span.
    pub max: PerIteration,
    /// The standard deviation of the spans' means around `mean`, where each counts as often as it has iterations.
    pub standard_deviation: PerIteration,
}

/// All later spans, so that more can be added. `squares` are the sums of squared distances from the mean, by which two such
/// sums can be joined without the numbers that they were made of.
#[derive(Clone, Copy, Debug)]
struct Later {
    spans: u64,
    iterations: u64,
    total: Counts,
    min: PerIteration,
    max: PerIteration,
    squares: PerIteration,
}

impl Later {
    fn of(span: &Span) -> Self {
        let mean = PerIteration::of(&span.counts, span.iterations);
        Self {
            spans: 1,
            iterations: span.iterations,
            total: span.counts,
            min: mean,
            max: mean,
            squares: PerIteration::default(),
        }
    }

    fn mean(&self) -> PerIteration {
        PerIteration::of(&self.total, self.iterations)
    }

    fn joined(&self, other: &Self) -> Self {
        let (a, b) = (self.iterations as f64, other.iterations as f64);
        let between =
            self.mean().with(&other.mean(), |mine, theirs| (mine - theirs).powi(2) * (a * b / (a + b)));
        Self {
            spans: self.spans + other.spans,
            iterations: self.iterations.saturating_add(other.iterations),
            total: self.total + other.total,
            min: self.min.with(&other.min, f64::min),
            max: self.max.with(&other.max, f64::max),
            squares: self.squares.with(&other.squares, |a, b| a + b).with(&between, |a, b| a + b),
        }
    }

    fn summary(&self) -> LaterSpans {
        let iterations = self.iterations as f64;
        LaterSpans {
            spans: self.spans,
            iterations: self.iterations,
            mean: self.mean(),
            min: self.min,
            max: self.max,
            standard_deviation: self.squares.with(&self.squares, |squares, _| (squares / iterations).sqrt()),
        }
    }
}

/// Everything that an operation has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Metrics {
    first: Option<Span>,
    later: Option<Later>,
    peak: Option<u64>,
    unfinished: u64,
    late: u64,
}

impl Metrics {
    /// A span has ended. One without iterations says that the work could not be done, and is not finished.
    pub(super) fn add(&mut self, span: Span) {
        if span.iterations == 0 {
            return self.add_unfinished();
        }
        self.peak = self.peak.max(span.peak);
        match self.first {
            None => self.first = Some(span),
            Some(_) => self.add_later(&Later::of(&span)),
        }
    }

    fn add_later(&mut self, later: &Later) {
        self.later = Some(self.later.map_or(*later, |before| before.joined(later)));
    }

    pub(super) fn add_unfinished(&mut self) {
        self.unfinished += 1;
    }

    pub(super) fn add_late(&mut self, guards: u64) {
        self.late += guards;
    }

    /// Those of the same operation elsewhere, whose first span is one of the later ones here.
    pub(super) fn merge(&mut self, other: &Self) {
        if let Some(span) = other.first {
            self.add(span);
        }
        if let Some(later) = &other.later {
            self.add_later(later);
        }
        self.peak = self.peak.max(other.peak);
        self.unfinished += other.unfinished;
        self.late += other.late;
    }

    pub(super) fn spans(&self) -> u64 {
        u64::from(self.first.is_some()) + self.later.map_or(0, |later| later.spans)
    }

    pub(super) fn iterations(&self) -> u64 {
        let first = self.first.map_or(0, |span| span.iterations);
        first.saturating_add(self.later.map_or(0, |later| later.iterations))
    }

    pub(super) fn total(&self) -> Counts {
        let first = self.first.map_or_else(Counts::default, |span| span.counts);
        first + self.later.map_or_else(Counts::default, |later| later.total)
    }

    pub(super) fn mean(&self) -> Option<PerIteration> {
        self.first.map(|_| PerIteration::of(&self.total(), self.iterations()))
    }

    pub(super) fn first(&self) -> Option<FirstSpan> {
        let summary = |span: Span| FirstSpan {
            iterations: span.iterations,
            total: span.counts,
            peak_live_bytes: span.peak,
        };
        self.first.map(summary)
    }

    pub(super) fn later(&self) -> Option<LaterSpans> {
        self.later.as_ref().map(Later::summary)
    }

    pub(super) fn peak(&self) -> Option<u64> {
        self.peak
    }

    pub(super) fn unfinished(&self) -> u64 {
        self.unfinished
    }

    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Whether there is nothing to report.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.unfinished == 0 && self.late == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(iterations: u64, allocations: u64, bytes: u64) -> Span {
        let counts = Counts { allocations, allocated_bytes: bytes, ..Counts::default() };
        Span { iterations, counts, peak: Some(bytes) }
    }

    fn all(spans: &[Span]) -> Metrics {
        let mut metrics = Metrics::default();
        spans.iter().for_each(|span| metrics.add(*span));
        metrics
    }

    const SPANS: [(u64, u64, u64); 6] =
        [(1, 100, 9000), (1, 2, 20), (10, 20, 300), (3, 9, 30), (5, 0, 0), (2, 8, 70)];

    fn spans() -> Vec<Span> {
        SPANS.iter().map(|&(iterations, allocations, bytes)| span(iterations, allocations, bytes)).collect()
    }

    #[test]
    fn the_spread_is_that_of_the_definition() {
        let metrics = all(&spans());
        assert_eq!((metrics.spans(), metrics.iterations()), (6, 22));
        assert_eq!(metrics.total().allocated_bytes, 9420);
        let later = metrics.later().expect("there are five");
        let iterations: f64 = SPANS[1..].iter().map(|s| s.0 as f64).sum();
        let mean = SPANS[1..].iter().map(|s| s.1 as f64).sum::<f64>() / iterations;
        let squares: f64 =
            SPANS[1..].iter().map(|s| (s.1 as f64 / s.0 as f64 - mean).powi(2) * s.0 as f64).sum();
        assert_eq!(later.mean.allocations, mean);
        let deviation = (squares / iterations).sqrt();
        assert!((later.standard_deviation.allocations - deviation).abs() < 1e-12, "{later:?}");
        assert_eq!((later.min.requests, later.max.requests), (0.0, 4.0));
        assert_eq!((later.min.allocated_bytes, later.max.allocated_bytes), (0.0, 35.0));
        assert_eq!(metrics.first().expect("there is one").total.allocations, 100);
        assert_eq!(metrics.peak(), Some(9000));
    }

    #[test]
    fn merging_is_as_if_all_had_been_seen_here() {
        let spans = spans();
        let whole = all(&spans);
        for cut in 0..spans.len() {
            let mut merged = all(&spans[..cut]);
            merged.merge(&all(&spans[cut..]));
            assert_eq!((merged.total(), merged.spans(), merged.mean()), (whole.total(), 6, whole.mean()));
            let (a, b) = (merged.later().expect("some"), whole.later().expect("some"));
            assert_eq!((a.min, a.max), (b.min, b.max));
            let difference = a.standard_deviation.allocated_bytes - b.standard_deviation.allocated_bytes;
            assert!(difference.abs() < 1e-9, "{a:?} and {b:?}");
        }
    }

    #[test]
    fn equal_spans_have_no_spread() {
        let metrics = all(&[span(7, 21, 777); 100]);
        let later = metrics.later().expect("there are 99");
        assert_eq!(later.standard_deviation, PerIteration::default());
        assert_eq!((later.min, later.max), (later.mean, later.mean));
    }

    #[test]
    fn a_span_of_no_iterations_is_not_finished() {
        let metrics = all(&[span(0, 5, 5)]);
        assert_eq!((metrics.spans(), metrics.unfinished(), metrics.mean()), (0, 1, None));
        assert_eq!(metrics.total(), Counts::default());
        assert!(!metrics.is_empty());
    }
}
